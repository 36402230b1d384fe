"""Attacks on one tier by features and by learned attackers: a number for each choice of each question.

None of them reads what a question asks. Learners here are cross-validated over repositories, or over five parts of
the changes where there are few repositories; what is learned elsewhere ships with the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from caretbench.files import sha256_text
from caretbench.suites.efcb.attackers import Attackers
from caretbench.suites.efcb.contrasts import Contrasted
from caretbench.suites.efcb.floors import credit
from caretbench.suites.efcb.learners import Linear, Trees
from caretbench.suites.efcb.line_context import Numbers
from caretbench.suites.efcb.line_features import FEATURES

FEWEST: Final = 100
"""Questions of a tier below which nothing can be said of it: it is too small to test."""
_FOLDS: Final = 5
_FEWEST_REPOSITORIES: Final = 3
_TREES: Final = 60


class Tested(NamedTuple):
    """A question for learned attackers: its contrasts, the right choice, and what must not be parted by folds.

    ``group`` names the set of questions that share their choices, or the change.
    """

    contrasted: Contrasted
    correct: int
    repository: str
    group: str


def by_feature(questions: Sequence[Tested]) -> dict[str, float]:
    """The share that each feature finds, by the highest and by the lowest number."""
    found: dict[str, float] = {}
    numbers = [question.contrasted.spread(question.contrasted.differences) for question in questions]
    for column, name in enumerate(questions[0].contrasted.names):
        for word, sign in (("most", 1), ("least", -1)):
            hits = sum(
                credit((sign * values[:, column]).tolist(), question.correct)
                for values, question in zip(numbers, questions, strict=True)
            )
            found[f"{word} {name}"] = hits / len(questions)
    return found


def by_learning(questions: Sequence[Tested], attackers: Attackers | None) -> dict[str, float]:
    """The share that learned attackers find, by the choice that they rank first, second, third and last."""
    scores: dict[str, list[Numbers]] = dict(_cross_validated(questions))
    if attackers is not None and questions[0].contrasted.names == FEATURES:
        scores |= _elsewhere(questions, attackers)
    found = {}
    for name, by_question in scores.items():
        spread = [
            question.contrasted.spread(values[:, None])[:, 0]
            for question, values in zip(questions, by_question, strict=True)
        ]
        for rank, word in enumerate(("first", "second", "third", "last")):
            hits = sum(
                credit(_at_rank(values, rank), question.correct)
                for values, question in zip(spread, questions, strict=True)
            )
            found[f"{name}, {word}"] = hits / len(questions)
    return found


def _at_rank(values: Numbers, rank: int) -> list[float]:
    rounded = np.round(values, 5)
    wanted = np.sort(rounded)[::-1][min(rank, len(rounded) - 1)]
    return [float(value == wanted) for value in rounded]


def _elsewhere(questions: Sequence[Tested], attackers: Attackers) -> Mapping[str, list[Numbers]]:
    differences = [question.contrasted.differences for question in questions]
    rounds = [attackers.scores(rows) for rows in differences]
    judged = [attackers.judge.scores(rows) for rows in differences]
    return {
        f"learned elsewhere, {kind} {name}": [values[:, column] for values in found]
        for column, kind in enumerate(("linear", "trees"))
        for name, found in (("selecting", rounds), ("judging", judged))
    }


def _cross_validated(questions: Sequence[Tested]) -> Iterator[tuple[str, list[Numbers]]]:
    folds = _folds(questions)
    for name in ("linear", "trees"):
        scores: list[Numbers] = [np.zeros(len(question.contrasted.contrasts)) for question in questions]
        for fold in sorted(set(folds)):
            rows = [
                question.contrasted.told(question.correct)
                for question, other in zip(questions, folds, strict=True)
                if other != fold
            ]
            if not rows:
                continue
            learned = np.concatenate(rows)
            weights = np.ones(len(learned))
            learner = (
                Linear.learn(learned, weights, penalty=10.0)
                if name == "linear"
                else Trees.learn(learned, weights, trees=_TREES, depth=2)
            )
            for place, question in enumerate(questions):
                if folds[place] == fold:
                    scores[place] = learner.score(question.contrasted.differences)
        yield f"learned here, {name}", scores


def _folds(questions: Sequence[Tested]) -> list[str]:
    """Repositories, where there are several; else parts of the changes that keep questions of one set together."""
    repositories = [question.repository for question in questions]
    if len(set(repositories)) >= _FEWEST_REPOSITORIES:
        return repositories
    return [str(int(sha256_text("fold", question.group), 16) % _FOLDS) for question in questions]
