"""Sections of rates: pass rates, strata, statuses and similarities under one profile and policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import polars as pl

from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.frame import GROUP, LABELS
from caretbench.reports.notes import coverage_warnings, interval_notes, parameter_difference_notes
from caretbench.reports.output.rate_tables import main_table, status_table, stratum_table
from caretbench.reports.printed_cells import printed_cells
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paper_columns import paper_tables_in
from caretbench.reports.section import Chart, ColumnGroup, Line, Section, SectionPositions
from caretbench.reports.strata import stratum_name
from caretbench.reports.summary import Column, RateCell, Summary
from caretbench.reports.tables import (
    ReportTable,
    display_stratum,
    existing_tables,
    headline_title,
    models_in,
    pass_columns,
    strata_names,
)

HEAT_MAPS = 12
"""Maximum number of heat maps: one a model, best first."""


class PassRatesSection(Section):
    """Section of pass rates of models and baselines."""

    positions = SectionPositions(lines=10)
    group_block = "lead"

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the columns, the verdicts of the gate, and the strata that tables and charts show."""
        verdicts = source.run.frame.unique("problem_id").filter(pl.col("verdict").is_not_null())["verdict"]
        suite = source.suite.name if source.suite else ""
        printed = partial(printed_cells, suite, source.run.problems)
        return {
            "columns": source.columns,
            "headline_columns": source.headline_columns,
            "verdicts": dict(verdicts.value_counts().sort("verdict").iter_rows()),
            "main": stratum_name(source.stratification.main_labels),
            "heat_maps": tuple(map(stratum_name, source.stratification.heat_maps)),
            "paper_tables": paper_tables_in(source.columns, source.stratification, printed),
        }

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return columns with too low a coverage."""
        return coverage_warnings(summary.columns)

    def notes(self, summary: Summary) -> Iterator[str]:
        """Yield notes on differences between columns of one model, and on intervals."""
        yield from parameter_difference_notes(summary.columns, summary.manifest)
        yield from interval_notes(summary.columns)

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return the main table, if there are verdicts."""
        judged = pass_columns(group.columns)
        return [main_table(judged)] if judged else []

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return one line per column, scope and metric; then those of the suite's own shares."""
        yield from (line for column in summary.columns for line in _rate_lines(column))
        yield from (line for column in summary.headline_columns for line in _share_lines(column))


class StrataSection(Section):
    """Section of pass@1 by single labels; on the page also by crossed labels."""

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return a table for each label."""
        return existing_tables(
            stratum_table(columns, name) for columns in group.measured_columns for name in strata_names(columns)
        )

    def group_page_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return a table for each label and each combination of crossed labels."""
        return existing_tables(
            stratum_table(columns, name)
            for columns in group.measured_columns
            for name in (*strata_names(columns), *strata_names(columns, crossed=True))
        )

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield points by single labels, and by three or more."""
        from caretbench.reports.sections import rate_charts  # only pages have charts

        for columns in group.measured_columns:
            measure = headline_title(columns)
            for name in strata_names(columns):
                spec = rate_charts.rates_by_label(columns, name)
                yield Chart(f"{measure}-{name}", f"{measure} by {display_stratum(name)}", spec)
            for name in strata_names(columns, crossed=True):
                if name.count(" / ") > 1:
                    for title, found in rate_charts.multi_label_charts(columns, name).items():
                        yield Chart(f"{name}-{title}", title, found)


class StatusesSection(Section):
    """Section of completions by status."""

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return one table of counts."""
        return existing_tables([status_table(group.columns)])

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield shares of the statuses."""
        from caretbench.reports.sections.answer_charts import status_shares  # only pages have charts

        yield Chart("status", "Completions by status", status_shares(group.columns))


class HeatMapsSection(Section):
    """Section of heat maps of pass@1 by crossed labels, the best models first; on the page only."""

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield a map for each stratum and model."""
        from caretbench.reports.sections.rate_charts import heat_map  # only pages have charts

        strata, measured = group.summary.heat_maps, group.measured_columns
        number = max(1, HEAT_MAPS // max(1, len(strata) * len(measured)))
        for stratum, columns in product(strata, measured):
            best = [column for column in models_in(columns) if not column.baseline]
            for place, column in enumerate(best[:number]):
                measure = headline_title([column])
                title = f"{column.title}: {measure} by {display_stratum(stratum)}"
                yield Chart(f"heat-{measure}-{stratum}-{place}", title, heat_map(column, stratum))


def _rate_lines(column: Column) -> Iterator[Line]:
    """Yield one line per scope and metric, and the coverage."""
    common = {name: getattr(column, name) for name in GROUP}
    for scope, cell in _scopes(column):
        for metric, estimate in _estimates(cell):
            yield {"scope": scope, "metric": metric} | common | _labels(cell) | estimate.numbers()
    if column.coverage is not None:
        row = {"metric": "coverage", "value": column.coverage, "problems": column.overall.problems}
        yield {"scope": "all"} | common | row


def _share_lines(column: Column) -> Iterator[Line]:
    """Yield one line per scope of a share of the suite's own; the title is the metric."""
    common = {name: getattr(column, name) for name in GROUP}
    for scope, cell in _scopes(column):
        if 1 in cell.pass_at:
            yield {"scope": scope, "metric": column.measure} | common | _labels(cell) | cell.pass_at[1].numbers()


def _scopes(column: Column) -> Iterator[tuple[str, RateCell]]:
    yield "all", column.overall
    if column.valid is not None:
        yield "valid", column.valid
    if column.net_of_empty is not None:
        yield "net_of_empty", column.net_of_empty
    for stratum, cells in column.strata.items():
        for cell in cells:
            yield stratum, cell


def _labels(cell: RateCell) -> dict[str, str]:
    """Return the labels that are columns of the export, and the others as ``name=value; name=value``."""
    own = {name: value for name, value in cell.labels.items() if name in LABELS}
    further = [f"{name}={value}" for name, value in cell.labels.items() if name not in own]
    return own | ({"labels": "; ".join(further)} if further else {})


def _estimates(cell: RateCell) -> Iterator[tuple[str, ReportedNumber]]:
    for k, estimate in cell.pass_at.items():
        yield f"pass@{k}", estimate
    for method, estimate in cell.paper_intervals.items():
        yield f"pass@1 ({method})", estimate
    yield from cell.similarity.items()
