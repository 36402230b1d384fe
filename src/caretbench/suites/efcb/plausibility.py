"""How likely a line of code is, by counting: what can be guessed of a choice without understanding it.

Two models of n-grams of words and marks, both line by line: one of the repository (trigrams, and bigrams alone), one
of the question itself, from the lines that its choices share. GMCQ-Hard is balanced on these scores and the leak report
attacks with them: they are the same functions.

Smoothing is Dirichlet's at every order: ``p(c|ab) = (n(abc) + K p(c|b)) / (n(ab) + K)``, down to
an even share for words that were never seen.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

_TOKEN = re.compile(r"\w+|[^\w\s]")
STRENGTH: Final = 2.0
"""How many observations the shorter context is worth."""
UNSEEN: Final = 1e-5
"""The share of a word before anything is counted."""
MOST_TOKENS: Final = 5_000_000
"""Of a repository's sources: what comes after them is not counted, so that memory has a bound."""

SCORERS: Final = ("repository_trigram", "repository_bigram", "in_question", "combined")
"""``combined`` is the sum of the first and the third: the strongest attack of the four on unbalanced questions."""

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_BITS: Final = 20
_MOST_WORDS: Final = (1 << _BITS) - 1

Keys = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def tokens(line: str) -> list[str]:
    """Words, and marks one by one; blanks are no tokens."""
    return _TOKEN.findall(line)


def code_lines(text: str) -> Iterator[str]:
    """The lines of a rendered patch without their marks; titles, headers of hunks and the dashes are left out."""
    for line in text.split("\n"):
        if line[:1] in {"+", "-", " "} and line != "---":
            yield line[1:]


class _Windows(NamedTuple):
    """Every token with the two before it; a line begins with two marks of its beginning and ends with one."""

    first: Keys
    second: Keys
    third: Keys

    @classmethod
    def of(cls, lines: Iterable[Sequence[int]]) -> _Windows:
        flat: list[int] = []
        for line in lines:
            flat += (_BEGIN, _BEGIN, *line, _END)
        array = np.array(flat, dtype=np.int64)
        windows = cls(array[:-2], array[1:-1], array[2:])
        inside = windows.third != _BEGIN
        return cls(*(part[inside] for part in windows))

    @property
    def pairs(self) -> Keys:
        return (self.second << _BITS) | self.third

    @property
    def contexts(self) -> Keys:
        return (self.first << _BITS) | self.second

    @property
    def triples(self) -> Keys:
        return (self.contexts << _BITS) | self.third


class _Table:
    """Counts by key, sorted: eight bytes for a key, and as many for its count."""

    __slots__ = ("_counts", "_keys")

    def __init__(self, keys: Keys) -> None:
        self._keys, self._counts = np.unique(keys, return_counts=True)

    def of(self, keys: Keys) -> Numbers:
        if not len(self._keys):
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._counts[places], 0).astype(np.float64)


class _Counts:
    """How often words, pairs and triples occur."""

    __slots__ = ("contexts", "heads", "pairs", "total", "triples", "words")

    def __init__(self, windows: _Windows) -> None:
        self.words = _Table(windows.third)
        self.heads = _Table(windows.second)
        self.pairs = _Table(windows.pairs)
        self.contexts = _Table(windows.contexts)
        self.triples = _Table(windows.triples)
        self.total = len(windows.third)


