"""Sections of tables in the layout of a paper: rates with its ±, its rows and columns, and its printed cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval, plus_minus
from caretbench.problem import Problem
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.results.paper_intervals import BOOTSTRAP, PARAMETRIC, WILSON, PaperTableLayout, PrintedRate
from caretbench.reports.results.published_numbers import published_names, published_rows
from caretbench.reports.section import ColumnGroup, Section
from caretbench.reports.strata import PRESET
from caretbench.reports.summary import ModelResults, RateCell
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    display_label,
    display_labels,
    display_stratum,
    existing_tables,
    models_in,
    number_field,
    ordered_names,
    range_text,
    rate_field,
    table_of,
)
from caretbench.suites.suite_types import PaperTable

_DOUBTFUL = "doubtful"
"""Status of cells that contradict others of the same paper."""


@cache
def printed_rates(suite: str) -> tuple[PrintedRate, ...]:
    """Return the printed rates of a suite's paper, in printed order; none without a table ``printed`` of its names."""
    return tuple(_rates(suite, names)) if (names := published_names(suite).get("printed")) else ()


def printed_cells(suite: str, problems: Iterable[Problem], table: PaperTable) -> tuple[PrintedRate, ...]:
    """Return the printed cells to show in a table: those of its tables, if they are about the run's problems."""
    if not table.printed or not all(problem.id.startswith(table.printed_for) for problem in problems):
        return ()
    names = [name.removesuffix(PRESET) for name in table.labels]
    return tuple(rate for rate in printed_rates(suite) if rate.table in table.printed and [*rate.labels] == names)


def _rates(suite: str, names: Mapping[str, Any]) -> Iterator[PrintedRate]:
    for row in published_rows(suite):
        if not row["model"] or row["suite"] != suite or row["metric"] != names["metric"] or row["status"] == _DOUBTFUL:
            continue
        printed = dict(part.split("=", 1) for part in row["subset"].split(";"))
        labels = {
            ours: names["values"].get(printed[theirs], printed[theirs])
            for theirs, ours in names["labels"].items()
            if theirs in printed
        }
        margin = float(row["margin_95"]) if row["margin_95"] else None
        yield PrintedRate(
            table=row["table"], model=row["model"], labels=labels, value=float(row["value"]), margin=margin
        )


_CAPTION = (
    "± as in the paper, which assumes independent problems; ± 0.0 means that all passed, or none. The number of "
    "problems is below each rate; if it is small, the paper prints N/A."
)
_PRINTED = " The columns and rows called printed are the paper's, about all tasks of its release."


class PaperIntervalsSection(Section):
    """Section of pass@1 with the intervals of papers."""

    group_block = "lead"

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return one table by the main labels."""
        return existing_tables([paper_intervals_table(group.columns, group.summary.main)])


class PaperTablesSection(Section):
    """Section of tables in the layout of the paper's; on the page only."""

    group_block = "forms"

    def group_page_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return the tables that have numbers."""
        return paper_tables(group.columns, group.summary.paper_tables)


def paper_intervals_table(columns: Sequence[ModelResults], main: str) -> ReportTable | None:
    """Return pass@1 by the main labels with our interval and those of three methods; None unless requested."""
    rows: list[FieldValues] = [
        (
            column.title,
            display_labels(cell.labels),
            cell.problems,
            rate_field(cell.pass_at.get(1)),
            *(_with_bounds(cell.paper_intervals[method]) for method in (PARAMETRIC, WILSON, BOOTSTRAP)),
        )
        for column in models_in(columns)
        for cell in (column.overall, *column.strata.get(main, ()))
        if {PARAMETRIC, WILSON, BOOTSTRAP} <= cell.paper_intervals.keys()
    ]
    if not rows:
        return None
    return table_of(
        f"pass@1 by {display_stratum(main)}, with the intervals of three methods",
        ("Model", "Part", "Problems", "pass@1", "± of the paper", "Wilson", "Bootstrap"),
        rows,
        (
            "The interval below pass@1 is the reliable one: it is over sources or groups of overlapping spans. The "
            "other three assume independent problems: the paper's, Wilson's and a seeded bootstrap, as ± half the "
            "width."
        ),
    )


def paper_tables(columns: Sequence[ModelResults], forms: Sequence[PaperTableLayout]) -> tuple[ReportTable, ...]:
    """Return the tables in the layout of a paper's; those without numbers are omitted."""
    shown = models_in(columns)
    return tuple(
        table
        for form in forms
        if (table := (_models_across if form.models_as_columns else _parts_across)(shown, form)) is not None
    )


