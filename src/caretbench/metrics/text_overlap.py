"""Overlap of a text with its reference: chrF, ROUGE-L, and the overlap of words.

Each is a number from 0 to 1. Unlike :mod:`caretbench.metrics.similarity`, these separate missing items (recall) from
surplus ones (precision), and a different order of lines or words costs less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

# chrF2 of Popović (2015), with the defaults of sacreBLEU: up to 6 characters, recall counts twice as much.
CHRF_ORDER: Final = 6
CHRF_BETA: Final = 2.0

_BLANKS: Final = re.compile(r"\s+")
_WORD: Final = re.compile(r"[^\W_]+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHORTEST_CONTENT_WORD: Final = 4
_FUNCTION_WORDS: Final = frozenset(
    _WORD.findall(
        """
    about above after again against also although always among another because been before being
    below between both cannot could does doesn doing done down during each either else even ever
    every from further have having hence here however instead into itself just like many more most
    much must need neither never none once only onto other others otherwise over rather same should
    since some still such than that their them themselves then there therefore these they this those
    though through thus under until upon very was were what when where whereas whether which while
    whom whose will with within without would your
    """
    )
)


class Overlap(NamedTuple):
    """Overlap of two bags of items: ``precision`` of the answer, ``recall`` of the reference, ``f1`` of both."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def from_counts(cls, shared: float, answered: float, referred: float) -> Overlap:
        """Return the overlap from numbers of items: common ones, those of the answer, those of the reference."""
        if not answered and not referred:
            return cls(1.0, 1.0, 1.0)
        if not shared:
            return cls(0.0, 0.0, 0.0)
        return cls(shared / answered, shared / referred, 2 * shared / (answered + referred))


def bag_overlap(answer: Iterable[str], reference: Iterable[str]) -> Overlap:
    """Return the overlap of two bags: an item that occurs twice counts twice. Two empty bags give 1 throughout.

    Source: the token F1 of Rajpurkar et al., "SQuAD" (2016), for items of any kind.
    """
    first, second = Counter(answer), Counter(reference)
    return Overlap.from_counts((first & second).total(), first.total(), second.total())


def words(text: str) -> list[str]:
    """Return runs of letters and digits, lower-cased; an underscore separates words."""
    return _WORD.findall(text.lower())


def content_words(text: str) -> list[str]:
    """Return the content words of a text: at least four letters, lower-cased, no English function words.

    Identifiers are split at underscores and capitals (``maxPortRange``: port, range), so that prose and code match.
    """
    words = _LETTERS.findall(_HUMPS.sub(" ", text))
    return [
        word
        for word in (entry.lower() for entry in words)
        if len(word) >= _SHORTEST_CONTENT_WORD and word not in _FUNCTION_WORDS
    ]


def rouge_l(answer: str, reference: str) -> Overlap:
    """Return ROUGE-L of one answer: precision, recall and F1 of the longest common subsequence of words.

    Words as in :func:`words`, no stemming, F with equal weights; two texts without words give 1 throughout.
    Source: Lin, "ROUGE: a package for automatic evaluation of summaries" (2004), section 3.1; on ASCII text it agrees
    with the package ``rouge-score`` (0.1.2, ``rougeL``, no stemmer).
    """
    first, second = words(answer), words(reference)
    return Overlap.from_counts(_longest_common(first, second), len(first), len(second))


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    # Numbers for words: rapidfuzz hashes the elements of a sequence, and one-letter words like characters.
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(word, len(numbers)) for word in sequence] for sequence in (first, second)]
    return LCSseq.similarity(*coded)


@lru_cache(maxsize=64)  # samples of a problem come close together, and patches are long
def _grams(text: str) -> tuple[Counter[str], ...]:
    return tuple(
        Counter(text[start : start + size] for start in range(len(text) - size + 1))
        for size in range(1, CHRF_ORDER + 1)
    )


def chrf(answer: str, reference: str) -> float:
    """Return the chrF of one answer: F-score of the mean precision and recall of character n-grams over n.

    Blanks are ignored. Orders for which one of the texts is too short do not count; recall weighs twice.
    Equal texts give 1, empty ones too; an empty and a non-empty one give 0.
    Source: Popović, "chrF: character n-gram F-score for automatic MT evaluation" (2015); the numbers agree with
    sacreBLEU 2.6 (``chrF2``, sentence level, no smoothing).
    """
    first, second = _BLANKS.sub("", answer), _BLANKS.sub("", reference)
    if first == second:
        return 1.0
    usable = min(CHRF_ORDER, len(first), len(second))
    if not usable:
        return 0.0
    precision = recall = 0.0
    for mine, other in zip(_grams(first)[:usable], _grams(second)[:usable], strict=True):
        shared = (mine & other).total()
        precision += shared / mine.total()
        recall += shared / other.total()
    if not precision + recall:
        return 0.0
    precision, recall = precision / usable, recall / usable
    weight = CHRF_BETA * CHRF_BETA
    return (1 + weight) * precision * recall / (weight * precision + recall)


def dense_text(text: str) -> str:
    """Return a text without blanks and line ends."""
    return "".join(text.split())


def dense_index(text: str, characters: int) -> int:
    """Return the index in a text behind a number of characters that are no blanks."""
    for index, character in enumerate(text):
        if characters == 0:
            return index
        characters -= not character.isspace()
    return len(text)
