"""Lexical similarity of texts and patches (TF-IDF cosine, n-grams), and the floors of choice tasks.

These scores need no understanding: questions are balanced on them, and reports subtract them. Identifiers are split
at capitals and underscores (``maxPortRange``: max, port, range). Results do not depend on the order of patches.

A floor is the accuracy of a word or n-gram attack that reads the question, and no defect of a build: a model's headline
is its skill above the best floor over the same questions. Floors are computed from problems only, for any run.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, reduce
from itertools import combinations
from operator import and_
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Hamming, Levenshtein

from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.choices import query_text

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Scores = npt.NDArray[np.float64]

# With words split like this TF-IDF finds .741 of the released questions by the description and .906 by title and
# description: whole identifiers seldom occur in prose.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_END_OF_FILE = "\n---\n"


def split_words(text: str) -> list[str]:
    """Return words in lower case; ``camelCase`` and ``snake_case`` are split, as are numbers from letters."""
    return [word.lower() for word in _WORD.findall(text)]


class PatchCorpus:
    """Word counts of one repository's patches, for TF-IDF.

    Scores are arrays with one number for each patch, in the order of the patches.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(split_words(text)) for text in texts]
        holders = Counter(word for count in counts for word in count)
        self._columns: Mapping[str, int] = {word: column for column, word in enumerate(sorted(holders))}
        held = np.array([holders[word] for word in self._columns], dtype=float)
        # Smoothed inverse document frequency of every word: ``ln((1 + n) / (1 + df)) + 1``.
        self._rarity: Scores = np.log((1 + len(texts)) / (1 + held)) + 1
        self._vectors = self._weighted(counts)

    def _weighted(self, counts: Sequence[Counter[str]]) -> csr_array:
        """Return ``(1 + ln tf) × idf`` of the known words of each text, normalised to length 1."""
        from scipy.sparse import csr_array  # 0.3 s of CPU: only who compares words needs it

        known = [{self._columns[word]: count[word] for word in count if word in self._columns} for count in counts]
        starts = np.cumsum([0, *map(len, known)])
        columns = np.fromiter((column for by_column in known for column in by_column), np.int64, int(starts[-1]))
        values = np.fromiter((number for by_column in known for number in by_column.values()), float, len(columns))
        weights = (1 + np.log(values)) * self._rarity[columns]
        vectors = csr_array((weights, columns, starts), shape=(len(known), len(self._columns)))
        # Products of vectors add up in the order of the columns. Sorted, the sums are the same for every order of the
        # words in a patch.
        vectors.sort_indices()
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        vectors.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(vectors.indptr))
        return vectors

    @cached_property
    def _by_word(self) -> csr_array:
        return self._vectors.T.tocsr()

    def query_vectors(self, queries: Sequence[str]) -> csr_array:
        """Return texts as TF-IDF vectors of length 1, one row each; words that no patch has are ignored."""
        return self._weighted([Counter(split_words(query)) for query in queries])

    def tfidf(self, query: str) -> Scores:
        """Return the TF-IDF cosine of each patch with a text."""
        scores: Scores = (self.query_vectors([query]) @ self._by_word).toarray()[0]
        return scores


def word_distances(texts: Sequence[str]) -> Scores:
    """Return a square of word distances between texts; words are separated by white space.

    Texts with the same number of words are compared word by word (an edit distance would find shortcuts around a swap),
    others by Levenshtein distance.
    """
    words = [text.split() for text in texts]
    square = np.zeros((len(texts), len(texts)))
    for (row, one), (column, other) in combinations(enumerate(words), 2):
        # An edit distance finds ways around an exchange of two words (one inserted here, one dropped there), so that
        # another choice becomes the centre than by counting places.
        distance = (Hamming if len(one) == len(other) else Levenshtein).distance(one, other)
        square[row, column] = square[column, row] = distance
    return square


def file_titles(text: str) -> list[str]:
    """Return the titles of a rendered patch's files; the title of a renamed file has both paths."""
    blocks = text.split(_END_OF_FILE)
    # A removed line `--` is `---` in a patch, like the line between two files: what follows it is no title, but lines
    # of a hunk.
    return [title for title in (block.split("\n", 1)[0] for block in blocks) if title and title[0] not in "+-@\\ "]


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
        # The line between two files begins like a removed line.
        if line[:1] in {"+", "-", " "} and line != "---":
            yield line[1:]


@lru_cache(maxsize=20_000)
def _bigrams(line: str) -> tuple[tuple[str, str], ...]:
    tokens = tokenize(line)
    return tuple(zip(("\n", *tokens), (*tokens, "\r"), strict=True)) if tokens else ()


class AttackQuestion(NamedTuple):
    """A choice problem as attacks see it, without labels and the correct choice."""

    query: str
    choices: tuple[str, ...]
    repository: str