def _models_across(columns: Sequence[ModelResults], form: PaperTableLayout) -> ReportTable | None:
    names = ordered_names(columns, form.stratum)
    cells = [{display_labels(cell.labels): cell for cell in column.strata.get(form.stratum, ())} for column in columns]
    printed = _printed_cells(form)
    rows: list[FieldValues] = [
        (
            name,
            *(_rate_field(by_name.get(name)) for by_name in cells),
            *(_printed_field(by_name.get(name)) for by_name in printed.values()),
        )
        for name in names
    ]
    head = form.stratum.replace("_", " ").capitalize()
    return _table(form, columns, (head, *(column.title for column in columns), *printed), rows)


def _printed_cells(form: PaperTableLayout) -> dict[str, dict[str, PrintedRate]]:
    """Return the printed cells by the title of their model and the display text of their labels."""
    cells = grouped((f"{rate.model}, printed", (display_labels(rate.labels), rate)) for rate in form.printed)
    return {title: dict(by_name) for title, by_name in cells.items()}


def _printed_field(rate: PrintedRate | None) -> TableField:
    return number_field(None) if rate is None else number_field(rate.value / 100, rate.text, "printed")


def _parts_across(columns: Sequence[ModelResults], form: PaperTableLayout) -> ReportTable | None:
    """Return a table with the last label of the stratum as rows and the others as columns; models are rows too."""
    by_row: dict[str, dict[str, dict[str, RateCell]]] = {}
    places: dict[str, tuple[int, ...]] = {}
    for column in columns:
        for cell in column.strata.get(form.stratum, ()):
            across, below = _divided(cell)
            places.setdefault(across, cell.order[: across.count(" / ") + 1])
            by_row.setdefault(below, {}).setdefault(column.title, {})[across] = cell
    heads = sorted(places, key=lambda name: (places[name], name))
    labels = by_row != {"": by_row.get("", {})}
    rows: list[FieldValues] = [
        (
            *((below,) if labels else ()),
            column.title,
            *(_rate_field(by_row[below].get(column.title, {}).get(across)) for across in heads),
        )
        for below in sorted(by_row, key=str.lower)
        for column in columns
    ]
    for title, cells in _printed_cells(form).items():
        rows += [
            (*((below,) if labels else ()), title, *map(_printed_field, printed))
            for below in sorted(by_row, key=str.lower)
            if any(printed := [cells.get(f"{across} / {below}" if below else across) for across in heads])
        ]
    rows.sort(key=lambda row: str(row[0]).lower() if labels else "")
    first = (form.stratum.split(" / ")[-1].replace("_", " ").capitalize(),) if labels else ()
    return _table(form, columns, (*first, "Model", *heads), rows)


def _divided(cell: RateCell) -> tuple[str, str]:
    shown = [display_label(name, value) for name, value in cell.labels.items()]
    return " / ".join(shown[:2]), " / ".join(shown[2:])


def _table(
    form: PaperTableLayout, columns: Sequence[ModelResults], heads: Sequence[str], rows: Sequence[FieldValues]
) -> ReportTable | None:
    note = next((note for column in columns if (note := column.strata_notes.get(form.stratum))), "")
    caption = f"{note} {_CAPTION}".strip() + (_PRINTED if form.printed else "")
    table = table_of(form.title, heads, rows, caption)
    return table if any(field.estimate for row in table.rows for field in row) else None


def _rate_field(cell: RateCell | None) -> TableField:
    printed = None if cell is None else cell.paper_intervals.get(PARAMETRIC)
    if printed is None:
        return number_field(None)
    field = number_field(printed.value, plus_minus(printed.value, _interval(printed)), f"n = {printed.problems}")
    return field.model_copy(update={"estimate": printed})


def _with_bounds(estimate: ReportedNumber) -> TableField:
    interval = _interval(estimate)
    return number_field(estimate.value, plus_minus(estimate.value, interval), range_text(interval.low, interval.high))


def _interval(estimate: ReportedNumber) -> Interval:
    return Interval(estimate.low or 0.0, estimate.high or 0.0, "parametric")
