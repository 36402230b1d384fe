"""Columns with the intervals that papers print, and the layouts of the papers' tables that a run has columns for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caretbench.reports.results.paper_intervals import (
    PaperTableLayout,
    PrintedRate,
    paper_interval_estimates,
    paper_table_layouts,
)
from caretbench.reports.summary import Column, RateCell
from caretbench.suites.suite_types import PaperTable, Stratification


def paper_tables_in(
    columns: Sequence[Column],
    stratification: Stratification,
    printed: Callable[[PaperTable], tuple[PrintedRate, ...]] = lambda _table: (),
) -> tuple[PaperTableLayout, ...]:
    """Return the layouts of the paper's tables whose strata the columns have; ``printed`` returns a table's cells."""
    strata = {name for column in columns for name in column.strata}
    return tuple(paper_table_layouts(stratification.paper_tables, strata, printed))


def with_paper_intervals(column: Column, main: str, forms: Sequence[PaperTableLayout], seed: int) -> Column:
    """Return the column with the papers' intervals, if there is one sample per problem."""
    if column.samples != 1:
        return column

    def printed(cell: RateCell, *, all_three: bool) -> RateCell:
        rate = cell.pass_at.get(1)
        if rate is None:
            return cell
        return cell.model_copy(update={"paper_intervals": paper_interval_estimates(rate, seed, all_three=all_three)})

    wanted = {main, *(form.stratum for form in forms)}
    strata = {
        name: tuple(printed(cell, all_three=name == main) for cell in cells) if name in wanted else cells
        for name, cells in column.strata.items()
    }
    return column.model_copy(update={"overall": printed(column.overall, all_three=True), "strata": strata})
