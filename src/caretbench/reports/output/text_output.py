"""Text output of a report: framed tables on a terminal, plain lines in a pipe, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.head.head_texts import (
    NO_NUMBER,
    cost_text,
    footer_line,
    head_sentences,
    leading_title,
    number_of,
    part_sentences,
)
from caretbench.reports.head.head_values import HeadPart
from caretbench.reports.section import groups
from caretbench.reports.section_registry import SECTIONS, csv_sections, text_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    FieldValue,
    ReportTable,
    TableField,
    digits_field,
    number_field,
    share_field,
    table_of,
    text_field,
    title_field,
)
from caretbench.text_tables import stacked_field

_BETWEEN = 2
"""Number of blanks beside each column of a framed table."""
_DRAWING_WIDTH = 120
"""Width of a terminal in characters from which intervals are drawn; a drawing that is wrapped misleads."""


def summary_tables(summary: Summary, *, published: bool = False) -> list[ReportTable]:
    """Return the tables of a summary in display order; crossed labels are shown only on the page."""
    sections = text_sections(published=published)
    grouped = [
        group.with_group_title(table)
        for group in groups(summary)
        for section in SECTIONS
        if not group.further  # further policies are compared in a table of their own
        for table in section.group_tables(group)
    ]
    return grouped + [table for section in sections for table in section.tables(summary)]


def print_summary(summary: Summary, stream: TextIO | None = None, *, published: bool = False) -> None:
    """Print a summary to ``stream``, by default the standard output.

    The head comes first in a pipe, and last on a terminal, where the tables would push it out of sight.
    """
    notes = [*(f"Note: {text}" for text in summary.notes), footer_line(summary)]
    notes += notes_on_request(summary) if published else []
    on_terminal = Console(file=stream).is_terminal
    if not on_terminal:
        print_head(summary, stream)
    print_tables(summary_tables(summary, published=published), notes, stream)
    if on_terminal:
        Console(file=stream).out("")
        print_head(summary, stream)


def print_head(summary: Summary, stream: TextIO | None = None) -> None:
    """Print the head of a report: the sentences and the ranked models, then the warnings."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    head = summary.head
    for text in head_sentences(head) if head else [NO_NUMBER]:
        console.print(Text(text, style="bold"))
    for part in head.parts if head else ():
        texts = [part.heading, *(part_sentences(head, part) if head else ())]
        for text in filter(None, texts):
            console.print(Text(text, style="bold"))
        drawn = not console.is_terminal or console.width >= _DRAWING_WIDTH
        print_tables([ranking_table(part, drawn=drawn)], [] if console.is_terminal else [part.about], stream)
        console.out("")
    for text in summary.warnings:
        console.print(Text(f"Warning: {text}", style="yellow"))
    console.out("")


def notes_on_request(summary: Summary) -> list[str]:
    """Return the notes of the sections that are shown only on request."""
    return [text for section in SECTIONS if section.published for text in section.notes(summary)]


def print_tables(tables: Sequence[ReportTable], notes: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Print tables and notes: framed on a terminal, else as aligned plain lines.

    On a terminal that is so narrow that words of a table would be cut, its rows are printed one below the other.
    """
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for table in tables:
        if console.is_terminal and least_width(table) > console.width:
            for line in row_lines(table, console.width):
                console.print(line)
        elif console.is_terminal:
            console.print(_framed(table))
        else:
            console.out(plain_lines(table), highlight=False)
        console.out("")
    for note in notes:
        console.out(note, highlight=False)


def _framed(table: ReportTable) -> RichTable:
    framed = RichTable(
        title=table.title,
        caption=table.caption or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )
    for head, numeric in zip(table.heads, table.numeric, strict=True):
        framed.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        framed.add_row(*(_styled(field) for field in row))
    return framed


def least_width(table: ReportTable) -> int:
    """Return the width in characters in which no word of a framed table is cut."""
    columns = zip(table.heads, *([_plain(field) for field in row] for row in table.rows), strict=True)
    words = (max((len(word) for text in column for word in text.split()), default=0) for column in columns)
    return sum(width + _BETWEEN for width in words)


def row_lines(table: ReportTable, width: int) -> Iterator[Text]:
    """Yield the rows of a table one below the other: the first field, then each other field with its head."""
    yield Text(table.title, style="bold")
    for row in table.rows:
        for number, (head, field) in enumerate(zip(table.heads, row, strict=True)):
            if _plain(field).strip():
                text = stacked_field(head if number else "", _plain(field), width)
                yield Text(text, style=_STYLES.get(field.tone, "" if number else "bold"))
    if table.caption:
        yield Text(textwrap.fill(table.caption, width), style="italic")


_STYLES = {"baseline": "dim", "warning": "yellow", "good": "green", "bad": "red"}


def _styled(field: TableField) -> Text:
    text = Text(field.text, style=_STYLES.get(field.tone, ""))
    if field.note:
        text.append(f"\n{field.note}", style="dim")
    return text


def plain_lines(table: ReportTable) -> str:
    """Return the table as aligned lines, with the intervals in brackets."""
    body = [[_plain(field) for field in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.heads, *body, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(row, widths, table.numeric, strict=True)
        ).rstrip()
        for row in (list(table.heads), *body)
    ]
    return "\n".join([table.title, *lines])


def _plain(field: TableField) -> str:
    return f"{field.text} [{field.note}]" if field.note else field.text


CSV_FIELDS = (
    "suite", "run", "model", "parameters", "policy", "profile", "scope", "language", "category", "mode",
    "metric", "value", "low", "high", "problems", "method", "judge", "note", "labels",
)  # fmt: skip


def to_json(summary: Summary) -> str:
    """Return the whole summary; rates run from 0 to 1. :meth:`Summary.model_validate_json` reads it back."""
    return summary.model_dump_json(indent=2)


def to_csv(*summaries: Summary) -> str:
    """Return one line per suite, model, scope and metric.

    Rates run from 0 to 1, ``scope`` is the set of counted problems.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_FIELDS, lineterminator="\n", restval="")
    writer.writeheader()
    for summary in summaries:
        for section in csv_sections():
            for line in section.lines(summary):
                writer.writerow({"suite": summary.suite, "run": summary.run} | dict(line))
    return stream.getvalue()


