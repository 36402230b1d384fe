"""The command ``caretbench build c3bench``: sources, middles, trials, versions by people and models, gate, choice."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import BuildJob, BuildModels
from caretbench.build.validation.duplicates import near_duplicate_texts
from caretbench.build.validation.resumable_gate import ProblemGate
from caretbench.build.validation.reviewed import reviewed_problems
from caretbench.errors import UsageError
from caretbench.execution.dispatcher import Dispatcher, open_executor
from caretbench.execution.execution_types import Executor
from caretbench.files import DataError, sha256_text
from caretbench.grouping import grouped
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.balance import balanced_choice
from caretbench.suites.c3bench.build.build_folder import (
    BuildMaterial,
    C3BuildOptions,
    C3Folder,
    C3Manifest,
    ImplementationContext,
    Reject,
)
from caretbench.suites.c3bench.build.implementation_contexts import examined_contexts, implementation_middles
from caretbench.suites.c3bench.build.problem_building import implementation_problems, scale_problem, variant_problems
from caretbench.suites.c3bench.build.scale_middles import chosen_middles, scale_candidates
from caretbench.suites.c3bench.build.sources import read_sources
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, ExaminedVariant
from caretbench.suites.c3bench.build.variants.examination import examine, verdict_counts
from caretbench.suites.c3bench.build.variants.model_roles import CHECKER_ROLE, GENERATOR_ROLE, generate_variants
from caretbench.suites.c3bench.build.variants.written_variants import read_variants
from caretbench.suites.suite_types import BuildResult
from caretbench.suites.validity import Validity
from caretbench.versions import versions


class VariantBuild(NamedTuple):
    """Problems of kept variants, the verdicts on all, and rejects.

    ``notes`` has a line for each malformed row of a file, and for each written variant that is not kept.
    """

    problems: tuple[Problem, ...] = ()
    rows: tuple[ExaminedVariant, ...] = ()
    rejects: tuple[Reject, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> Mapping[str, JsonValue]:
        """Numbers of variants by author and verdict."""
        by_author = grouped((row.author if row.origin == "model" else "by hand", row) for row in self.rows)
        return {author: dict(verdict_counts(rows)) for author, rows in sorted(by_author.items())}


def build_variants(
    contexts: Sequence[CodeContext], files: Sequence[Path], executor: Executor, models: BuildModels, progress: Progress
) -> VariantBuild:
    """Return the problems of variants that people wrote into files, and that models write for all contexts."""
    by_id = {one.id: one for one in contexts}
    variants, faults = [], []
    for path in files:
        written = read_variants(path)
        faults += written.faults
        taken = {one.id for one in written.contexts if one.id in by_id}
        faults += [f"{one.place}: the id {one.id!r} exists already" for one in written.contexts if one.id in taken]
        by_id |= {one.id: one for one in written.contexts if one.id not in taken}
        variants += [one for one in written.variants if one.context not in taken]
    malformed: Sequence[ExaminedVariant] = ()
    if GENERATOR_ROLE in models.roles:
        generated = generate_variants([*by_id.values()], models)
        variants += generated.variants
        malformed = generated.malformed
    progress("variants", 0, len(variants))
    examined = examine([*by_id.values()], variants, executor, models)
    progress("variants", len(variants), len(variants))
    rows = (*examined.rows, *malformed)
    rejects = [Reject(stage="source", place=place, reason="malformed", detail=detail)
               for place, _, detail in (line.partition(": ") for line in faults)]  # fmt: skip
    rejects += [
        Reject(stage="variant", place=f"{row.context}/{row.name}", reason=row.verdict, detail=row.detail)
        for row in rows
        if row.verdict != "kept"
    ]
    refused = [
        f"{row.place}: {row.context}, {row.name}: {row.verdict}: {row.detail}"
        for row in examined.rows
        if row.origin == "hand" and row.verdict != "kept"
    ]
    problems = tuple(variant_problems(by_id, examined.kept))
    return VariantBuild(problems, rows, tuple(rejects), (*faults, *refused))


GateOpener = Callable[[Callable[[], Dispatcher], Callable[[int], None]], ProblemGate]
"""Returns the suite's gate for an executor and a receiver of progress."""


