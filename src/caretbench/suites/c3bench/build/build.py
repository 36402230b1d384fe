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
from caretbench.problem import Caret, InlineSplice, Label, PredicateCheck, Problem
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.build_folder import BuildMaterial, C3BuildOptions, C3Folder, C3Manifest, Reject
from caretbench.suites.c3bench.build.checked_functions import SourceText
from caretbench.suites.c3bench.build.implementation_contexts import examined_contexts, implementation_middles
from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle, balanced_choice, chosen_middles, scale_candidates
from caretbench.suites.c3bench.build.sources import read_sources
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, ExaminedVariant, Variant, read_variants
from caretbench.suites.c3bench.build.variants.examination import examine, verdict_counts
from caretbench.suites.c3bench.build.variants.model_roles import CHECKER_ROLE, GENERATOR_ROLE, generate_variants
from caretbench.suites.c3bench.implementations.features import FeatureRule
from caretbench.suites.c3bench.measures import FEATURES_PREDICATE, JUDGED, OTHER_VARIANT, SCALE_PREDICATE, SUITE
from caretbench.suites.c3bench.scale.scale_types import chosen_wording, scale_instructions
from caretbench.suites.suite_types import BuildResult
from caretbench.suites.validity import Validity
from caretbench.versions import versions


def implementation_problems(code: CodeContext) -> list[Problem]:
    """Return a problem for each implementation of a context; all show the same text under different instructions."""
    problems = []
    for number, rewritten in enumerate(code.others):
        other = code.others[(number + 1) % len(code.others)]
        instruction = chosen_wording(rewritten.instructions, f"icc/{code.id}/{rewritten.rewrite}")
        labels: dict[str, Label] = {"category": rewritten.category, "rewrite": rewritten.rewrite}
        other_text = "" if other is rewritten else other.text
        problems.append(
            _problem(code, rewritten.rewrite, instruction, rewritten.text, rewritten.rule, labels, other_text)
        )
    return problems


def _features_check(rule: FeatureRule) -> PredicateCheck:
    arguments = {"requires": list(rule.requires), "forbids": list(rule.forbids)}
    return PredicateCheck(name=FEATURES_PREDICATE, arguments=arguments, counts=False, reduce=True)


def scale_problem(file: SourceText, middle: ScaleMiddle) -> Problem:
    """Return the problem of a middle of a file; where the file has tests, they decide, too."""
    source, text = file.id, file.text
    prefix, suffix = text[: middle.start], text[middle.end :]
    specification = middle.specification
    form = "-".join(str(part) for part in (specification.kind, specification.node, specification.n) if part)
    identity = f"scc/{source}/{middle.start}-{middle.end}/{form}"
    return Problem(
        id=identity,
        suite=SUITE,
        shown=Caret(
            language=specification.language,
            prefix=prefix,
            suffix=suffix,
            instruction=chosen_wording(scale_instructions(specification), identity),
        ),
        splice=InlineSplice(before=prefix, after=suffix + file.tests),
        reference=text[middle.start : middle.end],
        checks=(
            *file.checks,
            PredicateCheck(
                name=SCALE_PREDICATE,
                arguments={"specification": specification.model_dump(exclude_defaults=True)},
                counts=False,
            ),
        ),
        labels={"task": "scc", "language": specification.language, "category": middle.type},
        cluster=file.cluster or source,
        overlap_group=source,
        provenance=file.provenance,
    )


def variant_problems(contexts: Mapping[str, CodeContext], variants: Sequence[Variant]) -> list[Problem]:
    """Return a problem for each kept variant; those of a context show the same text under different instructions.

    Answers are run with the tests. A variant with a predicate has it as a second check; all have the judge's criterion.
    """
    problems = []
    for variant in variants:
        code = contexts[variant.context]
        labels: dict[str, Label] = {
            "category": variant.category,
            "instruction_by": "people" if variant.origin == "hand" else "model",
        }
        if variant.author:
            labels["author"] = variant.author
        other = _other_text(code, variant, variants)
        problems.append(_problem(code, variant.name, variant.instruction, variant.text, variant.rule, labels, other))
    return problems


def _other_text(context: CodeContext, variant: Variant, variants: Sequence[Variant]) -> str:
    """Return the right answer to another instruction of the context; empty if it has no other one."""
    texts = [each.text for each in variants if each.context == variant.context]
    number = texts.index(variant.text)
    texts += [each.text for each in context.others]
    return next((text for text in texts[number + 1 :] + texts[:number] if text != variant.text), "")


