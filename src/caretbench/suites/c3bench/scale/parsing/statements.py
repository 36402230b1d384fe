"""Statements of a completed file near the answer: positions, kinds, parents. Positions count characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from caretbench.syntax.parser import LINE_END


class CodeStatement(NamedTuple):
    """One statement.

    ``keyword`` is its position without decorators; ``kind`` a kind of block, ``elif`` or ``simple``; ``parent`` the
    index of the enclosing statement (-1: none), and ``branch`` the part of the parent that contains it: ``body``, or
    the name of a clause. ``header_end`` is the end of a compound statement's header, ``body`` the span of its first
    body: from the first to the last statement, or from brace to brace; both are None for simple statements. ``suite``
    is the start of the list of statements that contains it, in languages with braces.
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
    suite: int = -1


class StatementView(NamedTuple):
    """Statements of a completed file that touch the answer, and their parents, in text order."""

    text: str
    parse_ok: bool
    statements: Sequence[CodeStatement]
    without_comments: Callable[[int, int], str]
    """Returns the text between two positions outside of strings, without its comments."""
    ends_line: Callable[[int], bool]
    """Returns whether no bracket, string or statement is open at a position at a line's end."""
    semicolon_ends_statement: bool = True
    """True if a semicolon after a statement belongs to it, without being in its span."""

    def roots(self, start: int, end: int) -> list[CodeStatement]:
        """Return the statements that begin in a span while their parents begin outside of it.

        Statements of a function that an expression in the span contains are none.
        """
        found = self.statements

        def is_inside(one: CodeStatement) -> bool:
            if one.parent < 0:
                return False
            parent = found[one.parent]
            return start <= parent.keyword < end or (parent.kind == "simple" and start <= one.suite < end)

        return [one for one in found if start <= one.keyword < end and not is_inside(one)]


def column_at(text: str, position: int) -> int:
    """Return the number of characters between a position and the start of its line, or a form feed in it."""
    return position - max(text.rfind(mark, 0, position) for mark in "\n\r\f") - 1


def has_blank_line(text: str, span: tuple[int, int]) -> bool:
    """Return whether a span contains a blank line: from line start to line end, or between two of its line ends."""
    lines = LINE_END.split(text[slice(*span)])
    first = int(column_at(text, span[0]) > 0)
    return any(not line.strip() for line in lines[first:-1])


def first_reason(*cases: tuple[object, str]) -> str:
    """Return the text of the first case that is true; empty if none is."""
    return next((text for holds, text in cases if holds), "")
