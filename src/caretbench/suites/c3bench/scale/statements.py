"""Statements of a completed file near the answer: positions, kinds, parents. Positions count characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class CodeStatement(NamedTuple):
    """One statement.

    ``keyword`` is its position without decorators; ``kind`` a kind of block, ``elif`` or ``simple``; ``parent`` the
    index of the enclosing statement (-1: none), and ``branch`` the part of the parent that contains it: ``body``, or
    the name of a clause. ``header_end`` is the end of a compound statement's header, ``body`` the span of its first
    body: from the first to the last statement, or from brace to brace; both are None for simple statements.
    """

    start: int
    end: int
    keyword: int
    kind: str
    parent: int
    branch: str
    asynchronous: bool = False
    header_end: int | None = None
    body: tuple[int, int] | None = None


class StatementView(NamedTuple):
    """Statements of a completed file that touch the answer, and their parents, in text order."""

    text: str
    parse_ok: bool
    statements: Sequence[CodeStatement]
    without_comments: Callable[[int, int], str]
    """Returns the text between two positions outside of strings, without its comments."""
    ends_line: Callable[[int], bool]
    """Returns whether no bracket, string or statement is open at a position at a line's end."""

    def roots(self, start: int, end: int) -> list[CodeStatement]:
        """Return the statements that begin in a span while their parents begin outside of it."""
        found = self.statements
        return [
            one
            for one in found
            if start <= one.keyword < end and not (one.parent >= 0 and start <= found[one.parent].keyword < end)
        ]


def column_at(text: str, position: int) -> int:
    """Return the number of characters between a position and the start of its line."""
    return position - max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) - 1


def first_reason(*cases: tuple[object, str]) -> str:
    """Return the text of the first case that is true; empty if none is."""
    return next((text for holds, text in cases if holds), "")
