"""Comparison of a run's numbers with the published numbers of the papers: like with like alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from caretbench.judging.aggregation import TOTAL
from caretbench.profiles import PROFILES
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.judged.scores import JudgedCell
from caretbench.reports.results.compared_parts import ComparedPart
from caretbench.reports.results.published_numbers import (
    WHOLE,
    PublishedNumber,
    printed_models,
    published_numbers,
    same_label,
)
from caretbench.reports.summary import Column, RateCell, Summary

CellT = TypeVar("CellT", RateCell, JudgedCell)

JUDGE_METRIC = "judge_score"
"""Name of a paper's judge scores in ``names.toml``."""

ROUNDING_SLACK = 1e-9
"""Tolerance for binary fractions in comparisons with rounded values."""


class PublishedComparison(ReportValue):
    """Published number with the same number of this run (``ours``).

    ``low`` and ``high`` are the bounds of our number: pass rates if all problems excluded here failed or passed; for
    similarities both are our number. ``agrees``: the printed value, before rounding, can be between the bounds.
    """

    table: str
    model: str
    parameters: str
    policy: str
    profile: str
    stratum: str
    label: str
    metric: str
    printed: float
    ours: float
    interval_low: float | None
    interval_high: float | None
    low: float
    high: float
    agrees: bool


class PublishedJudgeScore(ReportValue):
    """Published judge score with that of this run (``ours``), which is by another grader and may differ."""

    table: str
    model: str
    parameters: str
    criterion: str
    grader: str
    validity: str
    stratum: str
    label: str
    printed: ReportedNumber
    ours: ReportedNumber


def compare_with_published(summary: Summary) -> tuple[PublishedComparison, ...]:
    """Return the published numbers that this run has too, table by table.

    A number is compared only if the run has all problems and samples that it is about. Pass rates are compared with
    the ``paper`` profile if the run has it, else with its own profile; similarities only with the ``paper`` profile,
    since the default ones measure something else.
    """
    models = printed_models(summary.suite)
    profiles = {column.profile for column in summary.columns}
    wanted = next((name for name in PROFILES if name in profiles), PROFILES[-1])
    rows = [
        row
        for column in summary.columns
        if column.profile == wanted and column.model.lower() in models
        for row in _column_rows(column, models[column.model.lower()], summary)
    ]
    order = _table_order(summary.suite)
    return tuple(sorted(rows, key=lambda row: (order[row.table], row.model.lower(), row.metric)))


def _column_rows(column: Column, printed_model: str, summary: Summary) -> Iterator[PublishedComparison]:
    complete = _complete_parts(summary, column.model, column.parameters)
    for printed in published_numbers(summary.suite):
        part = complete.get((printed.stratum, printed.label)) if printed.model == printed_model else None
        cell = _find(column.overall, column.strata, printed, summary.suite) if part else None
        if cell is None or part is None or cell.problems + cell.excluded != part.expected:
            continue  # what is not scored yet is a part, too
        estimate = cell.pass_at.get(1) if printed.metric == "pass@1" else cell.similarity.get(printed.metric)
        if estimate is None:
            continue
        low, high = estimate.value, estimate.value
        if printed.metric == "pass@1" and cell.if_excluded_failed is not None:
            low, high = cell.if_excluded_failed, cell.if_excluded_passed or high
        slack = printed.half_unit + ROUNDING_SLACK
        yield PublishedComparison(
            table=printed.table,
            model=column.model,
            parameters=column.parameters,
            policy=column.policy,
            profile=column.profile,
            stratum=printed.stratum,
            label=printed.label,
            metric=printed.metric,
            printed=printed.value,
            ours=estimate.value,
            interval_low=estimate.low,
            interval_high=estimate.high,
            low=low,
            high=high,
            agrees=low - slack <= printed.value <= high + slack,
        )


def compare_judge_scores(summary: Summary) -> tuple[PublishedJudgeScore, ...]:
    """Return the published judge scores that this run has too, with the mean of all graders here."""
    models, order = printed_models(summary.suite), _table_order(summary.suite)
    rows = [
        PublishedJudgeScore(
            table=printed.table,
            model=column.model,
            parameters=column.parameters,
            criterion=judged.criterion,
            grader=column.grader,
            validity=judged.validity,
            stratum=printed.stratum,
            label=printed.label,
            printed=ReportedNumber(
                value=printed.value, low=printed.low, high=printed.high, problems=0, method="printed"
            ),
            ours=cell.scores[TOTAL],
        )
        for judged in summary.judged
        for column in judged.columns
        for printed in published_numbers(summary.suite)
        if printed.metric == JUDGE_METRIC and printed.model == models.get(column.model.lower())
        if (printed.stratum, printed.label) in _complete_parts(summary, column.model, column.parameters)
        if (cell := _find(column.overall, column.strata, printed, summary.suite)) is not None
    ]
    return tuple(sorted(rows, key=lambda row: (order[row.table], row.model.lower(), row.label)))


def partial_models(summary: Summary) -> Iterator[str]:
    """Yield a line for each model with other problems or samples than a number of the paper is about."""
    for model in dict.fromkeys(part.model for part in summary.compared_parts):
        parts = [part for part in summary.compared_parts if part.model == model]
        partial = [part for part in parts if not part.is_complete]
        if partial:
            whole = next((part for part in partial if part.label == WHOLE), partial[0])
            name = "all problems" if whole.label == WHOLE else f"{whole.stratum} {whole.label}"
            size = "" if whole.expected is None else f" of {whole.expected:,}"
            yield (
                f"{model}: {len(partial)} of {len(parts)} parts of the paper's tables are not compared, because this "
                f"run does not have their problems with {whole.samples} samples each ({name}: {whole.problems:,}{size})"
            )


def _complete_parts(summary: Summary, model: str, parameters: str) -> Mapping[tuple[str, str], ComparedPart]:
    return {
        (part.stratum, part.label): part
        for part in summary.compared_parts
        if (part.model, part.parameters) == (model, parameters) and part.is_complete
    }


def _table_order(suite: str) -> Mapping[str, int]:
    """Return the positions of the paper's tables."""
    tables = dict.fromkeys(number.table for number in published_numbers(suite))
    return {table: place for place, table in enumerate(tables)}


def _find(
    overall: CellT, strata: Mapping[str, tuple[CellT, ...]], printed: PublishedNumber, suite: str
) -> CellT | None:
    """Return our cell that corresponds to a published number."""
    if printed.label == WHOLE:
        return overall
    cells = strata.get(printed.stratum, ())
    return next(
        (cell for cell in cells if same_label(suite, printed.stratum, cell.labels[printed.stratum], printed.label)),
        None,
    )
