"""Stage of a build that adds implementations and instructions by people and models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import BuildModels
from caretbench.build.validation.reviewed import reviewed_problems
from caretbench.errors import UsageError
from caretbench.execution.execution_types import Executor
from caretbench.files import DataError, sha256_text
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.balance import balanced_choice
from caretbench.suites.c3bench.build.build_folder import BuildMaterial, C3BuildOptions, ImplementationContext, Reject
from caretbench.suites.c3bench.build.problem_building import variant_problems
from caretbench.suites.c3bench.build.sources import read_sources
from caretbench.suites.c3bench.build.variants.code_context import (
    CodeContext,
    ExaminedVariant,
    OtherImplementation,
    function_context,
)
from caretbench.suites.c3bench.build.variants.examination import examine, verdict_counts
from caretbench.suites.c3bench.build.variants.model_roles import CHECKER_ROLE, GENERATOR_ROLE, generate_variants
from caretbench.suites.c3bench.build.variants.written_variants import read_variants


class VariantStage(NamedTuple):
    """Problems of variants, all variants with their verdicts, rejects, and counts by author and verdict."""

    problems: tuple[Problem, ...] = ()
    rows: tuple[ExaminedVariant, ...] = ()
    rejects: tuple[Reject, ...] = ()
    counts: Mapping[str, JsonValue] = {}


def read_material(options: C3BuildOptions) -> BuildMaterial:
    """Return the functions and files of the sources; a build may also consist of variants alone.

    Raises:
        UsageError: there is neither a source nor a file of variants.
        DataError: a source is not there, or contains nothing.
    """
    if options.variants and not options.sources:
        return BuildMaterial((), (), ())
    return read_sources(options.sources)


def check_roles(options: C3BuildOptions, models: BuildModels) -> None:
    """Refuse a checker without instructions to read: those of rewrites are known.

    Raises:
        UsageError: there is a checker, but neither a generator nor a file of variants.
    """
    # The checker would be asked nothing, and its user believe that instructions were read.
    if CHECKER_ROLE in models.roles and GENERATOR_ROLE not in models.roles and not options.variants:
        raise UsageError(
            f"-m {CHECKER_ROLE}=…: there are no instructions to read back; "
            f"add -m {GENERATOR_ROLE}=SPEC or --variants FILE"
        )


def material_hash(material: BuildMaterial, options: C3BuildOptions) -> str:
    """Return the hash of all texts of a build.

    Raises:
        DataError: a file of variants cannot be read.
    """
    if not options.variants:
        return material.hash
    try:
        # Only for the hash; a file that is not UTF-8 is reported with its place when it is read.
        texts = [Path(name).read_text("utf-8", errors="replace") for name in options.variants]
    except OSError as error:
        raise DataError(f"--variants {error.filename}: cannot be read ({error.strerror})") from None
    return sha256_text(material.hash, *texts)


def variant_stage(
    contexts: Sequence[ImplementationContext],
    options: C3BuildOptions,
    executor: Executor,
    models: BuildModels,
    progress: Progress,
) -> VariantStage:
    """Return the problems of variants: of the files, and of the generators for the contexts of the build.

    Raises:
        DataError: a file of variants cannot be read.
        AnswersMissingError: a model did not answer.
    """
    # Most builds have neither; nothing of this stage is paid or run for them.
    if not options.variants and GENERATOR_ROLE not in models.roles:
        return VariantStage()
    chosen: list[ImplementationContext] = []
    if GENERATOR_ROLE in models.roles:
        chosen = balanced_choice(contexts, options.max_generated, lambda one: one.place, (), options.seed)
    files = [Path(name) for name in options.variants]
    built = build_variants([_code_context(one) for one in chosen], files, executor, models, progress)
    for line in (*built.unreadable, *built.refused):
        progress.note(line)
    rejects = [_unreadable(line) for line in built.unreadable]
    rejects += [
        Reject(stage="variant", place=f"{row.context}/{row.name}", reason=row.verdict, detail=row.detail)
        for row in built.rows
        if row.verdict != "kept"
    ]
    extraction = {one.place: one.extraction for one in contexts}
    problems = tuple(
        one.model_copy(update={"labels": {**one.labels, "extraction": extraction[one.overlap_group]}})
        if one.overlap_group in extraction
        else one
        for one in built.problems
    )
    return VariantStage(problems, built.rows, tuple(rejects), built.numbers)


def _code_context(one: ImplementationContext) -> CodeContext:
    others = tuple(OtherImplementation(each.rewrite, each.text, each.rule) for each in one.equivalents)
    return function_context(one.function, one.start, one.end, others)


def _unreadable(line: str) -> Reject:
    place, _, detail = line.partition(": ")
    return Reject(stage="source", place=place, reason="malformed", detail=detail)


def without_rejected(
    reviewed: Path | None, problems: Sequence[Problem], progress: Progress
) -> tuple[list[Problem], list[Reject]]:
    """Return the problems that people keep, and a reject for each other one; without a review, all.

    Raises:
        DataError: the export of the review is missing, or a row of it is malformed.
    """
    if reviewed is None:
        return list(problems), []
    found = reviewed_problems(reviewed, problems)
    for line in found.lines:
        progress.note(line)
    rejects = [
        Reject(stage="people", place=name, reason="dropped", detail=detail) for name, detail in found.dropped.items()
    ]
    return found.kept, rejects


class VariantBuild(NamedTuple):
    """Problems of kept variants, and the verdicts on all.

    ``unreadable`` has a line for each malformed row of a file, ``refused`` for each written variant that is not kept.
    """

    problems: tuple[Problem, ...]
    rows: tuple[ExaminedVariant, ...]
    unreadable: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def numbers(self) -> Mapping[str, JsonValue]:
        """Numbers of variants by author and verdict."""
        by_author: dict[str, list[ExaminedVariant]] = defaultdict(list)
        for row in self.rows:
            by_author[row.author if row.origin == "model" else "by hand"].append(row)
        return {author: dict(verdict_counts(rows)) for author, rows in sorted(by_author.items())}


def build_variants(
    contexts: Sequence[CodeContext], files: Sequence[Path], executor: Executor, models: BuildModels, progress: Progress
) -> VariantBuild:
    """Return the problems of variants that people wrote into files, and that models write for all contexts.

    Args:
        contexts: Contexts of the build, with distinct identifiers.
        files: Files of :func:`read_variants`.
        executor: Runs the programs.
        models: Models of the build, by the roles ``generator`` and ``checker``.
        progress: Receives steps.

    Raises:
        DataError: a file cannot be read.
        AnswersMissingError: a model did not answer.
    """
    known = {one.id: one for one in contexts}
    variants, faults = [], []
    for path in files:
        written = read_variants(path)
        faults += written.faults
        taken = {one.id for one in written.contexts if one.id in known}
        faults += [f"{one.place}: the id {one.id!r} exists already" for one in written.contexts if one.id in taken]
        known |= {one.id: one for one in written.contexts if one.id not in taken}
        variants += [one for one in written.variants if one.context not in taken]
    malformed: Sequence[ExaminedVariant] = ()
    if GENERATOR_ROLE in models.roles:
        generated = generate_variants([*known.values()], models)
        variants += generated.variants
        malformed = generated.malformed
    progress("variants", 0, len(variants))
    found = examine([*known.values()], variants, executor, models)
    progress("variants", len(variants), len(variants))
    refused = [
        f"{row.place}: {row.context}, {row.name}: {row.verdict}: {row.detail}"
        for row in found.rows
        if row.origin == "hand" and row.verdict != "kept"
    ]
    return VariantBuild(
        tuple(variant_problems(known, found.kept)), (*found.rows, *malformed), tuple(faults), tuple(refused)
    )
