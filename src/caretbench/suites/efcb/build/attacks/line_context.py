"""Counts over the lines of a rendered patch, without the lines in which the choices differ.

These counts are the knowledge of an attacker on GMCQ-Hard: lines that all choices share, by token, name, pair,
position.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from caretbench.suites.efcb.floors import tokenize
from caretbench.suites.efcb.lexical_similarity import split_words

FloatArray = npt.NDArray[np.float64]

_NAME: Final = re.compile(r"[^\W\d]\w*")
_WORD: Final = re.compile(r"[^\W\d]\w*|\d+")
_NGRAM_CHARACTERS: Final = 4
_MAX_CHARACTERS: Final = 24_000
"""Maximum number of characters of known text for zlib."""


class CodeLine(NamedTuple):
    """A parsed line of code: tokens, names with their token index, and character n-grams."""

    text: str
    tokens: tuple[str, ...]
    names: tuple[tuple[int, str], ...]
    character_ngrams: tuple[str, ...]

    @property
    def ngrams(self) -> Iterable[tuple[str, Hashable]]:
        """All n-grams of the line that are counted, as pairs of kind and n-gram."""
        marks = ("\n", *self.tokens, "\r")
        for token in self.tokens:
            yield "token", token
        for index in range(len(marks) - 1):
            yield "pair", marks[index : index + 2]
        for index in range(len(marks) - 2):
            yield "three", marks[index : index + 3]
            yield "skip", (marks[index], marks[index + 2])
        for run in self.character_ngrams:
            yield "run", run
        names = [name for _, name in self.names]
        for one, other in pairwise(names):
            yield "names", (one, other)
        for name in set(names):
            yield "line", name
            for other in set(names):
                if name < other:
                    yield "together", (name, other)
        yield "whole", self.tokens

    def ngrams_by_mark(self, mark: str) -> Iterable[tuple[str, Hashable]]:
        """Yield the n-grams that are counted separately for lines with this diff mark."""
        for index in range(len(self.tokens) - 1):
            yield f"pair {mark}", self.tokens[index : index + 2]
        for index in range(len(self.tokens) - 2):
            yield f"three {mark}", self.tokens[index : index + 3]


@lru_cache(maxsize=60_000)
def parse_line(text: str) -> CodeLine:
    """Return a parsed line; ``text`` has no diff mark."""
    found = tuple(tokenize(text))
    names = tuple((index, token) for index, token in enumerate(found) if _NAME.fullmatch(token))
    even = " ".join(text.split())
    runs = tuple(even[start : start + _NGRAM_CHARACTERS] for start in range(max(len(even) - _NGRAM_CHARACTERS + 1, 0)))
    return CodeLine(text, found, names, runs)


@lru_cache(maxsize=60_000)
def line_template(text: str) -> str:
    """Return a line without names, numbers and indentation: ``a.b(1)`` and ``c.d(2)`` have the same template."""
    return _WORD.sub("x", text.strip())


@lru_cache(maxsize=60_000)
def name_words(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case."""
    return frozenset(split_words(name))


