"""Search for twins of a program among others: by words within a group, 5-grams, renamed 5-grams, runs of tokens."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.validation.duplicates import JACCARD_THRESHOLD, shingles

# With frequencies over the language: over the cell only 306 of 1,800 released instances are found, over the language
# 530.
WORD_COSINE: Final = 0.5
"""TF-IDF cosine of words above which two programs of one group are twins."""
RUN_TOKENS: Final = 60
"""Length of a run of tokens that two programs of one language may not share."""

FORM_JACCARD: Final = 0.4
"""Jaccard index of 5-grams without names from which two programs are twins; two of our 120 have at most 0.103."""
# Short programs of one kind (a loop that sums) have the same form by necessity.
_FEWEST_FORMS: Final = 30
# Beyond, a distance is the same for all: an inserted block would change every later one otherwise.
_FURTHEST: Final = 99

_WORD: Final = re.compile(r"\w\w+")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_IMPORT: Final = re.compile(r"^\s*(?:import|from|#include|using|package|const \w+ = require)\b.*$", re.MULTILINE)


class Twin(NamedTuple):
    """The nearest twin of a program: its name, the way in which it was found, and the similarity."""

    name: str
    kind: str
    similarity: float

    def __str__(self) -> str:
        return f"{self.name} ({self.kind} {self.similarity:.2f})"


class _Program(NamedTuple):
    name: str
    group: str
    words: Counter[str]
    grams: frozenset[int]
    forms: frozenset[int]
    runs: frozenset[int]


class TwinIndex:
    """Index of programs by language, in which twins are searched.

    Two programs are twins if their words have a TF-IDF cosine above :data:`WORD_COSINE` and both are in the same group,
    if the Jaccard index of their token 5-grams is at least that of near-duplicates, if that of their 5-grams without
    names is at least :data:`FORM_JACCARD`, or if they share a run of :data:`RUN_TOKENS` tokens outside imports. A word
    counts 1 + ln of its number, times ln((1 + programs) / programs with it), over the programs of the language in the
    index.
    """

    def __init__(self) -> None:
        self._programs: dict[str, dict[str, _Program]] = defaultdict(dict)
        self._documents: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, name: str, language: str, group: str, text: str) -> None:
        """Add a program, or replace the one of this name."""
        self.remove(name)
        one = _program(name, group, text)
        self._programs[language][name] = one
        self._documents[language].update(one.words.keys())

    def remove(self, name: str) -> None:
        """Remove a program, if it is in the index."""
        for language, programs in self._programs.items():
            one = programs.pop(name, None)
            if one is not None:
                self._documents[language].subtract(one.words.keys())

    def clear(self) -> None:
        """Remove all programs."""
        self._programs.clear()
        self._documents.clear()

    def twin_of(self, name: str, language: str, group: str, text: str, *, related: Sequence[str] = ()) -> Twin | None:
        """Return the nearest twin of a program among the others; None if it has none.

        ``related`` ones share its scenario: the same words or the same form make them no twins.
        """
        one = _program(name, group, text)
        found = self._twins(one, language, frozenset(related))
        return max(found, key=lambda twin: (twin.similarity, twin.name), default=None)

    def _twins(self, one: _Program, language: str, related: frozenset[str]) -> Iterator[Twin]:
        weights = self._weights(one, language)
        for other in self._programs[language].values():
            if other.name == one.name:
                continue
            grams = len(one.grams & other.grams) / len(one.grams | other.grams)
            if grams >= JACCARD_THRESHOLD:
                yield Twin(other.name, "5-grams", grams)
            if one.runs & other.runs:
                yield Twin(other.name, f"a run of {RUN_TOKENS} tokens, 5-grams", grams)
            if other.name in related:
                continue
            form = len(one.forms & other.forms) / len(one.forms | other.forms)
            if form >= FORM_JACCARD and min(len(one.forms), len(other.forms)) >= _FEWEST_FORMS:
                yield Twin(other.name, "5-grams without names", form)
            if one.group == other.group:
                cosine = _cosine(weights, self._weights(other, language))
                if cosine > WORD_COSINE:
                    yield Twin(other.name, "words", cosine)

    def _weights(self, one: _Program, language: str) -> Mapping[str, float]:
        known = self._documents[language]
        size = 1 + len(self._programs[language]) + (one.name not in self._programs[language])
        return {word: (1 + math.log(count)) * math.log(size / max(1, known[word])) for word, count in one.words.items()}


def _program(name: str, group: str, text: str) -> _Program:
    # Two programs that use the same libraries share long runs of imports.
    tokens = _TOKEN.findall(_IMPORT.sub("", text))
    runs = frozenset(hash(tuple(tokens[start : start + RUN_TOKENS])) for start in range(len(tokens) - RUN_TOKENS + 1))
    return _Program(name, group, Counter(_WORD.findall(text.lower())), shingles(text), _forms(tokens), runs)


def _forms(tokens: Sequence[str]) -> frozenset[int]:
    """Return the hashes of all 5-grams of tokens in which each word is the distance to its last occurrence.

    A program and a copy with other names have the same (parameterized matching; Baker 1997).
    """
    last: dict[str, int] = {}
    encoded: list[str | int] = []
    for index, token in enumerate(tokens):
        if token.isidentifier() or token.isalnum():
            encoded.append(min(index - last.get(token, index), _FURTHEST))
            last[token] = index
        else:
            encoded.append(token)
    return frozenset(hash(tuple(encoded[start : start + 5])) for start in range(max(1, len(encoded) - 4)))


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    product = math.fsum(weight * other.get(word, 0.0) for word, weight in one.items())
    norms = math.sqrt(math.fsum(w * w for w in one.values()) * math.fsum(w * w for w in other.values()))
    return product / norms if norms else 0.0