def to_markdown(summary: Summary, *, published: bool = False) -> str:
    """Return the head and the tables of the terminal as Markdown."""
    parts = [f"# {summary.suite}: {summary.run}".rstrip(": "), *_markdown_head(summary)]
    parts += [table_to_markdown(table) for table in summary_tables(summary, published=published)]
    requested = notes_on_request(summary) if published else []
    parts += [f"- {note}" for note in (*summary.notes, footer_line(summary), *requested)]
    return "\n\n".join(parts)


def _markdown_head(summary: Summary) -> Iterator[str]:
    """Yield the head of a report: sentences, ranked models, warnings."""
    head = summary.head
    if head is None:
        yield NO_NUMBER
    else:
        yield from head_sentences(head)
        for part in head.parts:
            yield from ([f"**{part.heading}**"] if part.heading else [])
            yield from part_sentences(head, part)
            yield table_to_markdown(ranking_table(part))
    yield from (f"- Warning: {text}" for text in summary.warnings)


def table_to_markdown(table: ReportTable) -> str:
    """Return one table under its title; bars in texts are escaped."""
    lines = [f"## {table.title}", "", _markdown_line(table.heads)]
    lines.append(_markdown_line(["---:" if numeric else "---" for numeric in table.numeric]))
    lines += [_markdown_line([f"{_linked(f)} ({f.note})" if f.note else _linked(f) for f in row]) for row in table.rows]
    return "\n".join(lines + (["", table.caption] if table.caption else []))


def _linked(field: TableField) -> str:
    return f"[{field.text}]({field.link})" if field.link else field.text


def _markdown_line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"


WIDTH = 41
"""Number of characters of a drawn interval."""


def ranking_table(part: HeadPart, *, drawn: bool = False) -> ReportTable:
    """Return the ranked list of a part, with a drawing of each interval if ``drawn``."""
    priced = any(entry.cost is not None for entry in part.ranking)
    timed = any(entry.last_token_s is not None for entry in part.ranking)
    heads = ["Model", leading_title(part), "Problems", part.beside.capitalize(), "Empty", "Below"]
    heads += ["First token (s)", "Answer (s)"] if timed else []
    heads += ["Cost of an answer"] if priced else []
    heads += [f"0{' ' * (WIDTH - 2)}1"] if drawn else []
    rows: list[list[FieldValue]] = []
    for entry in part.ranking:
        row: list[FieldValue] = [
            title_field(entry.title, baseline=entry.baseline),
            number_of(part, entry),
            entry.estimate.problems,
            share_field(entry.beside.value if entry.beside else None),
            share_field(entry.empty),
            text_field(", ".join(entry.below), "warning"),
        ]  # columns without values are omitted
        row += [digits_field(entry.first_token_s), digits_field(entry.last_token_s)] if timed else []
        row += [number_field(entry.cost, cost_text(entry.cost))] if priced else []
        rows.append([*row, *([interval_drawing(entry.estimate)] if drawn else [])])
    title = f"Models by {leading_title(part)}"
    return table_of(f"{part.title}: {title}" if part.title else title, heads, rows, part.about)


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
