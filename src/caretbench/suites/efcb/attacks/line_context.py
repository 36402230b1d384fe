"""Counts over the lines of one rendered patch, less the lines in which its choices differ.

What an attacker on GMCQ-Hard knows of a question: the lines that all choices share, by token, name, pair and place.
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

from caretbench.suites.efcb.attacks.lexical import words
from caretbench.suites.efcb.attacks.plausibility import tokens

Numbers = npt.NDArray[np.float64]

_NAME: Final = re.compile(r"[^\W\d]\w*")
_WORD: Final = re.compile(r"[^\W\d]\w*|\d+")
_CHARACTERS: Final = 4
_MOST_CHARACTERS: Final = 24_000
"""Of a patch: what zlib is given as known text."""


class Read(NamedTuple):
    """A line of code, read: its tokens, its names with their places among the tokens, and runs of characters."""

    text: str
    tokens: tuple[str, ...]
    names: tuple[tuple[int, str], ...]
    runs: tuple[str, ...]

    @property
    def grams(self) -> Iterable[tuple[str, Hashable]]:
        """What is counted, by kind."""
        marks = ("\n", *self.tokens, "\r")
        for token in self.tokens:
            yield "token", token
        for index in range(len(marks) - 1):
            yield "pair", marks[index : index + 2]
        for index in range(len(marks) - 2):
            yield "three", marks[index : index + 3]
            yield "skip", (marks[index], marks[index + 2])
        for run in self.runs:
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

    def marked_grams(self, mark: str) -> Iterable[tuple[str, Hashable]]:
        """What is counted apart for lines of each mark."""
        for index in range(len(self.tokens) - 1):
            yield f"pair {mark}", self.tokens[index : index + 2]
        for index in range(len(self.tokens) - 2):
            yield f"three {mark}", self.tokens[index : index + 3]


@lru_cache(maxsize=60_000)
def read(text: str) -> Read:
    """Return a line without its mark, read."""
    found = tuple(tokens(text))
    names = tuple((index, token) for index, token in enumerate(found) if _NAME.fullmatch(token))
    even = " ".join(text.split())
    runs = tuple(even[start : start + _CHARACTERS] for start in range(max(len(even) - _CHARACTERS + 1, 0)))
    return Read(text, found, names, runs)


@lru_cache(maxsize=60_000)
def template(text: str) -> str:
    """A line without its names, its numbers and the blanks around it: ``a.b(1)`` and ``c.d(2)`` have one template."""
    return _WORD.sub("x", text.strip())


@lru_cache(maxsize=60_000)
def parts(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case."""
    return frozenset(words(name))


class LineContext:
    """All lines of a rendered patch, marks included, with what occurs in them.

    ``counts`` has how often each gram occurs; ``mentions`` and ``templates`` have the lines of each name and template.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.reads: dict[int, Read] = {
            place: read(line[1:])
            for place, line in enumerate(lines)
            if line[:1] in {"+", "-", " "} and line != "---"
        }
        self.places = np.array(sorted(self.reads), dtype=np.int64)
        self._texts = [" ".join(self.reads[int(place)].tokens) for place in self.places]
        self.marks = np.array([lines[place][0] for place in self.places])
        self.counts: Counter[tuple[str, Hashable]] = Counter()
        self.mentions: dict[str, list[int]] = {}
        self.templates: dict[str, list[int]] = {}
        for place, one in self.reads.items():
            self.counts.update(one.grams)
            self.counts.update(one.marked_grams(lines[place][0]))
            self.templates.setdefault(template(one.text), []).append(place)
            for name in sorted({name for _, name in one.names}):
                self.mentions.setdefault(name, []).append(place)
        self.total = sum(len(one.tokens) for one in self.reads.values())
        self.hunk: Sequence[int] = np.cumsum([line.startswith("@@") for line in lines]).tolist()
        self._in_hunk: dict[int, list[int]] = {}
        for place in self.reads:
            self._in_hunk.setdefault(self.hunk[place], []).append(place)

    def without(self, places: Collection[int]) -> Known:
        """Return the context less some lines."""
        return Known(self, frozenset(places))

    def hunk_lines(self, place: int) -> Sequence[int]:
        """Return the lines of the hunk of a line, in order."""
        return self._in_hunk.get(self.hunk[place], ())

    def header(self, place: int) -> str:
        """What the header of the hunk of a line says, after its numbers."""
        return self.lines[self.hunk.index(self.hunk[place])].rpartition("@@")[2]

    def likeness(self, texts: Sequence[str]) -> Numbers:
        """Return how like each text is each line, from 0 to 1, by characters; a column for each of ``places``."""
        if not texts or not self._texts:
            return np.zeros((len(texts), len(self._texts)))
        return cdist(
            texts, self._texts, scorer=Indel.normalized_similarity, dtype=np.float32, workers=1
        ).astype(np.float64)


class Known:
    """A context less some lines: what is known where choices differ in these."""

    def __init__(self, context: LineContext, left_out: frozenset[int]) -> None:
        self.context = context
        self.left_out = left_out
        self._less: Counter[tuple[str, Hashable]] = Counter()
        for place in left_out:
            if place in context.reads:
                self._less.update(context.reads[place].grams)
                self._less.update(context.reads[place].marked_grams(context.lines[place][0]))
        self.kept = ~np.isin(context.places, sorted(left_out))

    def count(self, kind: str, gram: Hashable) -> int:
        """Return how often something occurs in the lines that are known."""
        return self.context.counts.get((kind, gram), 0) - self._less.get((kind, gram), 0)

    def mentions(self, name: str) -> list[int]:
        """Return the known lines that have a name."""
        return [place for place in self.context.mentions.get(name, ()) if place not in self.left_out]

    def at(self, place: int) -> Read | None:
        """Return the line at a place, where it is code and known."""
        return None if place in self.left_out else self.context.reads.get(place)

    def of_template(self, text: str, place: int) -> list[Read]:
        """Return the known lines of one template, but for the line at ``place``."""
        return [
            self.context.reads[other]
            for other in self.context.templates.get(text, ())
            if other != place and other not in self.left_out
        ]

    def in_hunk(self, place: int) -> list[tuple[str, Read]]:
        """Return the known lines of the hunk of a line, with their marks."""
        return [
            (self.context.lines[other][0], self.context.reads[other])
            for other in self.context.hunk_lines(place)
            if other not in self.left_out
        ]

    def before_in_hunk(self, place: int) -> list[Read]:
        """Return the known lines before a line in its hunk, from the nearest."""
        return [
            self.context.reads[other]
            for other in reversed(self.context.hunk_lines(place))
            if other < place and other not in self.left_out
        ]

    @cached_property
    def _squeezing(self) -> zlib._Compress:
        squeezing = zlib.compressobj(6)
        lines = [
            " ".join(self.context.reads[int(place)].tokens)
            for place in self.context.places
            if int(place) not in self.left_out
        ]
        squeezing.compress("\n".join(lines)[-_MOST_CHARACTERS:].encode(errors="replace"))
        return squeezing

    def squeezed(self, text: str) -> int:
        """Bytes that zlib needs for the known lines and one more."""
        squeezing = self._squeezing.copy()
        return len(squeezing.compress(text.encode(errors="replace"))) + len(squeezing.flush())
