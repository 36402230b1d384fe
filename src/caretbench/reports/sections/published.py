"""Section that compares published numbers of the suite with those of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from caretbench.grouping import grouped
from caretbench.profiles import PROFILES
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.judged.score_tables import MARK_NOTE, marked_field
from caretbench.reports.judged.scores import JudgedScores, ScoreCell, ScoreColumn
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.published_numbers import (
    WHOLE,
    ComparedPart,
    PublishedNumber,
    compared_parts,
    printed_label,
    printed_models,
    published_numbers,
)
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.sections.suite_tables import suite_table
from caretbench.reports.summary import ModelResults, RateCell, SuiteTable, Summary
from caretbench.reports.tables import (
    ReportTable,
    TableField,
    existing_tables,
    number_field,
    percent,
    score_field,
    table_of,
    text_field,
)
from caretbench.suites import suite_of_run
from caretbench.suites.suite_types import Table

CellT = TypeVar("CellT", RateCell, ScoreCell)

JUDGE_METRIC = "judge_score"
"""Name of a paper's judge scores in ``names.toml``."""

ROUNDING_SLACK = 1e-9
"""Tolerance for binary fractions in comparisons with rounded values."""


class PublishedComparison(NamedTuple):
    """Published number with the same number of one column of this run (``ours``).

    ``low`` and ``high`` are the bounds of our number: pass rates if all problems excluded here failed or passed; for
    similarities both are our number.
    """

    published: PublishedNumber
    column: ModelResults
    ours: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Return whether the printed value, before rounding, can be between the bounds."""
        slack = self.published.half_unit + ROUNDING_SLACK
        return self.low - slack <= self.published.value <= self.high + slack


class PublishedJudgeScore(NamedTuple):
    """Published judge score with that of this run (``ours``), which is by another judge and may differ."""

    published: PublishedNumber
    judged: JudgedScores
    column: ScoreColumn
    ours: ReportedNumber


def compare_with_published(summary: Summary) -> tuple[PublishedComparison, ...]:
    """Return the published numbers that this run has too, table by table.

    A number is compared only if the run has all problems and samples that it is about. Pass rates are compared with
    the ``paper`` profile if the run has it, else with its own profile; similarities only with the ``paper`` profile,
    since the default ones measure something else.
    """
    profiles = {column.profile for column in summary.columns}
    wanted = next((name for name in PROFILES if name in profiles), PROFILES[-1])
    rows = [row for column in summary.columns if column.profile == wanted for row in _column_rows(column, summary)]
    order = _table_order(summary.suite)
    return tuple(
        sorted(rows, key=lambda row: (order[row.published.table], row.column.model.lower(), row.published.metric))
    )


def _column_rows(column: ModelResults, summary: Summary) -> Iterator[PublishedComparison]:
    for published, part, cell in _joined(summary, column, column.overall, column.strata):
        passes = published.metric == "pass@1"
        estimate = cell.pass_at.get(1) if passes else cell.similarity.get(published.metric)
        # What is not scored yet is a part, too.
        if estimate is None or cell.problems + cell.excluded != part.expected:
            continue
        low, high = estimate.value, estimate.value
        if passes and cell.if_excluded_failed is not None:
            low, high = cell.if_excluded_failed, cell.if_excluded_passed or high
        yield PublishedComparison(published, column, estimate.value, low, high)


def compare_judge_scores(summary: Summary) -> tuple[PublishedJudgeScore, ...]:
    """Return the published judge scores that this run has too, with the mean of all judges here."""
    rows = [
        PublishedJudgeScore(published, judged, column, cell.value)
        for judged in summary.judged
        for column in judged.columns
        if column.value is not None
        for published, _, cell in _joined(summary, column, ScoreCell(labels={}, value=column.value), column.strata)
        if published.metric == JUDGE_METRIC
    ]
    order = _table_order(summary.suite)
    return tuple(
        sorted(rows, key=lambda row: (order[row.published.table], row.column.model.lower(), row.published.label))
    )


def _joined(
    summary: Summary, column: ModelResults | ScoreColumn, overall: CellT, strata: Mapping[str, tuple[CellT, ...]]
) -> Iterator[tuple[PublishedNumber, ComparedPart, CellT]]:
    """Yield the published numbers of a column's model whose part the run has, with this part and our cell of it."""
    model = printed_models(summary.suite).get(column.model.lower())
    parts = {
        (part.stratum, part.label): part
        for part in summary.compared_parts
        if (part.model, part.parameters) == (column.model, column.parameters) and part.is_complete
    }
    cells = {
        (stratum, printed_label(summary.suite, stratum, cell.labels[stratum])): cell
        for stratum, by_label in strata.items()
        for cell in by_label
        if stratum in cell.labels
    }
    for published in published_numbers(summary.suite):
        key = published.stratum, published.label
        cell = overall if published.label == WHOLE else cells.get((published.stratum, published.label.lower()))
        if published.model == model and key in parts and cell is not None:
            yield published, parts[key], cell


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


