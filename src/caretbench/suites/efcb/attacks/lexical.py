"""Lexical similarity of a text and patches: TF-IDF cosine, BM25, and words of the title in paths.

What needs no understanding is measured here, so that it can be kept out of questions and subtracted from scores.
Identifiers are parted at humps and underscores (``maxPortRange``: max, port, range). Results do not depend on the order
in which patches are given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Hamming, Levenshtein
from scipy.sparse import csc_array, csr_array

Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Scorer = Literal["tfidf", "bm25"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_END_OF_FILE = "\n---\n"
_SURROGATES: Final = range(0xD800, 0xE000)
_BM25_K1: Final = 1.5
_BM25_B: Final = 0.75


def words(text: str) -> list[str]:
    """Words in lower case; those of ``camelCase`` and ``snake_case`` apart, numbers apart from letters."""
    return [word.lower() for word in _WORD.findall(text)]


class Corpus:
    """Patches of one repository, as counts of words: what is rare in it counts more.

    Scores are arrays with one number for each patch, in the order given.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(words(text)) for text in texts]
        vocabulary = sorted(set().union(*counts)) if counts else []
        self._columns: Mapping[str, int] = {word: column for column, word in enumerate(vocabulary)}
        starts = np.cumsum([0, *map(len, counts)])
        columns = np.fromiter(
            (self._columns[word] for count in counts for word in count), np.int64, int(starts[-1])
        )
        values = np.fromiter((number for count in counts for number in count.values()), float, len(columns))
        self._counts = csr_array((values, columns, starts), shape=(len(texts), len(vocabulary)))
        self._counts.sort_indices()
        self._holders = np.bincount(columns, minlength=len(vocabulary)).astype(float)

    def __len__(self) -> int:
        return int(self._counts.shape[0])

    @cached_property
    def _rarity(self) -> Scores:
        """Smoothed inverse document frequency, ``ln((1 + n) / (1 + df)) + 1``, of every word."""
        return np.log((1 + len(self)) / (1 + self._holders)) + 1

    @cached_property
    def _vectors(self) -> csr_array:
        """``(1 + ln tf) × idf``, each patch scaled to length 1."""
        vectors = self._counts.copy()
        vectors.data = (1 + np.log(vectors.data)) * self._rarity[vectors.indices]
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        vectors.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(vectors.indptr))
        return vectors

    @cached_property
    def _weights(self) -> csr_array:
        """What a patch gets for each time that a word is asked for, under BM25."""
        rarity = np.log1p((len(self) - self._holders + 0.5) / (self._holders + 0.5))
        lengths = np.asarray(self._counts.sum(axis=1)).ravel()
        mean = lengths.mean() if lengths.any() else 1.0
        damping = np.repeat(_BM25_K1 * (1 - _BM25_B + _BM25_B * lengths / mean), np.diff(self._counts.indptr))
        weights = self._counts.copy()
        weights.data = rarity[weights.indices] * weights.data / (weights.data + damping)
        return weights

    @cached_property
    def _vectors_by_word(self) -> csc_array:
        return self._vectors.tocsc()

    @cached_property
    def _weights_by_word(self) -> csc_array:
        return self._weights.tocsc()

    def tfidf(self, query: str) -> Scores:
        """Return the cosine of each patch with a text, by TF-IDF; words that no patch holds are left out."""
        asked, length = self._weighted(query)
        scores = self._added(self._vectors_by_word, asked)
        return scores / length if length else scores

    def bm25(self, query: str) -> Scores:
        """BM25 of each patch for a text (Robertson; Lucene's form, k1 = 1.5, b = 0.75)."""
        return self._added(self._weights_by_word, self._asked(query))

    def likeness_between(self, left: Places, right: Places) -> Scores:
        """Return the cosines of some of the patches with others, by TF-IDF."""
        return _products(self._vectors[left], self._vectors[right])

    def asked_by(self, queries: Sequence[str], scorer: Scorer) -> csr_array:
        """Texts as TF-IDF vectors of length 1 or, for BM25, as counts of words; a row for each."""
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for row, query in enumerate(queries):
            asked: Mapping[int, float] = self._asked(query)
            if scorer == "tfidf":
                weights, length = self._weighted(query)
                asked = {column: weight / length for column, weight in weights.items()}
            rows += [row] * len(asked)
            columns += asked
            values += asked.values()
        return csr_array((values, (rows, columns)), shape=(len(queries), self._counts.shape[1]))

    def scores_between(self, asked: csr_array, left: Places, right: Places, scorer: Scorer) -> Scores:
        """Scores that some of the texts, as :meth:`asked_by` gives them, give some of the patches."""
        return _products(asked[left], self._by(scorer)[right])

    def scores_of_own(self, asked: csr_array, scorer: Scorer) -> Scores:
        """Return the score that each text gives the patch of the same place."""
        return np.asarray(asked.multiply(self._by(scorer)).sum(axis=1)).ravel()

    def _by(self, scorer: Scorer) -> csr_array:
        return self._vectors if scorer == "tfidf" else self._weights

    def _asked(self, query: str) -> dict[int, int]:
        """Return how often each word stands in the query, by its column."""
        known = Counter(word for word in words(query) if word in self._columns)
        return dict(sorted((self._columns[word], number) for word, number in known.items()))

    def _weighted(self, query: str) -> tuple[dict[int, float], float]:
        """Return the TF-IDF weight of each word of the query, by its column, and the length of the vector."""
        asked = {
            column: float(1 + np.log(number)) * float(self._rarity[column])
            for column, number in self._asked(query).items()
        }
        return asked, float(np.sqrt(sum(weight**2 for weight in asked.values())))

    def _added(self, by_word: csc_array, asked: Mapping[int, float]) -> Scores:
        """What the words that are asked for give each patch, one word after the other: few patches hold most words."""
        scores = np.zeros(len(self))
        for column, weight in asked.items():
            held = slice(by_word.indptr[column], by_word.indptr[column + 1])
            scores[by_word.indices[held]] += weight * by_word.data[held]
        return scores


