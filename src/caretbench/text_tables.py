"""Texts of tables and messages: aligned columns, p values, counted nouns."""

from __future__ import annotations

from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]], header: Sequence[str]) -> list[str]:
    """Return a table as lines of text with aligned columns, the header first."""
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def p_text(value: float) -> str:
    """Return a p value with three digits: ``0.012``, ``< 0.001``."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless there is one."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
