"""Search for repeated text, token by token, independent of its layout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy
from numpy.typing import NDArray

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_BETWEEN: Final = "\x1f"
_GRAM: Final = 16
"""So many tokens are looked up at a time in a text that has an index."""
_FEW: Final = 4
"""Where a gram stands at so many places, no rarer one is looked for."""
_SCANS: Final = 40
"""An index costs about as much as so many times reading the text."""


def split_tokens(text: str) -> list[str]:
    """Words and single signs, without blanks."""
    return _TOKEN.findall(text)


class TokenSearch:
    """A text in which others are looked for by their tokens.

    The first few times it is read from begin to end; then it gets an index, so that looking up all blocks of a file
    takes time in proportion to the file and not to its square.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._scanned = 0

    @cached_property
    def _bounds(self) -> NDArray[numpy.int64]:
        """Where every token begins and ends."""
        flat = (bound for found in _TOKEN.finditer(self.text) for bound in found.span())
        return numpy.fromiter(flat, numpy.int64).reshape(-1, 2)

    @cached_property
    def _joined(self) -> str:
        return _BETWEEN + _BETWEEN.join(split_tokens(self.text)) + _BETWEEN

    @cached_property
    def _places(self) -> NDArray[numpy.int64]:
        """Where every token's separator stands in the joined text."""
        lengths = self._bounds[:, 1] - self._bounds[:, 0] + 1
        places: NDArray[numpy.int64] = numpy.cumsum(lengths) - lengths
        return places

    @cached_property
    def _grams(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Hashes of all grams, sorted, and the number of the first token of each: those of equal ones ascend."""
        words: dict[str, str] = {}
        tokens = [words.setdefault(token, token) for token in split_tokens(self.text)]
        count = max(0, len(tokens) - _GRAM + 1)
        hashes = numpy.fromiter((_hash(tokens, n) for n in range(count)), numpy.int64, count)
        order = numpy.argsort(hashes, kind="stable")
        return hashes[order], order

    def find(self, tokens: list[str]) -> Iterator[tuple[int, int]]:
        """Where these tokens stand one after the other: characters from the first's begin to the last's end."""
        if not tokens:
            return
        firsts = (
            self._indexed(tokens) if len(tokens) >= _GRAM and self._scanned >= _SCANS else self._scan(tokens)
        )
        for first in firsts:
            yield int(self._bounds[first, 0]), int(self._bounds[first + len(tokens) - 1, 1])

    def _scan(self, tokens: list[str]) -> Iterator[int]:
        """Yield the numbers of the first tokens of what is found, by reading the text."""
        self._scanned += 1
        wanted = _wanted(tokens)
        position = self._joined.find(wanted)
        while position >= 0:
            yield int(numpy.searchsorted(self._places, position))
            position = self._joined.find(wanted, position + 1)

    def _indexed(self, tokens: list[str]) -> Iterator[int]:
        """Yield the same by the index: places of a gram of the tokens that is rare are looked at."""
        hashes, order = self._grams
        last = len(tokens) - _GRAM
        rarest: tuple[int, int, int, int] | None = None
        for offset in (*range(0, last, _GRAM), last):
            wanted = _hash(tokens, offset)
            left, right = (int(numpy.searchsorted(hashes, wanted, side)) for side in ("left", "right"))
            if rarest is None or right - left < rarest[0]:
                rarest = right - left, offset, left, right
            if right - left <= _FEW:
                break
        if rarest is None:
            return
        _, offset, left, right = rarest
        text = _wanted(tokens)
        for first in (order[left:right] - offset).tolist():
            if first >= 0 and self._joined.startswith(text, int(self._places[first])):
                yield first


def _hash(tokens: Sequence[str], first: int) -> int:
    return hash(tuple(tokens[first : first + _GRAM]))


def _wanted(tokens: list[str]) -> str:
    return _BETWEEN + _BETWEEN.join(tokens) + _BETWEEN