def word_distances(texts: Sequence[str]) -> Scores:
    """Return how many words each two texts are apart, as a square; words are what stands between blanks.

    Texts with as many words are compared place by place (an edit distance would find ways around a swap), others by
    the fewest words to put in, take out or replace.
    """
    letters = _Letters()
    spelled = ["".join(map(letters.__getitem__, text.split())) for text in texts]
    square = np.zeros((len(texts), len(texts)))
    for (row, one), (column, other) in combinations(enumerate(spelled), 2):
        distance = (Hamming if len(one) == len(other) else Levenshtein).distance(one, other)
        square[row, column] = square[column, row] = distance
    return square


def _products(left: csr_array, right: csr_array) -> Scores:
    """Return the product of each row with each other row."""
    found: Scores = (left @ right.T).toarray()
    return found


class _Letters(dict[str, str]):
    """A character for each word that was met, no half of a surrogate pair: comparing texts of these is quick."""

    def __missing__(self, word: str) -> str:
        number = len(self)
        self[word] = letter = chr(number if number < _SURROGATES.start else number + len(_SURROGATES))
        return letter


def shown_paths(text: str) -> list[str]:
    """Return the titles of the files of a patch as it is shown; both paths of a renamed one stand in its title."""
    blocks = text.split(_END_OF_FILE)
    return [
        title for title in (block.split("\n", 1)[0] for block in blocks) if title and title[0] not in "+-@\\ "
    ]


def path_overlap(title: str, paths: Iterable[str]) -> float:
    """The share of the different words of a title that stand in any of the paths; 0 for a title without words."""
    asked = set(words(title))
    return len(asked & {word for path in paths for word in words(path)}) / len(asked) if asked else 0.0
