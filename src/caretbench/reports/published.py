"""Comparison of a run's numbers with the published numbers of the papers."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from caretbench.judging.aggregation import TOTAL
from caretbench.profiles import PROFILES
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.judged.scores import JudgedCell
from caretbench.reports.summary import Column, RateCell, Summary
from caretbench.suites import load_suite as find_suite
from caretbench.suites import suite_names

CellT = TypeVar("CellT", RateCell, JudgedCell)

JUDGE_METRIC = "judge_score"
"""Name of a paper's judge scores in ``names.toml``."""

ROUNDING_SLACK = 1e-9
"""Tolerance for binary fractions in comparisons with rounded values."""


class PublishedNumber(ReportValue):
    """One number of a paper's table. ``printed`` is its text; ``scale`` is the divisor to our unit (percent: 100)."""

    table: str
    model: str
    stratum: str
    label: str
    metric: str
    printed: str
    scale: float
    low: float | None = None
    high: float | None = None
    """Bounds of the printed interval, in our unit."""

    @property
    def value(self) -> float:
        """Printed number in our unit: rates run from 0 to 1."""
        return float(self.printed) / self.scale

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the rounding error, in our unit."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2]) / self.scale


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


@cache
def published_names(suite: str) -> Mapping[str, Any]:
    """Return the names that a suite's paper uses for models, metrics and labels; empty without published numbers."""
    entry = tomllib.loads(_folder(suite).joinpath("names.toml").read_text("utf-8")).get(suite, {})
    return entry if isinstance(entry, Mapping) else {}


def published_file(suite: str) -> Traversable:
    """Return the file with the published numbers of a suite; it may be missing."""
    return _folder(suite).joinpath(f"{suite}.csv")


@cache
def published_numbers(suite: str) -> tuple[PublishedNumber, ...]:
    """Return all published numbers of a suite that are for one model and at most one stratum."""
    metrics = published_names(suite).get("metrics", {})
    file = published_file(suite)
    if not metrics or not file.is_file():
        return ()
    cells = []
    for row in csv.DictReader(file.read_text("utf-8").splitlines()):
        if not row["model"] or row["metric"] not in metrics or row["suite"] != suite:
            continue
        stratum, _, label = row["subset"].partition("=")
        cells.append(
            PublishedNumber(
                table=row["table"].replace("_", " ").capitalize(),
                model=row["model"],
                stratum=stratum,
                label=label,
                metric=metrics[row["metric"]],
                printed=row["value"],
                scale=100.0 if row["unit"] == "percent" else 1.0,
                low=_bound(row, "ci_low"),
                high=_bound(row, "ci_high"),
            )
        )
    return tuple(cells)


def _bound(row: Mapping[str, str], name: str) -> float | None:
    scale = 100.0 if row["unit"] == "percent" else 1.0
    return float(row[name]) / scale if row[name] else None


def compare_with_published(summary: Summary) -> tuple[PublishedComparison, ...]:
    """Return the published numbers that this run has too, table by table.

    Pass rates are compared with the ``paper`` profile if the run has it, else with its own profile; similarities only
    with the ``paper`` profile, since the default ones measure something else.
    """
    models = {name.lower(): printed for name, printed in published_names(summary.suite).get("models", {}).items()}
    profiles = {column.profile for column in summary.columns}
    wanted = next((name for name in PROFILES if name in profiles), PROFILES[-1])
    rows = [
        row
        for column in summary.columns
        if column.profile == wanted and column.model.lower() in models
        for row in _column_rows(column, models[column.model.lower()], summary.suite)
    ]
    return tuple(sorted(rows, key=lambda row: (row.table, row.model.lower(), row.metric)))


def _column_rows(column: Column, printed_model: str, suite: str) -> Iterator[PublishedComparison]:
    for printed in published_numbers(suite):
        cell = _find(column.overall, column.strata, printed, suite) if printed.model == printed_model else None
        if cell is None:
            continue
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
    models = {name.lower(): printed for name, printed in published_names(summary.suite).get("models", {}).items()}
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
        if (cell := _find(column.overall, column.strata, printed, summary.suite)) is not None
    ]
    return tuple(sorted(rows, key=lambda row: (row.table, row.model.lower(), row.label)))


def _find(
    overall: CellT, strata: Mapping[str, tuple[CellT, ...]], printed: PublishedNumber, suite: str
) -> CellT | None:
    """Return our cell that corresponds to a published number."""
    if printed.label == "all":
        return overall
    labels = published_names(suite).get("labels", {}).get(printed.stratum, {})
    cells = strata.get(printed.stratum, ())
    return next((cell for cell in cells if _same(cell.labels[printed.stratum], printed.label, labels)), None)


def _same(ours: str, printed: str, mapping: Mapping[str, str]) -> bool:
    return mapping.get(ours, ours).lower() == printed.lower()


def _folder(name: str) -> Traversable:
    own = find_suite(name).published_folder if name in suite_names() else None
    return own or resources.files("caretbench.reports").joinpath("published")
