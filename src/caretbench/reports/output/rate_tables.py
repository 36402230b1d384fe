"""Tables of rates: pass rates of models, their headline number by labels, and numbers of statuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.reports.summary import Column, ColumnPart, RateCell
from caretbench.reports.tables import (
    FieldValue,
    FieldValues,
    ReportTable,
    TableField,
    display_name,
    headline_title,
    models_in,
    ordered_names,
    rate_field,
    score_field,
    share_field,
    table_of,
    title_field,
)


def main_table(columns: Sequence[Column]) -> ReportTable:
    """Return the main table: pass rates on all problems, on valid ones, and net of the empty answer; coverage.

    It has a row for each part that the suite keeps apart.
    """
    most = max((max(column.overall.pass_at, default=1) for column in columns), default=1)
    parted = any(column.parts for column in columns)
    heads = ["Model", *(["Part"] if parted else []), "Samples", "pass@1"] + ([f"pass@{most}"] if most > 1 else [])
    valid = any(column.valid is not None for column in columns)
    net = any(column.net_of_empty is not None for column in columns)
    heads += ["pass@1, valid problems", "pass@1, net of empty", "Problems", "Excluded", "Coverage"]
    rows = []
    for column, part in _rows(columns):
        row: list[FieldValue] = [
            title_field(column.title, baseline=column.baseline),
            *([part.title] if parted else []),
            column.samples,
            rate_field(part.overall.pass_at.get(1)),
        ]
        row += [rate_field(part.overall.pass_at.get(most))] if most > 1 else []
        row += [_part_rate(part.valid), _part_rate(part.net_of_empty)]  # columns without values are omitted
        rows.append([*row, part.overall.problems, part.overall.excluded, share_field(column.coverage)])
    caption = (
        "95% intervals are below the rates. Excluded: problems that no rate counts. Coverage: share of the other "
        "answers that have a verdict. Baselines need no model: reference = the known right answer, empty = nothing, "
        "stub = the least valid code, copy-context = copied lines."
    )
    caption += f" pass@{most}: share of problems of which any of {most} answers passes." if most > 1 else ""
    caption += " Valid problems: those that the gate has found fit." if valid else ""
    caption += " Net of empty: without the problems that an empty answer passes." if net else ""
    caption += " Parts are not averaged; the coverage is that of all parts." if parted else ""
    return table_of("Pass rates", heads, rows, caption)


def _rows(columns: Sequence[Column]) -> Iterator[tuple[Column, Column | ColumnPart]]:
    """Yield each column with its numbers; where the suite keeps parts apart, part by part."""
    yield from ((column, column) for column in columns if not column.parts)
    for place in range(max(len(column.parts) for column in columns)):
        yield from (
            (column, column.parts[place])
            for column in columns
            if place < len(column.parts) and column.parts[place].overall.pass_at
        )


def _part_rate(cell: RateCell | None) -> TableField | None:
    if cell is None or 1 not in cell.pass_at:
        return None
    field = rate_field(cell.pass_at[1])
    # Its number of problems is another one than the row's, so it is always shown.
    return field.model_copy(update={"note": f"{field.note}, {cell.pass_at[1].problems} problems", "problems": None})


def stratum_table(columns: Sequence[Column], stratum: str) -> ReportTable | None:
    """Return the headline number by one label or two, a column for each model; baselines only without models.

    None if the problems do not have the label.
    """
    judged = models_in(columns)
    names = ordered_names(judged, stratum)
    if not names:
        return None
    by_name = [{display_name(cell): cell for cell in column.strata.get(stratum, ())} for column in judged]
    rows: list[FieldValues] = [
        (
            name,
            max(cells[name].problems if name in cells else 0 for cells in by_name),
            *(
                _headline_field(column, cells[name]) if name in cells else None
                for column, cells in zip(judged, by_name, strict=True)
            ),
        )
        for name in names
    ]
    heads = (stratum.replace("_", " ").capitalize(), "Problems", *(column.title for column in judged))
    title = f"{headline_title(judged)} by {stratum.replace('_', ' ')}"
    caption = next((note for column in judged if (note := column.strata_notes.get(stratum))), "")
    return table_of(title, heads, rows, caption)


def _headline_field(column: Column, cell: RateCell) -> TableField:
    number = column.headline_of(cell)
    return rate_field(number) if column.overall.pass_at else score_field(number, 3)


def status_table(columns: Sequence[Column]) -> ReportTable | None:
    """Return the numbers of completions by status."""
    judged = [column for column in columns if column.statuses]
    statuses = sorted({status for column in judged for status in column.statuses})
    if not statuses:
        return None
    rows: list[FieldValues] = [
        (title_field(column.title, baseline=column.baseline), *(column.statuses.get(status, 0) for status in statuses))
        for column in judged
    ]
    heads = ("Model", *(status.replace("_", " ") for status in statuses))
    return table_of("Completions by status", heads, rows)
