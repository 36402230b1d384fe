"""Bigram model of the lines of one question, which guesses a choice without understanding it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

_TOKEN = re.compile(r"\w+|[^\w\s]")


SMOOTHING_STRENGTH: Final = 2.0
"""Weight of the lower-order estimate in n-gram smoothing, in observations (``K``)."""


UNSEEN_SHARE: Final = 1e-5
"""Probability of a token that was never counted."""


def tokenize(line: str) -> list[str]:
    """Return words and single punctuation marks of a line, without white space."""
    return _TOKEN.findall(line)


def code_lines(text: str) -> Iterator[str]:
    """Yield the code lines of a rendered patch without diff marks; titles, hunk headers and separators are excluded."""
    for line in text.split("\n"):
        if line[:1] in {"+", "-", " "} and line != "---":
            yield line[1:]


class QuestionNgrams:
    """Bigram model of the lines of one question."""

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
        """Return the natural log probability of each group of lines."""
        return [sum(map(self._log_likelihood, lines)) for lines in texts]

    def _log_likelihood(self, line: str) -> float:
        score = 0.0
        for before, word in _bigrams(line):
            one = (self._words[word] + SMOOTHING_STRENGTH * UNSEEN_SHARE) / (self._total + SMOOTHING_STRENGTH)
            score += math.log(
                (self._pairs[before, word] + SMOOTHING_STRENGTH * one) / (self._heads[before] + SMOOTHING_STRENGTH)
            )
        return score


@lru_cache(maxsize=20_000)
def _bigrams(line: str) -> tuple[tuple[str, str], ...]:
    found = tokenize(line)
    return tuple(zip(("\n", *found), (*found, "\r"), strict=True)) if found else ()


def split_shared_lines(choices: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the lines that all choices share, and the other lines of each choice, without diff marks."""
    counted = [Counter(code_lines(choice)) for choice in choices]
    shared = counted[0].copy()
    for other in counted[1:]:
        shared &= other
    return list(shared.elements()), [list((lines - shared).elements()) for lines in counted]