Attack = Callable[[AttackQuestion], Sequence[float]]
"""A function that returns a score for each choice; the highest is its answer."""

_DIGITS: Final = 9
# Three standard errors of guessing are .13 with 100 questions, so that an attack that is right in .38 is noticed; with
# 30 it could be right in .48 and pass.
MIN_QUESTIONS: Final = 100
"""Minimum number of questions of a tier that can be tested."""


def to_attack_question(problem: Problem) -> tuple[AttackQuestion, int] | None:
    """Return a choice problem for attacks, and the index of its correct choice; None for other problems."""
    check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
    if check is None or not isinstance(problem.shown, Question):
        return None
    repository = str(problem.labels.get("repository", ""))
    return AttackQuestion(query_text(problem), problem.shown.choices, repository), check.correct


def choice_credit(scores: Sequence[float], correct: int) -> float:
    """Return 1 if the correct choice has the highest score, its share if several tie for it, else 0.

    Scores are rounded to nine digits first, so that results are the same on every machine.
    """
    # Sums of floats differ in their last digits between machines, and an exact comparison would break ties there.
    rounded = [float(f"{value:.{_DIGITS}g}") for value in scores]
    tied = [value == max(rounded) for value in rounded]
    return tied[correct] / sum(tied)


SHAPE_SCORES: Final[Mapping[str, Attack]] = {
    "longest": lambda problem: [len(choice) for choice in problem.choices],
    "shortest": lambda problem: [-len(choice) for choice in problem.choices],
    # The smallest word distance to the others finds .993 of the released GMCQ-Hard.
    "consensus": lambda problem: [-float(distance) for distance in word_distances(problem.choices).sum(axis=1)],
}
"""Attacks by length and consensus of the choices, by name."""


def text_attacks(problems: Iterable[AttackQuestion]) -> dict[str, Attack]:
    """Return attacks by words of the question; word frequencies are those of a repository's choices."""
    positions: dict[str, dict[str, int]] = defaultdict(dict)
    for problem in problems:
        for choice in problem.choices:
            positions[problem.repository].setdefault(choice, len(positions[problem.repository]))
    corpora = cache(lambda repository: PatchCorpus(list(positions[repository])))

    def by_words(problem: AttackQuestion) -> Sequence[float]:
        scores = corpora(problem.repository).tfidf(problem.query)
        return [float(scores[positions[problem.repository][choice]]) for choice in problem.choices]

    return {"TF-IDF": by_words, "question n-grams": _question_ngrams}


def _question_ngrams(problem: AttackQuestion) -> Sequence[float]:
    """Return the log probability of each choice by bigrams of the question's text and of the lines that all share."""
    counted = [Counter(code_lines(choice)) for choice in problem.choices]
    shared = reduce(and_, counted)
    pairs = Counter(pair for line in (*shared.elements(), *problem.query.split("\n")) for pair in _bigrams(line))
    heads, words = Counter[str](), Counter[str]()
    for (before, word), number in pairs.items():
        heads[before] += number
        words[word] += number
    total = words.total()

    def log_likelihood(line: str) -> float:
        score = 0.0
        for before, word in _bigrams(line):
            probability = (words[word] + SMOOTHING_STRENGTH * UNSEEN_SHARE) / (total + SMOOTHING_STRENGTH)
            score += math.log(
                (pairs[before, word] + SMOOTHING_STRENGTH * probability) / (heads[before] + SMOOTHING_STRENGTH)
            )
        return score

    # Only lines that differ are scored. In naive edits this alone finds .65 (two words exchanged) to .77 (three
    # exchanged names) of 150 questions of tailscale.
    return [sum(map(log_likelihood, (lines - shared).elements())) for lines in counted]


def floor_credits(problems: Iterable[Problem]) -> dict[str, dict[str, float]]:
    """Return the credit of each floor for each choice problem, by attack and problem id."""
    asked = {
        problem.id: question
        # Word frequencies are those of a repository's choices, in the order in which they are met.
        for problem in sorted(problems, key=lambda problem: problem.id)
        if (question := to_attack_question(problem)) is not None
    }
    attacks = text_attacks(problem for problem, _ in asked.values())
    return {
        name: {identity: choice_credit(attack(problem), correct) for identity, (problem, correct) in asked.items()}
        for name, attack in attacks.items()
    }


def best_floor(floors: Mapping[str, Mapping[str, float]], problem_ids: Sequence[str]) -> str | None:
    """Return the attack with the highest accuracy on these problems; None without problems."""
    if not problem_ids:
        return None
    return max(floors, key=lambda name: (sum(floors[name].get(problem, 0.0) for problem in problem_ids), name))
