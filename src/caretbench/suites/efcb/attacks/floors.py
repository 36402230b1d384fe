"""Floors of the choice tasks: share of questions that words and counts find, by attack.

A floor reads the question or counts in it, and is no fault of a build: a model's headline is its skill above the best
floor over the same questions. Everything here is a function of problems alone, so a report computes it from any run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.attacks.lexical import Corpus, Scorer, path_overlap, shown_paths
from caretbench.suites.efcb.attacks.plausibility import InQuestion, lines_apart
from caretbench.suites.efcb.choices.problem import query_text


class Attacked(NamedTuple):
    """A choice problem as an attack sees it: without labels, and without the right choice."""

    query: str
    choices: tuple[str, ...]
    repository: str
    cluster: str


Attack = Callable[[Attacked], Sequence[float]]
"""A number for each choice; the highest is taken."""

_DIGITS: Final = 9


def attacked(problem: Problem) -> tuple[Attacked, int] | None:
    """Return a choice problem for attacks, and the place of its right choice; None for other problems."""
    check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
    if check is None or not isinstance(problem.shown, Question):
        return None
    repository = str(problem.labels.get("repository", ""))
    return (Attacked(query_text(problem), problem.shown.choices, repository, problem.cluster), check.correct)


def credit(found: Sequence[float], correct: int) -> float:
    """1 where the highest number is the right choice's, its share where several are equally high, else 0.

    Numbers are rounded to nine digits first, so that machines agree.
    """
    rounded = [float(f"{value:.{_DIGITS}g}") for value in found]
    tied = [value == max(rounded) for value in rounded]
    return tied[correct] / sum(tied)


def text_attacks(problems: Iterable[Attacked]) -> dict[str, Attack]:
    """Attacks by words of the question: rare words are learned from all choices of a repository."""
    places: dict[str, dict[str, int]] = defaultdict(dict)
    for problem in problems:
        for choice in problem.choices:
            places[problem.repository].setdefault(choice, len(places[problem.repository]))
    corpora = cache(lambda repository: Corpus(list(places[repository])))

    def by_words(scorer: Scorer) -> Attack:
        def attack(problem: Attacked) -> Sequence[float]:
            corpus = corpora(problem.repository)
            found = corpus.tfidf(problem.query) if scorer == "tfidf" else corpus.bm25(problem.query)
            return [float(found[places[problem.repository][choice]]) for choice in problem.choices]

        return attack

    def paths(problem: Attacked) -> Sequence[float]:
        title = problem.query.partition("\n")[0]
        return [path_overlap(title, shown_paths(choice)) for choice in problem.choices]

    return {"TF-IDF": by_words("tfidf"), "BM25": by_words("bm25"), "paths": paths, "question n-grams": _asked}


def _asked(problem: Attacked) -> Sequence[float]:
    """Bigrams of the question's text and of the lines that all choices share."""
    shared, apart = lines_apart(problem.choices)
    return InQuestion([*shared, *problem.query.split("\n")]).log_likelihoods(apart)


def floor_credits(problems: Iterable[Problem]) -> dict[str, dict[str, float]]:
    """Return the credit of each floor for each choice problem, by attack and problem id."""
    asked = {
        problem.id: found
        for problem in sorted(problems, key=lambda problem: problem.id)
        if (found := attacked(problem)) is not None
    }
    attacks = text_attacks(problem for problem, _ in asked.values())
    return {
        name: {identity: credit(attack(problem), correct) for identity, (problem, correct) in asked.items()}
        for name, attack in attacks.items()
    }


def best_floor(floors: Mapping[str, Mapping[str, float]], identities: Sequence[str]) -> str | None:
    """Return the attack that finds most of some problems; None of none."""
    if not identities:
        return None
    return max(floors, key=lambda name: (sum(floors[name].get(one, 0.0) for one in identities), name))
