"""Search for repeated code by tokens, and for parts of files similar to the code at the caret by BM25."""

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
"""Number of tokens of an n-gram in the index."""
_FEW: Final = 4
"""An n-gram with at most this many occurrences is rare enough."""
_SCANS: Final = 40
"""Number of scans after which the index is built; it costs about as much."""


def split_tokens(text: str) -> list[str]:
    """Return the tokens of a text: words and single punctuation marks."""
    return _TOKEN.findall(text)


class TokenSearch:
    """Search index of a text for sequences of tokens.

    The first searches scan the text; then an index is built, so that searching all blocks of a file takes linear time.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._scanned = 0

    @cached_property
    def _bounds(self) -> NDArray[numpy.int64]:
        """Start and end of every token, in characters: an array of shape ``(tokens, 2)``."""
        flat = (bound for match in _TOKEN.finditer(self.text) for bound in match.span())
        return numpy.fromiter(flat, numpy.int64).reshape(-1, 2)

    @cached_property
    def _joined(self) -> str:
        return _BETWEEN + _BETWEEN.join(split_tokens(self.text)) + _BETWEEN

    @cached_property
    def _places(self) -> NDArray[numpy.int64]:
        """Position of the separator before every token in the joined text."""
        lengths = self._bounds[:, 1] - self._bounds[:, 0] + 1
        places: NDArray[numpy.int64] = numpy.cumsum(lengths) - lengths
        return places

    @cached_property
    def _grams(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Sorted hashes of all n-grams, and the number of the first token of each, ascending among equal hashes."""
        words: dict[str, str] = {}
        tokens = [words.setdefault(token, token) for token in split_tokens(self.text)]
        count = max(0, len(tokens) - _GRAM + 1)
        hashes = numpy.fromiter((_hash(tokens, n) for n in range(count)), numpy.int64, count)
        order = numpy.argsort(hashes, kind="stable")
        return hashes[order], order

    def find(self, tokens: list[str]) -> Iterator[tuple[int, int]]:
        """Yield start and end, in characters, of each occurrence of a sequence of tokens."""
        if not tokens:
            return
        firsts = self._indexed(tokens) if len(tokens) >= _GRAM and self._scanned >= _SCANS else self._scan(tokens)
        for first in firsts:
            yield int(self._bounds[first, 0]), int(self._bounds[first + len(tokens) - 1, 1])

    def _scan(self, tokens: list[str]) -> Iterator[int]:
        """Yield the number of the first token of each occurrence, by scanning the text."""
        self._scanned += 1
        text = _joined(tokens)
        position = self._joined.find(text)
        while position >= 0:
            yield int(numpy.searchsorted(self._places, position))
            position = self._joined.find(text, position + 1)

    def _indexed(self, tokens: list[str]) -> Iterator[int]:
        """Yield the same by the index, from the occurrences of the rarest n-gram."""
        hashes, order = self._grams
        last = len(tokens) - _GRAM
        rarest: tuple[int, int, int, int] | None = None
        for offset in (*range(0, last, _GRAM), last):
            value = _hash(tokens, offset)
            left, right = (int(numpy.searchsorted(hashes, value, side)) for side in ("left", "right"))
            if rarest is None or right - left < rarest[0]:
                rarest = right - left, offset, left, right
            if right - left <= _FEW:
                break
        if rarest is None:
            return
        _, offset, left, right = rarest
        text = _joined(tokens)
        for first in (order[left:right] - offset).tolist():
            if first >= 0 and self._joined.startswith(text, int(self._places[first])):
                yield first


def _hash(tokens: Sequence[str], first: int) -> int:
    return hash(tuple(tokens[first : first + _GRAM]))


def _joined(tokens: list[str]) -> str:
    return _BETWEEN + _BETWEEN.join(tokens) + _BETWEEN


LINES_PER_PART: Final = 20
_WORD: Final = re.compile(r"[A-Za-z]+|\d+")
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

NumberedLines = tuple[tuple[int, str], ...]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; ``camelCase`` and ``snake_case`` are split."""
    return [piece.lower() for word in _WORD.findall(text) for piece in _PIECE.findall(word)]


def most_similar_parts(
    query: str, files: Sequence[tuple[str, NumberedLines]], count: int
) -> list[tuple[str, NumberedLines]]:
    """Return up to ``count`` parts of 20 lines with their paths, by rising BM25 score (all positive)."""
    parts = [
        (path, lines[start : start + LINES_PER_PART])
        for path, lines in files
        for start in range(0, len(lines), LINES_PER_PART)
    ]
    ranked = rank_by_similarity(query, ["\n".join(text for _, text in lines) for _, lines in parts])
    return [parts[number] for number in reversed(ranked[:count])]


def rank_by_similarity(query: str, texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts with a positive BM25 score, by falling score; equal scores in their order."""
    import bm25s

    corpus = [words(text) for text in texts]
    filled = [n for n, words_of_text in enumerate(corpus) if words_of_text]
    vocabulary = {word for n in filled for word in corpus[n]}
    query_words = [word for word in words(query) if word in vocabulary]
    if not query_words:
        return []
    index = bm25s.BM25()
    index.index([corpus[n] for n in filled], show_progress=False)
    scores = index.get_scores(query_words)
    ranked = sorted(range(len(filled)), key=lambda n: (-float(scores[n]), n))
    return [filled[n] for n in ranked if scores[n] > 0]
