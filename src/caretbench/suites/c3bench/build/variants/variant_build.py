"""Build of problems from variants by hand and by models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import BuildModels
from caretbench.execution.execution_types import Executor
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.variants.code_context import CodeContext
from caretbench.suites.c3bench.build.variants.examination import ExaminedVariant, examine, verdict_counts
from caretbench.suites.c3bench.build.variants.generator import GENERATOR_ROLE, generate_variants
from caretbench.suites.c3bench.build.variants.variant_problems import variant_problems
from caretbench.suites.c3bench.build.variants.written_variants import read_variants


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
