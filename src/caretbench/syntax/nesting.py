"""Nested spans: which are around a place, found in logarithmic time."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence


class Nesting:
    """Spans that nest or are disjoint. Indices are those of the sequence that was given."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._order = sorted(range(len(spans)), key=lambda index: (spans[index][0], -spans[index][1], index))
        self._starts = [spans[index][0] for index in self._order]
        self._ends = [spans[index][1] for index in self._order]
        self._parents: list[int] = []
        stack: list[int] = []
        for number, end in enumerate(self._ends):
            while stack and self._ends[stack[-1]] < end:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def around(self, start: int, end: int) -> Iterator[int]:
        """The spans that hold bytes ``start`` to ``end``, innermost first."""
        number = bisect.bisect_right(self._starts, start) - 1
        while number >= 0:
            if self._ends[number] >= end:
                yield self._order[number]
            number = self._parents[number]

    def innermost(self, start: int, end: int) -> int | None:
        """The smallest span that holds bytes ``start`` to ``end``, or None."""
        return next(self.around(start, end), None)
