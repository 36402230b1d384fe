"""Tables as plain values, shown by the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caretbench.errors import UsageError
from caretbench.languages import get_language
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.summary import ModelResults, RateCell

MISSING_FIELD = "-"
NO_TEXTS = frozenset({"", MISSING_FIELD, "–", "n/a"})
"""Texts of fields without a value, in tables of reports and of suites."""
_COUNT_HEADS = frozenset({"Problems", "Instances"})
"""Heads of the columns that tell the number of problems of a row."""


class TableField(ReportValue):
    """One field of a table: its text, sort key, note below the text, number with interval, and tone (colour).

    ``problems`` is the number of problems that the number is over; tables show it where a row does not tell it.
    ``link`` is the address that the text leads to on the page and in Markdown; empty if there is none.
    """

    text: str
    sort: float | str = ""
    note: str = ""
    estimate: ReportedNumber | None = None
    problems: int | None = None
    tone: str = ""
    link: str = ""


class ReportTable(ReportValue):
    """Table whose first column is text; ``numeric`` is true for columns of numbers."""

    title: str
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[TableField, ...], ...]
    caption: str = ""


FieldValue = TableField | str | float | None
"""Field of a table, or the text or number for a plain one."""
FieldValues = Sequence[FieldValue]


def table_of(title: str, heads: Sequence[str], rows: Iterable[FieldValues], caption: str = "") -> ReportTable:
    """Return a table; a column is numeric if all its sort keys are numbers."""
    fields = tuple(_with_counts(heads, tuple(map(_field, row))) for row in rows)
    numeric = tuple(not any(isinstance(row[index].sort, str) for row in fields) for index in range(len(heads)))
    table = ReportTable(title=title, heads=tuple(heads), numeric=numeric, rows=fields, caption=caption)
    return without_empty_columns(table)


def without_empty_columns(table: ReportTable) -> ReportTable:
    """Return the table without columns that have no value in any row."""
    kept = [
        index
        for index in range(len(table.heads))
        if not table.rows or any(row[index].text not in NO_TEXTS or row[index].note for row in table.rows)
    ]
    return table.model_copy(
        update={
            "heads": tuple(table.heads[index] for index in kept),
            "numeric": tuple(table.numeric[index] for index in kept),
            "rows": tuple(tuple(row[index] for index in kept) for row in table.rows),
        }
    )


def _with_counts(heads: Sequence[str], row: tuple[TableField, ...]) -> tuple[TableField, ...]:
    """Return the row with the number of problems below each number that is not over the row's number of problems."""
    # Rates of one row may be over fewer problems than the row: without an n they read as if over all of them.
    stated = {field.sort for head, field in zip(heads, row, strict=True) if head in _COUNT_HEADS}
    return tuple(
        field
        if field.problems is None or field.problems in stated
        else field.model_copy(update={"note": ", ".join(filter(None, (field.note, f"n = {field.problems}")))})
        for field in row
    )


def _field(cell: FieldValue) -> TableField:
    if isinstance(cell, TableField):
        return cell
    return text_field(cell) if isinstance(cell, str) else number_field(cell)


