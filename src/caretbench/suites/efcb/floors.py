"""Floors of the choice tasks: accuracy of word and n-gram attacks that read the question.

A floor is no defect of a build: a model's headline is its skill above the best floor over the same questions. Floors
are computed from problems only, so a report computes them for any run.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.choices import query_text
from caretbench.suites.efcb.lexical_similarity import (
    PatchCorpus,
    Scorer,
    file_titles,
    title_path_overlap,
    word_distances,
)

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
        # Only lines that differ are scored. In naive edits this alone finds .65 (two words exchanged) to .77 (three
        # exchanged names) of 150 questions of tailscale.
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


class AttackQuestion(NamedTuple):
    """A choice problem as attacks see it, without labels and the correct choice."""

    query: str
    choices: tuple[str, ...]
    repository: str
    cluster: str


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
    return (AttackQuestion(query_text(problem), problem.shown.choices, repository, problem.cluster), check.correct)


def choice_credit(scores: Sequence[float], correct: int) -> float:
    """Return 1 if the correct choice has the highest score, its share if several tie for it, else 0.

    Scores are rounded to nine digits first, so that results are the same on every machine.
    """
    # Sums of floats differ in their last digits between machines, and an exact comparison would break ties there.
    rounded = [float(f"{value:.{_DIGITS}g}") for value in scores]
    tied = [value == max(rounded) for value in rounded]
    return tied[correct] / sum(tied)


def score_by_length(problem: AttackQuestion) -> Sequence[float]:
    """Score choices by their number of characters."""
    return [len(choice) for choice in problem.choices]


def score_by_shortness(problem: AttackQuestion) -> Sequence[float]:
    """Score choices by their number of characters, fewest first."""
    return [-len(choice) for choice in problem.choices]


def score_by_consensus(problem: AttackQuestion) -> Sequence[float]:
    """Score choices by their word distance to the others, smallest first."""
    return [-float(distance) for distance in word_distances(problem.choices).sum(axis=1)]


def text_attacks(problems: Iterable[AttackQuestion]) -> dict[str, Attack]:
    """Return attacks by words of the question; word frequencies are those of a repository's choices."""
    positions: dict[str, dict[str, int]] = defaultdict(dict)
    for problem in problems:
        for choice in problem.choices:
            positions[problem.repository].setdefault(choice, len(positions[problem.repository]))
    corpora = cache(lambda repository: PatchCorpus(list(positions[repository])))

    def by_words(scorer: Scorer) -> Attack:
        def attack(problem: AttackQuestion) -> Sequence[float]:
            corpus = corpora(problem.repository)
            found = corpus.tfidf(problem.query) if scorer == "tfidf" else corpus.bm25(problem.query)
            return [float(found[positions[problem.repository][choice]]) for choice in problem.choices]

        return attack

    def paths(problem: AttackQuestion) -> Sequence[float]:
        title = problem.query.partition("\n")[0]
        return [title_path_overlap(title, file_titles(choice)) for choice in problem.choices]

    return {"TF-IDF": by_words("tfidf"), "BM25": by_words("bm25"), "paths": paths, "question n-grams": _question_ngrams}


def _question_ngrams(problem: AttackQuestion) -> Sequence[float]:
    """Return scores by bigrams of the question's text and of the lines that all choices share."""
    shared, apart = split_shared_lines(problem.choices)
    return QuestionNgrams([*shared, *problem.query.split("\n")]).log_likelihoods(apart)


def floor_credits(problems: Iterable[Problem]) -> dict[str, dict[str, float]]:
    """Return the credit of each floor for each choice problem, by attack and problem id."""
    asked = {
        problem.id: found
        # Word frequencies are those of a repository's choices, in the order in which they are met.
        for problem in sorted(problems, key=lambda problem: problem.id)
        if (found := to_attack_question(problem)) is not None
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
    return max(floors, key=lambda name: (sum(floors[name].get(one, 0.0) for one in problem_ids), name))