class Background:
    """What a repository's code looks like: n-grams of its texts.

    Args:
        texts: Sources, or the lines of patches joined; read once, in their order.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: dict[str, int] = {"": _UNKNOWN, "\n": _BEGIN, "\r": _END}
        self._counts = _Counts(_Windows.of(self._learn(texts)))

    def _learn(self, texts: Iterable[str]) -> Iterator[list[int]]:
        words = self._words
        left = MOST_TOKENS
        for text in texts:
            for line in text.split("\n"):
                found = [
                    words.setdefault(token, len(words)) if len(words) < _MOST_WORDS else words.get(token, 0)
                    for token in tokens(line)
                ]
                if found:
                    left -= len(found)
                    yield found
            if left <= 0:
                return

    def _encoded(self, lines: Iterable[str]) -> list[list[int]]:
        return [[self._words.get(token, _UNKNOWN) for token in tokens(line)] for line in lines]

    def without(self, text: str) -> Without:
        """The same repository without one of its texts: what a question is made from must not answer it."""
        return Without(self, [line for line in text.split("\n") if tokens(line)])

    @property
    def whole(self) -> Without:
        """The repository with all its texts."""
        return Without(self, ())


class Without:
    """A background less some lines of it."""

    def __init__(self, background: Background, lines: Sequence[str]) -> None:
        self._background = background
        self._less = _Counts(_Windows.of(background._encoded(lines))) if lines else None

    def log_likelihoods(self, lines: Sequence[str]) -> tuple[Numbers, Numbers]:
        """The natural logarithm of each line's probability, by trigrams and by bigrams alone."""
        background = self._background
        encoded = background._encoded(lines)
        if not encoded:
            return np.zeros(0), np.zeros(0)
        windows = _Windows.of(encoded)
        counts, less = background._counts, self._less

        def count(name: str, keys: Keys) -> Numbers:
            table: _Table = getattr(counts, name)
            if less is None:
                return table.of(keys)
            own: _Table = getattr(less, name)
            return np.maximum(table.of(keys) - own.of(keys), 0.0)

        total = max(counts.total - (less.total if less else 0), 0)
        one = (count("words", windows.third) + STRENGTH * UNSEEN) / (total + STRENGTH)
        two = (count("pairs", windows.pairs) + STRENGTH * one) / (count("heads", windows.second) + STRENGTH)
        three = (count("triples", windows.triples) + STRENGTH * two) / (
            count("contexts", windows.contexts) + STRENGTH
        )
        starts = np.cumsum([0, *(len(line) + 1 for line in encoded[:-1])])
        return np.add.reduceat(np.log(three), starts), np.add.reduceat(np.log(two), starts)


class InQuestion:
    """Bigrams of the lines of one question."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._heads: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._total = 0
        self._count(lines, 1)

    def _count(self, lines: Iterable[str], times: int) -> None:
        for line in lines:
            for before, word in _bigrams(line):
                self._pairs[before, word] += times
                self._heads[before] += times
                self._words[word] += times
                self._total += times

    def log_likelihoods(self, texts: Iterable[Iterable[str]], left_out: Sequence[str] = ()) -> list[float]:
        """The natural logarithm of the probability of each group of lines, as if ``left_out`` had not been counted."""
        self._count(left_out, -1)
        found = [sum(map(self._log_likelihood, lines)) for lines in texts]
        self._count(left_out, 1)
        return found

    def _log_likelihood(self, line: str) -> float:
        score = 0.0
        for before, word in _bigrams(line):
            one = (self._words[word] + STRENGTH * UNSEEN) / (self._total + STRENGTH)
            score += math.log((self._pairs[before, word] + STRENGTH * one) / (self._heads[before] + STRENGTH))
        return score


@lru_cache(maxsize=20_000)
def _bigrams(line: str) -> tuple[tuple[str, str], ...]:
    found = tokens(line)
    return tuple(zip(("\n", *found), (*found, "\r"), strict=True)) if found else ()


def lines_apart(choices: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The lines that all choices have, and of each choice those that are left; without the marks of a patch."""
    counted = [Counter(code_lines(choice)) for choice in choices]
    shared = counted[0].copy()
    for other in counted[1:]:
        shared &= other
    return list(shared.elements()), [list((lines - shared).elements()) for lines in counted]


def scores(choices: Sequence[str], background: Without) -> Mapping[str, tuple[float, ...]]:
    """How plausible each choice is to each of :data:`SCORERS`: log-likelihoods of the lines that not all share."""
    shared, apart = lines_apart(choices)
    by_three: list[float] = []
    by_two: list[float] = []
    for lines in apart:
        three, two = background.log_likelihoods(lines)
        by_three.append(float(three.sum()))
        by_two.append(float(two.sum()))
    inside = InQuestion(shared).log_likelihoods(apart)
    both = [first + second for first, second in zip(by_three, inside, strict=True)]
    return dict(zip(SCORERS, map(tuple, (by_three, by_two, inside, both)), strict=True))