def _problem(
    code: CodeContext,
    name: str,
    instruction: str,
    text: str,
    rule: FeatureRule | None,
    labels: Mapping[str, Label],
    other: str,
) -> Problem:
    more: dict[str, Label] = {"extraction": code.extraction} if code.extraction else {}
    return Problem(
        id=f"icc/{code.id}/{name}",
        suite=SUITE,
        shown=Caret(language=code.language, prefix=code.prefix, suffix=code.suffix, instruction=instruction),
        splice=code.splice,
        reference=text,
        checks=(code.check, *([_features_check(rule)] if rule is not None else []), JUDGED),
        labels={"task": "icc", "language": code.language, **labels, **more},
        cluster=code.cluster or code.id,
        overlap_group=code.id,
        provenance=code.provenance,
        # The baseline `other-variant` sees one problem at a time, in runs and in Inspect, so the answer travels with
        # it; hidden from models.
        released={OTHER_VARIANT: other} if other else {},
    )


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
    by_id = {context.id: context for context in contexts}
    variants, faults = [], []
    for path in files:
        written = read_variants(path)
        faults += written.faults
        taken = {context.id for context in written.contexts if context.id in by_id}
        faults += [
            f"{context.place}: the id {context.id!r} exists already"
            for context in written.contexts
            if context.id in taken
        ]
        by_id |= {context.id: context for context in written.contexts if context.id not in taken}
        variants += [variant for variant in written.variants if variant.context not in taken]
    malformed: Sequence[ExaminedVariant] = ()
    if GENERATOR_ROLE in models.roles:
        generated = generate_variants([*by_id.values()], models)
        variants += generated.variants
        malformed = generated.malformed
    progress("variants", 0, len(variants))
    examined = examine([*by_id.values()], variants, executor, models)
    progress("variants", len(variants), len(variants))
    rows = (*examined.rows, *malformed)
    rejects = [
        Reject(stage="source", place=place, reason="malformed", detail=detail)
        for place, _, detail in (line.partition(": ") for line in faults)
    ]
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
        implementations = [problem for context in contexts for problem in implementation_problems(context)]
        implementations += variants.problems
        scale = self._scale_problems(material)
        candidates = [*implementations, *scale]
        self.progress("gate", 0, len(candidates))
        gate = self.open_gate(lambda: self.executor, lambda count: self.progress("gate", count, None))
        validity = {row.problem_id: row for row in gate.run(candidates, self.folder.gated_path)}
        implementations, scale = (self._valid(group, validity) for group in (implementations, scale))
        problems = self._reviewed([*self._chosen(implementations), *scale])
        tasks = Counter(problem.label("task") for problem in problems)
        counts = Counter(f"{problem.label('task')} {problem.label('category')}" for problem in problems)
        rejected = Counter[str]()
        for reject in self.rejects:
            rejected[f"{reject.stage}: {reject.reason}"] += reject.count
        manifest = C3Manifest(
            options=self.options,
            material=self.material_hash,
            yields=self.yields | {f"{task} problems": tasks[task] for task in ("icc", "scc")},
            rejected=dict(sorted(rejected.items())),
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
            functions=tuple(
                function for function in material.functions if (function.program or function.id) not in repeated
            ),
            files=tuple(file for file in material.files if file.id not in repeated),
        )

    def _contexts(self, material: BuildMaterial) -> list[CodeContext]:
        options = self.options
        contexts: list[CodeContext] = []
        self.progress("functions", 0, len(material.functions))
        for function in material.functions:
            middles, rejects = implementation_middles(function, options.max_share, options.per_function, options.seed)
            contexts += middles
            self.rejects += rejects
            self.progress("functions", 1, None)
        proposed = sum(len(context.others) for context in contexts)
        self.yields |= {"contexts": len(contexts), "implementations": proposed}
        self.progress("implementations", 0, proposed)
        examined, rejects = examined_contexts(
            contexts, self.executor.programs, lambda count: self.progress("implementations", count, None)
        )
        self.rejects += rejects
        agreeing = sum(len(context.others) for context in examined)
        self.yields |= {"contexts that agree": len(examined), "implementations that agree": agreeing}
        return examined

    def _variants(self, contexts: Sequence[CodeContext]) -> VariantBuild:
        """Return the problems of variants: of the files, and of the generators for the contexts of the build."""
        options, generates = self.options, GENERATOR_ROLE in self.models.roles
        # Most builds have neither; nothing of this stage is paid or run for them.
        if not options.variants and not generates:
            return VariantBuild()
        known = contexts if generates else ()
        chosen = balanced_choice(known, options.max_generated, lambda context: context.id, (), options.seed)
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
        return [scale_problem(candidate.file, candidate.middle) for candidate in chosen]

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
        levels: tuple[Callable[[Problem], str], ...] = (
            lambda problem: problem.label("category"),
            lambda problem: str(problem.labels.get("rewrite") or problem.labels.get("author", "")),
            lambda problem: problem.cluster,
        )
        balanced = balanced_choice(problems, limit, lambda problem: problem.id, levels, self.options.seed)
        kept = {problem.id for problem in balanced}
        return [problem for problem in problems if problem.id in kept]

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
