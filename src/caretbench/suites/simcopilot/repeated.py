"""Whether a text stands somewhere else again, whatever its layout: compared word by word, sign by sign."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_BETWEEN: Final = "\x1f"


def tokens_of(text: str) -> list[str]:
    """Words and single signs, without blanks."""
    return _TOKEN.findall(text)


class Haystack:
    """A text in which others are looked for by their tokens."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return [found.span() for found in _TOKEN.finditer(self.text)]

    @cached_property
    def _joined(self) -> str:
        words = (self.text[start:end] for start, end in self._spans)
        return _BETWEEN + _BETWEEN.join(words) + _BETWEEN

    @cached_property
    def _places(self) -> list[int]:
        places, position = [], 0
        for start, end in self._spans:
            places.append(position)
            position += end - start + 1
        return places

    def find(self, tokens: list[str]) -> Iterator[tuple[int, int]]:
        """Where these tokens stand one after the other: characters from the first's begin to the last's end."""
        if not tokens:
            return
        wanted = _BETWEEN + _BETWEEN.join(tokens) + _BETWEEN
        position = self._joined.find(wanted)
        while position >= 0:
            first = bisect.bisect_left(self._places, position)
            yield self._spans[first][0], self._spans[first + len(tokens) - 1][1]
            position = self._joined.find(wanted, position + 1)
