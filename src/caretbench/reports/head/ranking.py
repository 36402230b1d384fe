"""Ranked list of models and baselines as a table, with a drawing of each interval in plain characters."""

from __future__ import annotations

from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.head.head_values import HeadPart, RankedModel
from caretbench.reports.tables import (
    FieldValue,
    ReportTable,
    TableField,
    digits_field,
    rate_field,
    score_field,
    table_of,
    title_field,
)

WIDTH = 41
"""Number of characters of a drawn interval."""


def ranking_table(part: HeadPart, *, drawn: bool = False) -> ReportTable:
    """Return the ranked list of a part, with a drawing of each interval if ``drawn``."""
    timed = any(entry.last_token_s is not None for entry in part.ranking)
    heads = ["Model", part.measure.title, "Problems"]
    heads += ["First token (s)", "Answer (s)"] if timed else []
    heads += [f"0{' ' * (WIDTH - 2)}1"] if drawn else []
    rows: list[list[FieldValue]] = []
    for entry in part.ranking:
        row: list[FieldValue] = [
            title_field(entry.title, baseline=entry.baseline), number_of(part, entry), entry.estimate.problems,
        ]  # fmt: skip
        row += [digits_field(entry.first_token_s), digits_field(entry.last_token_s)] if timed else []
        rows.append([*row, *([interval_drawing(entry.estimate)] if drawn else [])])
    title = f"Models by {part.measure.title}"
    return table_of(f"{part.title}: {title}" if part.title else title, heads, rows, part.measure.about)


def number_of(part: HeadPart, entry: RankedModel) -> TableField:
    """Return the number of a model with its interval."""
    return rate_field(entry.estimate) if part.measure.similarity is None else score_field(entry.estimate, 3)


def interval_drawing(number: ReportedNumber) -> str:
    """Return a number from 0 to 1 and its interval, drawn on a line of :data:`WIDTH` characters."""
    line = [" "] * WIDTH
    low, high = _place(number.value if number.low is None else number.low), _place(number.high or number.value)
    line[low : high + 1] = "-" * (high - low + 1)
    line[low] = line[high] = "|"
    line[_place(number.value)] = "o"
    return "".join(line).rstrip()


def _place(value: float) -> int:
    return round(min(1.0, max(0.0, value)) * (WIDTH - 1))
