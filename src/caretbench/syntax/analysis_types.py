"""Immutable types of an analysis. Positions count bytes of the file; lines count from 1."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

ScopeKind = Literal["file", "namespace", "class", "interface", "function", "method", "lambda", "comprehension", "block"]

Binding = Literal[
    "local", "parameter", "loop_variable", "comprehension", "field", "global", "function", "method", "class",
    "interface", "module", "builtin", "unresolved",
]  # fmt: skip


FUNCTION_SCOPES: Final = frozenset({"function", "method", "lambda"})
NAMED_FUNCTION_SCOPES: Final = frozenset({"function", "method"})
CLASS_SCOPES: Final = frozenset({"class", "interface"})
"""Kinds of scopes."""


CaretBoundary = Literal["new_line", "declaration", "call", "operator", "word", "line"]
"""Text before the caret: a new line, a declaration's header, an opened call, an operator, a part of a word, or
another text of the line."""


class Span(NamedTuple):
    """Range of bytes from ``start`` up to, but not including, ``end``."""

    start: int
    end: int

    def contains(self, other: tuple[int, int]) -> bool:
        """Return whether the other span is inside this one or equal to it."""
        return self.start <= other[0] and other[1] <= self.end


class Scope(NamedTuple):
    """Scope of names, such as a class or function, with its whole declaration; ``name`` may be empty."""

    kind: ScopeKind
    name: str
    span: Span
    is_test: bool = False


class SpanIndex:
    """Index of spans that are nested or disjoint. Results are indices of the sequence of spans."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.spans = spans
        # Of spans with one start the longer first, so that it becomes the parent.
        self._order = sorted(range(len(spans)), key=lambda index: (spans[index][0], -spans[index][1], index))
        self._starts = [spans[index][0] for index in self._order]
        self._ends = [spans[index][1] for index in self._order]
        self._parents: list[int] = []
        stack: list[int] = []
        for number, end in enumerate(self._ends):
            # Spans are nested or disjoint: what ends before this one ends contains nothing that follows.
            while stack and self._ends[stack[-1]] < end:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def enclosing(self, start: int, end: int) -> Iterator[int]:
        """Yield the spans that contain bytes ``start`` to ``end``, innermost first."""
        number = bisect.bisect_right(self._starts, start) - 1
        while number >= 0:
            if self._ends[number] >= end:
                yield self._order[number]
            number = self._parents[number]

    def innermost(self, start: int, end: int) -> int | None:
        """Return the smallest span that contains bytes ``start`` to ``end``, or None."""
        return next(self.enclosing(start, end), None)
