"""Exports of a summary: JSON, CSV in long form (one number per line) and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from caretbench.reports.head.findings import NO_NUMBER, findings, head_sentences
from caretbench.reports.head.footer import footer_line
from caretbench.reports.head.ranking import ranking_table
from caretbench.reports.output.terminal import notes_on_request, summary_tables
from caretbench.reports.sections.registry import csv_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable, TableField

CSV_FIELDS = (
    "suite", "run", "model", "parameters", "policy", "profile", "scope", "language", "category", "mode",
    "metric", "value", "low", "high", "problems", "method", "grader", "note", "labels",
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
    parts = [f"# {summary.suite}: {summary.run}".rstrip(": "), *_head(summary)]
    parts += [table_to_markdown(table) for table in summary_tables(summary, published=published)]
    requested = notes_on_request(summary) if published else []
    parts += [f"- {note}" for note in (*summary.notes, footer_line(summary), *requested)]
    return "\n\n".join(parts)


def _head(summary: Summary) -> Iterator[str]:
    """Yield the head of a report: sentences, ranked models, warnings."""
    head = summary.head
    if head is None:
        yield NO_NUMBER
    else:
        yield from head_sentences(head)
        for part in head.parts:
            yield from ([f"**{part.heading}**"] if part.heading else [])
            yield from findings(part)
            yield table_to_markdown(ranking_table(part))
    yield from (f"- Warning: {text}" for text in summary.warnings)


def table_to_markdown(table: ReportTable) -> str:
    """Return one table under its title; bars in texts are escaped."""
    lines = [f"## {table.title}", "", _line(table.heads)]
    lines.append(_line(["---:" if numeric else "---" for numeric in table.numeric]))
    lines += [_line([f"{_linked(f)} ({f.note})" if f.note else _linked(f) for f in row]) for row in table.rows]
    return "\n".join(lines + (["", table.caption] if table.caption else []))


def _linked(field: TableField) -> str:
    return f"[{field.text}]({field.link})" if field.link else field.text


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"