class LineContext:
    """All lines of a rendered patch, diff marks included, with counts of their contents.

    ``ngram_counts`` counts n-grams; ``lines_by_name`` and ``lines_by_template`` have positions of lines.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.code_lines: dict[int, CodeLine] = {
            position: parse_line(line[1:])
            for position, line in enumerate(lines)
            if line[:1] in {"+", "-", " "} and line != "---"
        }
        self.positions = np.array(sorted(self.code_lines), dtype=np.int64)
        self._texts = [" ".join(self.code_lines[int(position)].tokens) for position in self.positions]
        self.marks = np.array([lines[position][0] for position in self.positions])
        self.ngram_counts: Counter[tuple[str, Hashable]] = Counter()
        self.lines_by_name: dict[str, list[int]] = {}
        self.lines_by_template: dict[str, list[int]] = {}
        for position, one in self.code_lines.items():
            self.ngram_counts.update(one.ngrams)
            self.ngram_counts.update(one.ngrams_by_mark(lines[position][0]))
            self.lines_by_template.setdefault(line_template(one.text), []).append(position)
            for name in sorted({name for _, name in one.names}):
                self.lines_by_name.setdefault(name, []).append(position)
        self.token_count = sum(len(one.tokens) for one in self.code_lines.values())
        self.hunk_numbers: Sequence[int] = np.cumsum([line.startswith("@@") for line in lines]).tolist()
        self._in_hunk: dict[int, list[int]] = {}
        for position in self.code_lines:
            self._in_hunk.setdefault(self.hunk_numbers[position], []).append(position)

    def excluding(self, places: Collection[int]) -> VisibleLines:
        """Return the lines without those at the excluded positions."""
        return VisibleLines(self, frozenset(places))

    def hunk_lines(self, position: int) -> Sequence[int]:
        """Return the lines of a line's hunk, in order."""
        return self._in_hunk.get(self.hunk_numbers[position], ())

    def hunk_header(self, position: int) -> str:
        """Return the text after the line numbers in the header of a line's hunk."""
        return self.lines[self.hunk_numbers.index(self.hunk_numbers[position])].rpartition("@@")[2]

    def similarities(self, texts: Sequence[str]) -> FloatArray:
        """Return the character similarity of each text (row) to each code line (column), 0 to 1."""
        if not texts or not self._texts:
            return np.zeros((len(texts), len(self._texts)))
        return cdist(texts, self._texts, scorer=Indel.normalized_similarity, dtype=np.float32, workers=1).astype(
            np.float64
        )


class VisibleLines:
    """A context without the lines in which the choices differ."""

    def __init__(self, context: LineContext, excluded_lines: frozenset[int]) -> None:
        self.context = context
        self.excluded = excluded_lines
        self._less: Counter[tuple[str, Hashable]] = Counter()
        for position in excluded_lines:
            if position in context.code_lines:
                self._less.update(context.code_lines[position].ngrams)
                self._less.update(context.code_lines[position].ngrams_by_mark(context.lines[position][0]))
        self.is_visible = ~np.isin(context.positions, sorted(excluded_lines))

    def count(self, kind: str, ngram: Hashable) -> int:
        """Return the number of occurrences of an n-gram in the visible lines."""
        return self.context.ngram_counts.get((kind, ngram), 0) - self._less.get((kind, ngram), 0)

    def lines_with_name(self, name: str) -> list[int]:
        """Return the positions of visible lines with a name."""
        return [position for position in self.context.lines_by_name.get(name, ()) if position not in self.excluded]

    def line_at(self, position: int) -> CodeLine | None:
        """Return the line at a position if it is code and visible."""
        return None if position in self.excluded else self.context.code_lines.get(position)

    def lines_with_template(self, text: str, position: int) -> list[CodeLine]:
        """Return the visible lines with a template, except the one at ``position``."""
        return [
            self.context.code_lines[other]
            for other in self.context.lines_by_template.get(text, ())
            if other != position and other not in self.excluded
        ]

    def lines_in_hunk(self, position: int) -> list[tuple[str, CodeLine]]:
        """Return the visible lines of a line's hunk, with their diff marks."""
        return [
            (self.context.lines[other][0], self.context.code_lines[other])
            for other in self.context.hunk_lines(position)
            if other not in self.excluded
        ]

    def preceding_lines(self, position: int) -> list[CodeLine]:
        """Return the visible lines before a line in its hunk, nearest first."""
        return [
            self.context.code_lines[other]
            for other in reversed(self.context.hunk_lines(position))
            if other < position and other not in self.excluded
        ]

    @cached_property
    def _compressor(self) -> zlib._Compress:
        squeezing = zlib.compressobj(6)
        lines = [
            " ".join(self.context.code_lines[int(position)].tokens)
            for position in self.context.positions
            if int(position) not in self.excluded
        ]
        squeezing.compress("\n".join(lines)[-_MAX_CHARACTERS:].encode(errors="replace"))
        return squeezing

    def compressed_size(self, text: str) -> int:
        """Return the number of bytes that zlib needs for the visible lines and one more."""
        squeezing = self._compressor.copy()
        return len(squeezing.compress(text.encode(errors="replace"))) + len(squeezing.flush())
