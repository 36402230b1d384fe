"""Published numbers of the papers, next to ours."""

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
"""The name in ``names.toml`` of what a paper's judge gave."""

ROUNDING_SLACK = 1e-9
"""Slack for binary fractions where a rounded value is compared with a printed one."""


class PublishedNumber(ReportValue):
    """One number of a paper's table; ``scale`` brings it to our unit (percentages are 100)."""

    table: str
    model: str
    stratum: str
    label: str
    metric: str
    printed: str
    scale: float
    low: float | None = None
    high: float | None = None
    """The printed interval, in our unit."""

    @property
    def value(self) -> float:
        """Printed number in our unit: rates run from 0 to 1."""
        return float(self.printed) / self.scale

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit, in our unit."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2]) / self.scale


class PublishedComparison(ReportValue):
    """Printed number next to ours.

    ``low`` and ``high`` bound what our number can be: for pass rates, if all problems excluded here failed or passed;
    for similarities both are our number itself. ``agrees``: the printed value is a rounding of something between.
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
    """Printed judge's score next to ours, by another grader, so that they need not agree."""

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
def names(name: str) -> Mapping[str, Any]:
    """Return the table of names of a suite; empty where nothing is published for it."""
    entry = tomllib.loads(_folder(name).joinpath("names.toml").read_text("utf-8")).get(name, {})
    return entry if isinstance(entry, Mapping) else {}


@cache
def published_numbers(suite: str) -> tuple[PublishedNumber, ...]:
    """Return all printed numbers of a suite's paper that name a model and one stratum (or none)."""
    metrics = names(suite).get("metrics", {})
    file = _folder(suite).joinpath(f"{suite}.csv")
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
    """Return every printed number for which this run has one too, table by table.

    Pass rates are next to the ``paper`` profile if the run has it, else next to the profile it has; similarities
    only next to the ``paper`` profile, since the default ones measure something else.
    """
    models = {name.lower(): printed for name, printed in names(summary.suite).get("models", {}).items()}
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
        cell = (
            _find(column.overall, column.strata, printed, suite) if printed.model == printed_model else None
        )
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
    """Return every printed judge's score for which this run has one too, by all graders together."""
    models = {name.lower(): printed for name, printed in names(summary.suite).get("models", {}).items()}
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
    """Return our cell for a printed one, whatever the two call it."""
    if printed.label == "all":
        return overall
    labels = names(suite).get("labels", {}).get(printed.stratum, {})
    cells = strata.get(printed.stratum, ())
    return next((cell for cell in cells if _same(cell.labels[printed.stratum], printed.label, labels)), None)


def _same(ours: str, printed: str, mapping: Mapping[str, str]) -> bool:
    return mapping.get(ours, ours).lower() == printed.lower()


def _folder(name: str) -> Traversable:
    own = find_suite(name).published_folder if name in suite_names() else None
    return own or resources.files("caretbench.reports").joinpath("published")
