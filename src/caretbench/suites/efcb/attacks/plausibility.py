"""Likelihood of a line of code by n-gram counts: a way to guess a choice without understanding it.

Two models of n-grams of words and marks, both line by line: one of the repository (two, three and four words), one of
the question itself, from the lines that its choices share. GMCQ-Hard is balanced on these scores, and the leak report
attacks with them: they are the same functions.

Smoothing is Dirichlet's at every order: ``p(c|ab) = (n(abc) + K p(c|b)) / (n(ab) + K)``, down to
an even share for words that were never seen.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.rendering import render

_TOKEN = re.compile(r"\w+|[^\w\s]")
STRENGTH: Final = 2.0
"""How many observations the shorter context is worth."""
UNSEEN: Final = 1e-5
"""The share of a word before anything is counted."""
MOST_TOKENS: Final = 6_000_000
"""Of a repository's sources: what comes after them is not counted, so that memory has a bound."""

ORDERS: Final = (4, 3, 2)
"""How many words the repository's models look at, the last one included."""
SCORERS: Final = ("repository_fourgram", "repository_trigram", "repository_bigram", "in_question", "combined")
"""``combined`` is the sum of ``repository_trigram`` and ``in_question``."""

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_MULTIPLIER: Final = np.int64(1_099_511_628_211)  # prime: sums of different words rarely meet
_LONGEST: Final = max(ORDERS)

Keys = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def tokens(line: str) -> list[str]:
    """Words, and marks one by one; blanks are no tokens."""
    return _TOKEN.findall(line)


def code_lines(text: str) -> Iterator[str]:
    """Yield the lines of a rendered patch without their marks; titles, headers of hunks and the dashes are left out."""
    for line in text.split("\n"):
        if line[:1] in {"+", "-", " "} and line != "---":
            yield line[1:]


class _Windows:
    """Every token with those before it; a line begins with marks of its beginning and ends with one of its end."""

    def __init__(self, lines: Iterable[Sequence[int]]) -> None:
        flat: list[int] = []
        for line in lines:
            flat += (*(_BEGIN,) * (_LONGEST - 1), *line, _END)
        array = np.array(flat, dtype=np.int64)
        columns = [array[start : len(array) - _LONGEST + 1 + start] for start in range(_LONGEST)]
        inside = columns[-1] != _BEGIN
        self._columns = [column[inside] for column in columns]

    def __len__(self) -> int:
        return len(self._columns[-1])

    def grams(self, order: int) -> Keys:
        """Return a number for each token and the ``order - 1`` before it."""
        return _hashed(self._columns[-order:])

    def contexts(self, order: int) -> Keys:
        """Return a number for the ``order - 1`` tokens before each."""
        return _hashed(self._columns[-order:-1])


def _hashed(columns: Sequence[Keys]) -> Keys:
    keys = np.zeros_like(columns[0])
    for column in columns:
        keys = (keys ^ column) * _MULTIPLIER
    return keys


class _Table:
    """Counts by key, sorted: eight bytes for a key, and as many for its count."""

    def __init__(self, keys: Keys) -> None:
        self._keys, self._counts = np.unique(keys, return_counts=True)

    def of(self, keys: Keys) -> Numbers:
        if not len(self._keys):
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._counts[places], 0).astype(np.float64)


class _Counts:
    """How often words occur, and words with those before them."""

    def __init__(self, windows: _Windows) -> None:
        self.grams = {order: _Table(windows.grams(order)) for order in range(1, _LONGEST + 1)}
        self.contexts = {order: _Table(windows.contexts(order)) for order in range(2, _LONGEST + 1)}
        self.total = len(windows)