def build_problems(job: BuildJob, gate: GateOpener) -> BuildResult:
    """Build problems into a folder, or resume an interrupted build."""
    sources, output, options, progress, models = job
    chosen = C3BuildOptions.of(tuple(sources), options)
    # The checker would be asked nothing, and its user believe that instructions were read: those of rewrites are known.
    if CHECKER_ROLE in models.roles and GENERATOR_ROLE not in models.roles and not chosen.variants:
        raise UsageError(
            f"-m {CHECKER_ROLE}=…: there are no instructions to read back; "
            f"add -m {GENERATOR_ROLE}=SPEC or --variants FILE"
        )
    # A build may consist of variants alone.
    alone = chosen.variants and not chosen.sources
    material = BuildMaterial((), (), ()) if alone else read_sources(chosen.sources)
    try:
        # Only for the hash; a file that is not UTF-8 is reported with its place when it is read.
        files = [Path(name).read_text("utf-8", errors="replace") for name in chosen.variants]
    except OSError as error:
        raise DataError(f"--variants {error.filename}: cannot be read ({error.strerror})") from None
    texts = sha256_text(material.hash, *files) if files else material.hash
    folder = C3Folder(output)
    folder.start(chosen, texts)
    executor = open_executor(options["jobs"])
    return _Build(chosen, folder, executor, progress, gate, texts, models, options["reviewed"]).run(material)


