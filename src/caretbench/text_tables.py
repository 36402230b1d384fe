"""Texts of tables and messages: aligned columns, p values, counted nouns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class TextTable(NamedTuple):
    """Table of texts with a title, for the terminal and for pages."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def align_columns(rows: Sequence[Sequence[str]], header: Sequence[str]) -> list[str]:
    """Return a table as lines of text with aligned columns, the header first."""
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def stacked_rows(rows: Sequence[Sequence[str]], header: Sequence[str], width: int) -> Iterator[str]:
    """Yield the rows of a table one below the other: the first field, then each other field with its head.

    Lines have at most ``width`` characters, where words allow it. Fields without text are omitted.
    """
    for row in rows:
        for number, (head, text) in enumerate(zip(header, row, strict=True)):
            if text.strip():
                yield stacked_field(head if number else "", text, width)


def stacked_field(head: str, text: str, width: int) -> str:
    """Return one field of a stacked row, wrapped: indented behind its head, or the first one without a head."""
    indent = "  " if head else ""
    whole = f"{head}: {text}" if head else text
    # A path such as runs/july/python-only that is cut, at its hyphen too, can neither be opened nor copied.
    return textwrap.fill(
        whole, width, initial_indent=indent, subsequent_indent=f"{indent}  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def p_text(value: float, tests: int | None = None) -> str:
    """Return a p value with three digits, and the number of tests that it is for: ``0.012``, ``< 0.001 (28)``."""
    return ("< 0.001" if value < 0.001 else f"{value:.3f}") + ("" if tests is None else f" ({tests})")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless there is one."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
