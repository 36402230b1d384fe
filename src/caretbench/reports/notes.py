"""Warnings and notes on the columns of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.identity import differences, settings_of
from caretbench.reports.summary import Column
from caretbench.runs.judging.result import REQUIRED_COVERAGE
from caretbench.suites.validity import GATE_VERSION


def older_gate_warnings(run: LoadedRun) -> Iterator[str]:
    """Yield a warning if verdicts come from an older version of the gate."""
    if run.older_verdicts:
        yield (
            f"{run.older_verdicts} problems were validated by an older version of the gate (current: {GATE_VERSION}). "
            f"Run `caretbench validate {run.manifest.get('suite')}`, then score the run again."
        )


def coverage_warnings(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a warning for each column in which too few answers have a verdict."""
    for column in columns:
        if column.coverage is not None and column.coverage < REQUIRED_COVERAGE:
            yield (
                f"{column.title} ({column.profile}): coverage {column.coverage:.1%} is below {REQUIRED_COVERAGE:.0%}; "
                "the run has failed, and its rates are not reliable."
            )


def parameter_difference_notes(columns: Sequence[Column], manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences in settings between columns of the same model."""
    by_model = sorted(columns, key=lambda column: (column.profile, column.model, column.policy))
    for first, second in pairwise(by_model):
        if first.model != second.model or first.parameters == second.parameters:
            continue
        one = settings_of(manifest, first.model, first.parameters)
        other = settings_of(manifest, second.model, second.parameters)
        if one is not None and other is not None and (found := differences(one, other, clients=True)):
            yield f"{first.title} and {second.title} had different settings: {'; '.join(found)}."


def interval_notes(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a note on many strata, and the warnings of the intervals."""
    if any(len(cells) > 1 for column in columns for cells in column.strata.values()):
        count = max(sum(len(cells) for cells in column.strata.values()) for column in columns)
        yield (
            f"Each 95% interval is for one row. With {count} breakdowns per model, about one in twenty is off by "
            "chance. To say that two rows differ, use `caretbench compare`, which corrects for this (Holm)."
        )
    warnings = {
        estimate.warning
        for column in columns
        for estimate in column.overall.pass_at.values()
        if estimate.warning is not None
    }
    yield from sorted(warnings)