class BackgroundCode:
    """N-grams of a repository's texts, or of the lines of its patches; these are read once, in their order."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._read: set[int] = set()
        self._words: dict[str, int] = {"": _UNKNOWN, "\n": _BEGIN, "\r": _END}
        self._counts = _Counts(_Windows(self._learn(texts)))

    def _learn(self, texts: Iterable[str]) -> Iterator[list[int]]:
        words = self._words
        left = MOST_TOKENS
        for text in texts:
            for line in text.split("\n"):
                found = [words.setdefault(token, len(words)) for token in tokens(line)]
                if found:
                    left -= len(found)
                    yield found
            self._read.add(hash(text))
            if left <= 0:
                return

    def _encoded(self, lines: Iterable[str]) -> list[list[int]]:
        return [[self._words.get(token, _UNKNOWN) for token in tokens(line)] for line in lines]

    def without(self, *texts: str) -> Without:
        """Return the same repository without some of its texts: what a question is made from must not answer it.

        A text that was not read, because there were too many before it, takes nothing away.
        """
        read = sorted({text for text in texts if hash(text) in self._read})
        return Without(self, [line for text in read for line in text.split("\n") if tokens(line)])


class Without:
    """A background less some lines of it."""

    def __init__(self, background: BackgroundCode, lines: Sequence[str]) -> None:
        self._background = background
        self._less = _Counts(_Windows(background._encoded(lines))) if lines else None

    def log_likelihoods(self, lines: Sequence[str]) -> Numbers:
        """The natural logarithm of each line's probability: a row for each of :data:`ORDERS`, a column a line."""
        encoded = self._background._encoded(lines)
        if not encoded:
            return np.zeros((len(ORDERS), 0))
        windows = _Windows(encoded)
        counts, less = self._background._counts, self._less

        def seen(kind: Literal["grams", "contexts"], order: int) -> Numbers:
            keys = getattr(windows, kind)(order)
            found: Numbers = getattr(counts, kind)[order].of(keys)
            return found if less is None else np.maximum(found - getattr(less, kind)[order].of(keys), 0.0)

        total = max(counts.total - (less.total if less else 0), 0)
        shares = {1: (seen("grams", 1) + STRENGTH * UNSEEN) / (total + STRENGTH)}
        for order in range(2, _LONGEST + 1):
            shares[order] = (seen("grams", order) + STRENGTH * shares[order - 1]) / (
                seen("contexts", order) + STRENGTH
            )
        starts = np.cumsum([0, *(len(line) + 1 for line in encoded[:-1])])
        return np.stack([np.add.reduceat(np.log(shares[order]), starts) for order in ORDERS])


class Backgrounds:
    """Models of repositories by their changes, filtered or not, each once; few are kept at a time: ask by repository.

    The balance of GMCQ-Hard and the leak report ask the same of the same texts.
    """

    def __init__(self, records: Iterable[PullRequest]) -> None:
        self._records: dict[str, dict[str, PullRequest]] = defaultdict(dict)
        for pull in records:
            self._records[pull.repo][pull.merge_sha] = pull
        self._of = lru_cache(maxsize=2)(self._learnt)

    def without(self, repo: str, *pulls: PullRequest) -> Without:
        """Return a repository, without what some changes say. One that is not known looks like nothing."""
        return self._of(repo).without(*map(_text, pulls))

    def _learnt(self, repo: str) -> BackgroundCode:
        members = self._records.get(repo, {})
        return BackgroundCode(_text(members[sha]) for sha in sorted(members))


def _text(pull: PullRequest) -> str:
    return "\n".join(code_lines(render(pull).text))


class InQuestion:
    """Bigrams of the lines of one question."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._heads: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        for line in lines:
            for before, word in _bigrams(line):
                self._pairs[before, word] += 1
                self._heads[before] += 1
                self._words[word] += 1
        self._total = self._words.total()

    def log_likelihoods(self, texts: Iterable[Iterable[str]]) -> list[float]:
        """Return the natural logarithm of the probability of each group of lines."""
        return [sum(map(self._log_likelihood, lines)) for lines in texts]

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
    """Return the lines that all choices have, and of each choice those that are left; without the marks of a patch."""
    counted = [Counter(code_lines(choice)) for choice in choices]
    shared = counted[0].copy()
    for other in counted[1:]:
        shared &= other
    return list(shared.elements()), [list((lines - shared).elements()) for lines in counted]


def scores(choices: Sequence[str], background: Without) -> Mapping[str, tuple[float, ...]]:
    """How plausible each choice is to each of :data:`SCORERS`: log-likelihoods of the lines that not all share."""
    shared, apart = lines_apart(choices)
    repository = np.stack([background.log_likelihoods(lines).sum(axis=1) for lines in apart], axis=1)
    inside = InQuestion(shared).log_likelihoods(apart)
    combined = [one + other for one, other in zip(repository[ORDERS.index(3)].tolist(), inside, strict=True)]
    return dict(zip(SCORERS, map(tuple, (*repository.tolist(), inside, combined)), strict=True))