def existing_tables(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    """Return the tables that are not None."""
    return [table for table in tables if table is not None]


def percent(value: float | None, digits: int = 1) -> str:
    """Return a rate from 0 to 1 as a percentage."""
    return MISSING_FIELD if value is None else f"{100 * value:.{digits}f}%"


def text_field(text: object, tone: str = "") -> TableField:
    """Return a text field."""
    words = MISSING_FIELD if text is None else str(text)
    return TableField(text=words, sort=words.lower(), tone=tone)


def number_field(value: float | None, text: str | None = None, note: str = "") -> TableField:
    """Return a field with a plain number."""
    shown = text if text is not None else MISSING_FIELD if value is None else f"{value:g}"
    return TableField(text=shown, sort=-1.0 if value is None else value, note=note)


def rate_field(estimate: ReportedNumber | None) -> TableField:
    """Return a rate with its interval, in percent."""
    if estimate is None:
        return number_field(None)
    return TableField(
        text=percent(estimate.value),
        sort=estimate.value,
        note=range_text(estimate.low, estimate.high),
        estimate=estimate,
        problems=estimate.problems,
    )


def score_field(estimate: ReportedNumber | None, digits: int = 2) -> TableField:
    """Return a judge's score in points, or a mean similarity from 0 to 1, with its interval."""
    if estimate is None:
        return number_field(None)
    note = range_text(estimate.low, estimate.high, ".2f", scale=1.0)
    field = number_field(estimate.value, f"{estimate.value:.{digits}f}", note)
    return field.model_copy(update={"problems": estimate.problems})


def title_field(title: str, *, baseline: bool) -> TableField:
    """Return a model's or baseline's title."""
    return text_field(title, "baseline" if baseline else "")


def digits_field(value: float | None, form: str = ".2f") -> TableField:
    """Return a number in the given format, a dash if there is none."""
    return number_field(value, None if value is None else format(value, form))


def share_field(value: float | None, note: str = "") -> TableField:
    """Return a share from 0 to 1 in percent."""
    return number_field(value, percent(value), note)


def range_text(low: float | None, high: float | None, form: str = ".1f", scale: float = 100.0) -> str:
    """Return an interval in the given format, by default in percent; empty if there is none."""
    return "" if low is None or high is None else f"{scale * low:{form}} to {scale * high:{form}}"


def display_label(stratum: str, value: str) -> str:
    """Return the display text of a label's value: ``c_sharp`` is C#, and underscores are blanks."""
    if stratum == "language":
        try:
            return get_language(value).title
        except UsageError:
            pass
    return value.replace("_", " ")


def display_labels(labels: Mapping[str, str]) -> str:
    """Return the display text of labels; ``all`` if there are none."""
    return " / ".join(display_label(stratum, value) for stratum, value in labels.items()) or "all"


def display_stratum(name: str) -> str:
    """Return the display text of a stratum's name: ``language and category``."""
    *others, last = name.replace("_", " ").split(" / ")
    return f"{', '.join(others)} and {last}" if others else last


def pass_columns(columns: Iterable[ModelResults]) -> tuple[ModelResults, ...]:
    """Return the columns with verdicts."""
    return tuple(column for column in columns if column.overall.pass_at)


def headline_title(columns: Iterable[ModelResults]) -> str:
    """Return the title of the number that breakdowns show: a rate, or a similarity where nothing has a verdict."""
    listed = list(columns)
    titles = (title for column in listed for title in column.similarity_titles.values())
    judged = pass_columns(listed)
    return judged[0].rate_title if judged else next(titles, "pass@1")


def models_in(columns: Iterable[ModelResults]) -> tuple[ModelResults, ...]:
    """Return the models with a number, verdicts before similarities; the baselines if there are none."""
    known = tuple(columns)
    judged = pass_columns(known) or tuple(column for column in known if column.headline_of(column.overall) is not None)
    return tuple(column for column in judged if not column.baseline) or judged


def strata_names(columns: Iterable[ModelResults], *, crossed: bool = False) -> tuple[str, ...]:
    """Return the names of strata by one label, or with ``crossed`` by several labels, in order."""
    names = dict.fromkeys(name for column in columns for name in column.strata)
    return tuple(name for name in names if (" / " in name) is crossed)


def ordered_names(columns: Iterable[ModelResults], stratum: str) -> list[str]:
    """Return the names of a stratum's cells in order: bins of numbers by size, words by the alphabet."""
    cells = (cell for column in columns for cell in column.strata.get(stratum, ()))
    places = {display_labels(cell.labels): _place(cell) for cell in cells}
    return sorted(places, key=lambda name: places[name])


def _place(cell: RateCell) -> tuple[tuple[int, str], ...]:
    """Return the sort key of a cell: for each label, bins of numbers by size, words by the alphabet."""
    order = cell.order or (0,) * len(cell.labels)
    names = (display_label(name, value).lower() for name, value in cell.labels.items())
    return tuple(zip(order, names, strict=True))
