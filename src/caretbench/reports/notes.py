"""Warnings and notes on the columns of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.identity import differences, settings_of
from caretbench.reports.summary import Column
from caretbench.runs.judging.result import COVERAGE_WANTED
from caretbench.validation.validity import GATE_VERSION


def older_gate_warnings(run: LoadedRun) -> Iterator[str]:
    """Yield that verdicts of the gate are of an older one."""
    if run.older_verdicts:
        yield (
            f"{run.older_verdicts} verdicts on problems are of an older gate (this one is version {GATE_VERSION}): "
            f"`caretbench validate {run.manifest.get('suite')}` decides them again, and scoring the run again takes "
            "them over."
        )


def coverage_warnings(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the columns of which too few answers have a verdict."""
    for column in columns:
        if column.coverage is not None and column.coverage < COVERAGE_WANTED:
            yield (
                f"{column.title} ({column.profile}): coverage {column.coverage:.1%} is below {COVERAGE_WANTED:.0%}; "
                "the run has failed, its rates are not to be believed."
            )


def parameter_difference_notes(columns: Sequence[Column], manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between columns of one model, whose titles contain only a hash."""
    for first, second in pairwise(columns):
        if first.model != second.model or first.parameters == second.parameters:
            continue
        one = settings_of(manifest, first.model, first.parameters)
        other = settings_of(manifest, second.model, second.parameters)
        if one is not None and other is not None and (found := differences(one, other, clients=True)):
            yield f"{first.title} and {second.title} were asked differently: {'; '.join(found)}."


def interval_notes(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a note on many strata, and the warnings of the intervals."""
    if any(len(cells) > 1 for column in columns for cells in column.strata.values()):
        count = max(sum(len(cells) for cells in column.strata.values()) for column in columns)
        yield (
            f"Intervals hold one at a time: of {count} strata per model about one in twenty misses its value "
            "by chance. Use compare, which corrects for the number of tests (Holm), before calling strata different."
        )
    warnings = {
        estimate.warning
        for column in columns
        for estimate in column.overall.pass_at.values()
        if estimate.warning is not None
    }
    yield from sorted(warnings)