@dataclass
class _Build:
    options: C3BuildOptions
    folder: C3Folder
    executor: Dispatcher
    progress: Progress
    open_gate: GateOpener
    material_hash: str
    models: BuildModels
    reviewed: Path | None
    rejects: list[Reject] = field(default_factory=list)
    yields: dict[str, int] = field(default_factory=dict)

    def run(self, material: BuildMaterial) -> BuildResult:
        self.rejects += material.rejects
        for reject in material.rejects:
            self.progress.note(f"{reject.place}: {reject.reason}: {reject.detail}")
        material = self._distinct(material)
        self.yields |= {"functions": len(material.functions), "files": len(material.files)}
        contexts = self._contexts(material)
        variants = self._variants(contexts)
        self.rejects += variants.rejects
        implementations = [problem for one in contexts for problem in implementation_problems(one)]
        implementations += variants.problems
        scale = self._scale_problems(material)
        validity = self._validity([*implementations, *scale])
        implementations, scale = (self._valid(group, validity) for group in (implementations, scale))
        problems = self._reviewed([*self._chosen(implementations), *scale])
        tasks = Counter(problem.label("task") for problem in problems)
        counts = Counter(f"{problem.label('task')} {problem.label('category')}" for problem in problems)
        manifest = C3Manifest(
            options=self.options,
            material=self.material_hash,
            yields=self.yields | {f"{task} problems": tasks[task] for task in ("icc", "scc")},
            rejected=_reject_counts(self.rejects),
            problems=dict(sorted(counts.items())),
            variants=variants.numbers,
            versions=versions(),
        )
        self.folder.finish(manifest, problems, list(validity.values()), self.rejects, variants.rows)
        return build_result(manifest, self.folder.path)

    def _distinct(self, material: BuildMaterial) -> BuildMaterial:
        """Return the material without functions and files that repeat an earlier one."""
        # Whole functions and files are compared: problems of one context share nearly all of their text by design.
        by_language = grouped((file.language, (file.id, file.text)) for file in material.files)
        repeated = {
            name: other for texts in by_language.values() for name, other in near_duplicate_texts(texts).items()
        }
        self.rejects += [
            Reject(stage="source", place=name, reason="near_duplicate", detail=other)
            for name, other in repeated.items()
        ]
        return material._replace(
            functions=tuple(one for one in material.functions if (one.program or one.id) not in repeated),
            files=tuple(one for one in material.files if one.id not in repeated),
        )

    def _contexts(self, material: BuildMaterial) -> tuple[ImplementationContext, ...]:
        options = self.options
        contexts: list[ImplementationContext] = []
        self.progress("functions", 0, len(material.functions))
        for function in material.functions:
            middles, rejects = implementation_middles(function, options.max_share, options.per_function, options.seed)
            contexts += middles
            self.rejects += rejects
            self.progress("functions", 1, None)
        proposed = sum(len(one.equivalents) for one in contexts)
        self.yields |= {"contexts": len(contexts), "implementations": proposed}
        self.progress("implementations", 0, proposed)
        examined = examined_contexts(
            contexts, self.executor.programs,
            lambda count: self.progress("implementations", count, None),
        )  # fmt: skip
        self.rejects += examined.rejects
        agreeing = sum(len(one.equivalents) for one in examined.contexts)
        self.yields |= {"contexts that agree": len(examined.contexts), "implementations that agree": agreeing}
        return examined.contexts

    def _variants(self, contexts: Sequence[ImplementationContext]) -> VariantBuild:
        """Return the problems of variants: of the files, and of the generators for the contexts of the build."""
        options, generates = self.options, GENERATOR_ROLE in self.models.roles
        # Most builds have neither; nothing of this stage is paid or run for them.
        if not options.variants and not generates:
            return VariantBuild()
        known = [one.code for one in contexts] if generates else []
        chosen = balanced_choice(known, options.max_generated, lambda one: one.id, (), options.seed)
        files = [Path(name) for name in options.variants]
        built = build_variants(chosen, files, self.executor.programs, self.models, self.progress)
        for line in built.notes:
            self.progress.note(line)
        return built

    def _scale_problems(self, material: BuildMaterial) -> list[Problem]:
        options = self.options
        if options.max_scc == 0:
            return []
        self.progress("files", 0, len(material.files))
        candidates, rejects = scale_candidates(
            material.files, options.max_share, options.per_file, options.seed,
            lambda count: self.progress("files", count, None),
        )  # fmt: skip
        self.rejects += rejects
        self.yields["middles for scc"] = len(candidates)
        chosen = chosen_middles(candidates, options.max_scc, options.seed)
        if len(chosen) < len(candidates):
            detail = "more than --max-scc or the balance of types and languages allows"
            self.rejects.append(
                Reject(stage="choice", place="scc", reason="not_needed", detail=detail,
                       count=len(candidates) - len(chosen))
            )  # fmt: skip
        return [scale_problem(one.file, one.middle) for one in chosen]

    def _validity(self, problems: Sequence[Problem]) -> dict[str, Validity]:
        self.progress("gate", 0, len(problems))
        gate = self.open_gate(lambda: self.executor, lambda count: self.progress("gate", count, None))
        return {row.problem_id: row for row in gate.run(problems, self.folder.gated_path)}

    def _valid(self, problems: Iterable[Problem], validity: Mapping[str, Validity]) -> list[Problem]:
        # Where no wrong answer was found to fail, nothing shows that the tests would notice one.
        accepted = {"valid", "unverified"} if self.options.unverified else {"valid"}
        kept = []
        for problem in problems:
            row = validity[problem.id]
            if row.verdict in accepted:
                kept.append(problem)
                continue
            for text in row.reasons or (row.verdict,):
                reason, _, detail = text.partition(": ")
                self.rejects.append(Reject(stage="gate", place=problem.id, reason=reason, detail=detail))
        return kept

    def _chosen(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return at most ``max_icc`` problems about implementations, balanced by category and rewrite."""
        limit = self.options.max_icc
        if limit is None or limit >= len(problems):
            return list(problems)
        levels = (lambda one: one.label("category"), _rewrite_or_author, lambda one: one.cluster)
        balanced = balanced_choice(problems, limit, lambda one: one.id, levels, self.options.seed)
        kept = {one.id for one in balanced}
        self.rejects += [
            Reject(stage="choice", place=one.id, reason="not_needed", detail="--max-icc")
            for one in problems
            if one.id not in kept
        ]
        return [one for one in problems if one.id in kept]

    def _reviewed(self, problems: list[Problem]) -> list[Problem]:
        """Return the problems that people keep; without a review, all."""
        if self.reviewed is None:
            return problems
        review = reviewed_problems(self.reviewed, problems)
        for line in review.lines:
            self.progress.note(line)
        self.rejects += [
            Reject(stage="people", place=name, reason="dropped", detail=detail)
            for name, detail in review.dropped.items()
        ]
        return review.kept


def _rewrite_or_author(problem: Problem) -> str:
    return str(problem.labels.get("rewrite") or problem.labels.get("author", ""))


def _reject_counts(rejects: Iterable[Reject]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for reject in rejects:
        counts[f"{reject.stage}: {reject.reason}"] += reject.count
    return dict(sorted(counts.items()))


def build_result(manifest: C3Manifest, output: Path) -> BuildResult:
    """Return the result of a build for the command line."""
    made = sum(manifest.problems.values())
    lines = [f"{output}: {made} problems; use it with: caretbench run c3bench --data {shlex.quote(str(output))}"]
    lines += [f"  {count:6d}  {name}" for name, count in manifest.problems.items()]
    lines += ["Yield:", *(f"  {count:6d}  {name}" for name, count in manifest.yields.items())]
    if manifest.variants:
        lines += ["Variants (variants.jsonl):"]
        lines += [
            f"  {count:6d}  {author}: {verdict}"
            for author, counts in manifest.variants.items()
            for verdict, count in counts.items()
        ]
    lines += ["Not used (rejected.jsonl):", *(f"  {count:6d}  {name}" for name, count in manifest.rejected.items())]
    numbers = manifest.model_dump(mode="json")
    return BuildResult(tuple(lines), {**numbers, "output": str(output)}, usable=made > 0)
