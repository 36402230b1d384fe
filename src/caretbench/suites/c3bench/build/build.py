"""The command ``caretbench build c3bench``: sources, middles, trials, gate, balanced choice."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.validation.duplicates import near_duplicate_texts
from caretbench.execution.dispatcher import Dispatcher, open_executor
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
from caretbench.suites.c3bench.build.problem_building import implementation_problems, scale_problem
from caretbench.suites.c3bench.build.scale_middles import chosen_middles, scale_candidates
from caretbench.suites.c3bench.build.variant_stage import (
    check_roles,
    material_hash,
    read_material,
    variant_stage,
    without_rejected,
)
from caretbench.suites.suite_types import BuildResult, ProblemGate
from caretbench.suites.validity import Validity
from caretbench.versions import versions

GateOpener = Callable[[Callable[[], Dispatcher], Callable[[int], None]], ProblemGate]
"""Returns the suite's gate for an executor and a receiver of progress."""


def build_problems(
    sources: Sequence[str],
    output: Path,
    options: Mapping[str, Any],
    progress: Progress,
    gate: GateOpener,
    models: BuildModels = NO_MODELS,
) -> BuildResult:
    """Build problems into a folder, or resume an interrupted build.

    Raises:
        ValueError: there is no source, or a checker has nothing to read.
        DataError: a source cannot be used, or the folder contains something else.
        AnswersMissingError: a model did not answer.
    """
    chosen = C3BuildOptions.of(tuple(sources), options)
    check_roles(chosen, models)
    material = read_material(chosen)
    texts = material_hash(material, chosen)
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
        for one in material.rejects:
            self.progress.note(f"{one.place}: {one.reason}: {one.detail}")
        material = self._distinct(material)
        self.yields |= {"functions": len(material.functions), "files": len(material.files)}
        contexts = self._contexts(material)
        variants = variant_stage(contexts, self.options, self.executor.programs, self.models, self.progress)
        self.rejects += variants.rejects
        implementations = [problem for one in contexts for problem in context_problems(one)]
        implementations += variants.problems
        scale = self._scale_problems(material)
        validity = self._validity([*implementations, *scale])
        implementations, scale = (self._valid(found, validity) for found in (implementations, scale))
        problems, rejects = without_rejected(self.reviewed, [*self._chosen(implementations), *scale], self.progress)
        self.rejects += rejects
        tasks = Counter(problem.label("task") for problem in problems)
        counts = Counter(f"{problem.label('task')} {problem.label('category')}" for problem in problems)
        manifest = C3Manifest(
            options=self.options,
            material=self.material_hash,
            yields=self.yields | {f"{task} problems": tasks[task] for task in ("icc", "scc")},
            rejected=_reject_counts(self.rejects),
            problems=dict(sorted(counts.items())),
            variants=variants.counts,
            versions=versions(),
        )
        self.folder.finish(manifest, problems, list(validity.values()), self.rejects, variants.rows)
        return build_result(manifest, self.folder.path)

    def _distinct(self, material: BuildMaterial) -> BuildMaterial:
        """Return the material without functions and files that repeat an earlier one."""
        # Whole functions and files are compared: problems of one context share nearly all of their text by design.
        by_language: dict[str, list[tuple[str, str]]] = {}
        for file in material.files:
            by_language.setdefault(file.language, []).append((file.id, file.text))
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
            found, rejects = implementation_middles(function, options.max_share, options.per_function, options.seed)
            contexts += found
            self.rejects += rejects
            self.progress("functions", 1, None)
        proposed = sum(len(one.equivalents) for one in contexts)
        self.yields |= {"contexts": len(contexts), "implementations": proposed}
        self.progress("implementations", 0, proposed)
        examined = examined_contexts(
            contexts, self.executor.programs, self.folder.trials_path,
            lambda count: self.progress("implementations", count, None),
        )  # fmt: skip
        self.rejects += examined.rejects
        agreeing = sum(len(one.equivalents) for one in examined.contexts)
        self.yields |= {"contexts that agree": len(examined.contexts), "implementations that agree": agreeing}
        return examined.contexts

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
        found = balanced_choice(problems, limit, lambda one: one.id, levels, self.options.seed)
        kept = {one.id for one in found}
        self.rejects += [
            Reject(stage="choice", place=one.id, reason="not_needed", detail="--max-icc")
            for one in problems
            if one.id not in kept
        ]
        return [one for one in problems if one.id in kept]


def _rewrite_or_author(problem: Problem) -> str:
    return str(problem.labels.get("rewrite") or problem.labels.get("author", ""))


def context_problems(context: ImplementationContext) -> list[Problem]:
    """Return the problems of a context, with the unit of its middle as a label."""
    return [
        problem.model_copy(update={"labels": {**problem.labels, "extraction": context.extraction}})
        for problem in implementation_problems(context.function, context)
    ]


def _reject_counts(rejects: Iterable[Reject]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one in rejects:
        counts[f"{one.stage}: {one.reason}"] += one.count
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
