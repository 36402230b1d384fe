"""Similarity of a completion to its reference.

Two sets of numbers that are never mixed: :func:`paper_similarity` gives DevBench's, with the semantics of
its released script (first lines only), :func:`similarities` those of the default profile (full texts).
Samples repeat a lot, so the values of a pair of texts are cached.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

Pair = tuple[str | None, str]
"""Completion (None without an answer) and its reference."""

_WORD = re.compile(r"\b\w+\b")
_BLANKS = re.compile(r"\s\s+")
_REMEMBERED = 1 << 14
"""Number of cached results: a few tens of megabytes."""


class PaperSimilarity(NamedTuple):
    """Similarity of one completion under the ``paper`` profile."""

    cosine: float
    """Cosine of the first lines."""
    # The maximum changes the order: DeepSeek-V3.1 is first of nine by any of five (52.17 %), and sixth by the mean.
    line0_match: float
    """1 if the first lines are equal; the paper takes the maximum over samples."""


class Similarity(NamedTuple):
    """Similarities of one completion under the ``default`` profile, each from 0 to 1."""

    cosine: float
    """Cosine of the full texts."""
    line0_match: float
    """1 if the first lines are equal; averaged over samples."""
    exact_match: float
    """1 if the texts are equal but for blanks around them."""
    indel_similarity: float
    levenshtein_similarity: float


def first_line(text: str) -> str:
    """Return the first line that is not blank, without blanks around it. Source: DevBench's released script."""
    return text.strip().split("\n", 1)[0].strip()


def _character_ngrams(text: str) -> Counter[str]:
    text = _BLANKS.sub(" ", text)
    return Counter(text[start : start + size] for size in (1, 2, 3) for start in range(len(text) - size + 1))


@lru_cache(maxsize=_REMEMBERED // 4)
def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _squares(counts: Counter[str]) -> int:
    return sum(count * count for count in counts.values())


def _cosine(first: Counter[str], second: Counter[str]) -> float:
    if not first or not second:
        return 0.0
    if len(first) > len(second):
        first, second = second, first
    product = sum(count * second[key] for key, count in first.items() if key in second)
    # One root of whole numbers: texts with the same counts give exactly 1.
    return product / math.sqrt(_squares(first) * _squares(second))


@lru_cache(maxsize=_REMEMBERED)
def count_cosine(first: str, second: str) -> float:
    """Return the cosine of two texts' word counts, from 0 to 1.

    Words are runs of letters, digits and underscores, lower-cased; where neither text has any, runs of one to
    three characters are counted. Equal texts give 1; an empty one, or one without words next to one with
    words, gives 0.
    Source: DevBench's released script, whose vectoriser this agrees with to 1e-15.
    """
    if first == second:
        return 1.0
    if not first or not second:
        return 0.0
    words = _words(first), _words(second)
    if words[0] or words[1]:
        return _cosine(*words)
    return _cosine(_character_ngrams(first.lower()), _character_ngrams(second.lower()))


def indel_similarity(first: str, second: str) -> float:
    """Return 1 - (insertions + deletions) / (sum of lengths), from 0 to 1; two empty texts give 1.

    The "edit similarity" of papers that use ``fuzz.ratio``.
    """
    return fuzz.ratio(first, second) / 100.0


def levenshtein_similarity(first: str, second: str) -> float:
    """Return 1 - (insertions + deletions + substitutions) / (greater length), from 0 to 1; two empty texts: 1."""
    return Levenshtein.normalized_similarity(first, second)


def paper_similarity(completion: str | None, reference: str) -> PaperSimilarity:
    """Return the similarity of the first lines (cosine and equality), computed as in DevBench's released script.

    No or an empty completion scores 0 in both, even with a blank reference; one of blanks alone is compared
    as an empty line. The script takes the mean cosine over samples, but counts a match if *any* sample
    matches.
    """
    if not completion:
        return PaperSimilarity(0.0, 0.0)
    lines = first_line(completion), first_line(reference)
    return PaperSimilarity(count_cosine(*lines), float(lines[0] == lines[1]))


@lru_cache(maxsize=_REMEMBERED)
def _similarity(completion: str, reference: str) -> Similarity:
    completion, reference = completion.strip(), reference.strip()
    if completion == reference:
        return Similarity(1.0, 1.0, 1.0, 1.0, 1.0)
    return Similarity(
        cosine=count_cosine(completion, reference),
        line0_match=float(first_line(completion) == first_line(reference)),
        exact_match=0.0,
        indel_similarity=indel_similarity(completion, reference),
        levenshtein_similarity=levenshtein_similarity(completion, reference),
    )


def similarities(pairs: Iterable[Pair]) -> list[Similarity]:
    """Return the similarities of each pair of completion and reference; blanks around both are stripped.

    A missing answer (None) scores 0 in all metrics; an empty answer to a blank reference is correct.
    """
    nothing = Similarity(0.0, 0.0, 0.0, 0.0, 0.0)
    return [nothing if completion is None else _similarity(completion, reference) for completion, reference in pairs]