def _table_order(suite: str) -> Mapping[str, int]:
    """Return the positions of the paper's tables."""
    tables = dict.fromkeys(number.table for number in published_numbers(suite))
    return {table: position for position, table in enumerate(tables)}


class PublishedSection(Section):
    """Section of published numbers with those of the run; only on request."""

    positions = SectionPositions(text=80, page=40)
    part = PagePart("published", "Published", "Published numbers")
    published = True

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the parts of the problems that the paper has numbers for."""
        suite = str(source.run.manifest.get("suite") or "")
        return {"compared_parts": compared_parts(source.run, suite)}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return a table for each table of the paper: rates and similarities, then judge scores."""
        judged = _judged_table(compare_judge_scores(summary))
        elsewhere = _own_tables(summary)
        return [*elsewhere, *published_tables(compare_with_published(summary)), *existing_tables([judged])]

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return what is not compared, and at the end how many numbers agree."""
        rows = compare_with_published(summary)
        partial = list(partial_models(summary))
        yield from partial
        if not (rows or partial or _own_tables(summary)):
            yield "The paper prints no number for these models and problems."
        if rows or not _own_tables(summary):
            yield _agreement(rows)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return one block with the tables and the notes."""
        tables = list(self.tables(shown.summary))
        shows = bool(shown.summary.compared_parts or _own_tables(shown.summary))
        return [PageBlock(tables=tables, notes=list(self.notes(shown.summary)))] if shows else []


def _own_tables(summary: Summary) -> list[ReportTable]:
    """Return the suite's own tables of printed numbers, which are about other problems than the run's."""
    suite = suite_of_run(summary.suite)
    if suite is None:
        return []
    # What a paper prints is about all problems.
    tables = [table.raw or table for table in summary.suite_tables]
    plain = [Table(**{name: getattr(table, name) for name in Table._fields}) for table in tables]
    return [suite_table(SuiteTable(**table._asdict()), summary.baselines) for table in suite.published_tables(plain)]


def published_tables(rows: Sequence[PublishedComparison]) -> list[ReportTable]:
    """Return a table of the paper's numbers with those of the run for each table of the paper."""
    by_table = grouped((row.published.table, row) for row in rows)
    return [_published_table(name, table_rows) for name, table_rows in by_table.items()]


def _published_table(name: str, rows: Sequence[PublishedComparison]) -> ReportTable:
    fields = [
        (
            row.column.model,
            _part_title(row.published),
            row.published.metric,
            _published_number(row.published.metric, row.published.value),
            _published_number(row.published.metric, row.ours),
            _published_range(row),
            text_field("yes" if row.agrees else "no", "" if row.agrees else "warning"),
        )
        for row in rows
    ]
    heads = ("Model", "Part", "Metric", "Published", "Ours", "Range of ours", "Published inside")
    rates = rows[0].published.metric == "pass@1"
    bounds = " The range covers excluded problems: from all failed to all passed." if rates else ""
    return table_of(name, heads, fields, f"{rows[0].column.profile} profile; {_agreement(rows)}.{bounds}")


def _agreement(rows: Sequence[PublishedComparison]) -> str:
    return f"{sum(row.agrees for row in rows)} of {len(rows)} cells agree"


def _part_title(published: PublishedNumber) -> str:
    return published.label if published.label == WHOLE else f"{published.stratum} {published.label}"


def _published_number(metric: str, value: float) -> TableField:
    return number_field(value, f"{value:.4f}" if metric.startswith("cosine") else percent(value, 2))


def _published_range(row: PublishedComparison) -> str:
    if row.published.metric != "pass@1":
        return "as printed" if row.agrees else "differs"
    return f"{percent(row.low)} to {percent(row.high)}"


def _judged_table(rows: Sequence[PublishedJudgeScore]) -> ReportTable | None:
    if not rows:
        return None
    fields = [
        (
            row.column.model,
            _part_title(row.published),
            row.judged.criterion,
            row.column.judge,
            score_field(row.published.estimate),
            marked_field(score_field(row.ours), row.column.refused),
        )
        for row in rows
    ]
    return table_of(
        f"{rows[0].published.table} ({', '.join(dict.fromkeys(row.judged.validity for row in rows))})",
        ("Model", "Part", "Criterion", "Judge here", "Published", "Ours"),
        fields,
        (
            "Not a reproduction: the paper's judge was o3-mini with another prompt, and its judgements are not "
            f"published. Scores depend on judge and prompt. {MARK_NOTE}"
        ),
    )
