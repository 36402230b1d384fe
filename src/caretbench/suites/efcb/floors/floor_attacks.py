"""Floors of the choice tasks: accuracy of word and n-gram attacks that read the question.

A floor is no defect of a build: a model's headline is its skill above the best floor over the same questions. Floors
are computed from problems only, so a report computes them for any run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.choice_positions import query_text
from caretbench.suites.efcb.floors.lexical_similarity import (
    PatchCorpus,
    Scorer,
    file_titles,
    title_path_overlap,
    word_distances,
)
from caretbench.suites.efcb.floors.question_ngrams import QuestionNgrams, split_shared_lines


class AttackQuestion(NamedTuple):
    """A choice problem as attacks see it, without labels and the correct choice."""

    query: str
    choices: tuple[str, ...]
    repository: str
    cluster: str


Attack = Callable[[AttackQuestion], Sequence[float]]
"""A function that returns a score for each choice; the highest is its answer."""

_DIGITS: Final = 9
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
