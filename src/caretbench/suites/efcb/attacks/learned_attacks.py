"""Attacks on one tier by features and by learned attackers: a number for each choice of each question.

None of them reads what a question asks. Learners here are cross-validated over repositories, or over five parts of
the changes where there are few repositories; what is learned elsewhere ships with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from caretbench.files import sha256_text
from caretbench.suites.efcb.attacks.attackers import Attackers
from caretbench.suites.efcb.attacks.contrasts import Contrasted
from caretbench.suites.efcb.attacks.floors import credit
from caretbench.suites.efcb.attacks.learners import Linear, Trees
from caretbench.suites.efcb.attacks.line_context import Numbers
from caretbench.suites.efcb.attacks.line_features import FEATURES

FEWEST: Final = 100
"""Questions of a tier below which nothing can be said of it: it is too small to test."""
_FOLDS: Final = 5
_FEWEST_REPOSITORIES: Final = 3


class Tested(NamedTuple):
    """A question for learned attackers: its contrasts, the right choice, and what must not be parted by folds.

    ``group`` names the set of questions that share their choices, or the change.
    """

    contrasted: Contrasted
    correct: int
    repository: str
    group: str


def by_feature(questions: Sequence[Tested]) -> dict[str, float]:
    """Return the share that each feature finds, by the highest and by the lowest number."""
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


def by_learning(questions: Sequence[Tested], attackers: Attackers) -> dict[str, float]:
    """Return the share that learned attackers find, by the choice that they rank first, second, third and last."""
    scores: dict[str, list[Numbers]] = dict(_cross_validated(questions))
    if questions[0].contrasted.names == FEATURES:
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
    told = [question.contrasted.told(question.correct) for question in questions]
    asked = [question.contrasted.differences for question in questions]
    weights = [np.ones(len(rows)) for rows in told]
    folds = _folds(
        [question.repository for question in questions], [question.group for question in questions]
    )
    for name in _LEARNERS:
        yield f"learned here, {name}", _by_folds(name, told, weights, asked, folds)


def scores_here(
    differences: Sequence[Numbers], repositories: Sequence[str], changes: Sequence[str]
) -> list[Numbers]:
    """What learners say that saw other repositories or changes: rows as in each of ``differences``, a column each.

    ``differences`` are those of each change, the right reading less the wrong one.
    """
    # A question takes two edits of a change, however many it has.
    weights = [np.full(len(rows), 2 / max(len(rows), 2)) for rows in differences]
    folds = _folds(repositories, changes)
    columns = [_by_folds(name, differences, weights, differences, folds) for name in _LEARNERS]
    return [np.stack(together, axis=1) for together in zip(*columns, strict=True)]


def _by_folds(
    name: str,
    learned_from: Sequence[Numbers],
    weights: Sequence[Numbers],
    asked: Sequence[Numbers],
    folds: Sequence[str],
) -> list[Numbers]:
    """Return the scores of each entry of ``asked`` by a learner that saw the entries of the other folds."""
    scores: list[Numbers] = [np.zeros(len(rows)) for rows in asked]
    for fold in sorted(set(folds)):
        others = [place for place, other in enumerate(folds) if other != fold]
        if not others:
            continue
        rows = np.concatenate([learned_from[place] for place in others])
        importance = np.concatenate([weights[place] for place in others])
        learner = _LEARNERS[name](rows, importance)
        for place, other in enumerate(folds):
            if other == fold and len(asked[place]):
                scores[place] = learner.score(asked[place])
    return scores


_LEARNERS: Final[Mapping[str, Callable[[Numbers, Numbers], Linear | Trees]]] = {
    "linear": partial(Linear.learn, penalty=10.0),
    "trees": partial(Trees.learn, trees=60, depth=2),
}


def _folds(repositories: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Repositories, where there are several; else parts of the changes that keep questions of one set together."""
    if len(set(repositories)) >= _FEWEST_REPOSITORIES:
        return list(repositories)
    return [str(int(sha256_text("fold", group), 16) % _FOLDS) for group in groups]
