"""Accuracy of attacks by single features and by learned attackers on one tier.

None of them reads the question. Learners of the build are cross-validated over repositories, or over five parts of
the changes if there are few repositories; learners from other repositories ship with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from caretbench.files import sha256_text
from caretbench.suites.efcb.build.attacks.feature_contrasts import QuestionContrasts
from caretbench.suites.efcb.build.attacks.learned_attackers import LearnedAttackers
from caretbench.suites.efcb.build.attacks.learners import BoostedTrees, LinearLearner
from caretbench.suites.efcb.build.attacks.line_context import FloatArray
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.floors import choice_credit

_FOLDS: Final = 5
_MIN_REPOSITORIES: Final = 3


class LabelledQuestion(NamedTuple):
    """A question with its correct choice, its contrasts, and its group for cross-validation.

    ``fold_group`` is the set of questions that share their choices, or the change: folds never split it.
    """

    contrasts: QuestionContrasts
    correct: int
    repository: str
    fold_group: str


def feature_accuracies(questions: Sequence[LabelledQuestion]) -> dict[str, float]:
    """Return the accuracy of choosing the highest, and the lowest, value of each feature, by attack name."""
    found: dict[str, float] = {}
    numbers = [question.contrasts.scores_by_choice(question.contrasts.differences) for question in questions]
    for column, name in enumerate(questions[0].contrasts.feature_names):
        for word, sign in (("most", 1), ("least", -1)):
            hits = sum(
                choice_credit((sign * values[:, column]).tolist(), question.correct)
                for values, question in zip(numbers, questions, strict=True)
            )
            found[f"{word} {name}"] = hits / len(questions)
    return found


def learner_accuracies(questions: Sequence[LabelledQuestion], attackers: LearnedAttackers) -> dict[str, float]:
    """Return the accuracy of each learned attacker, by the choice that it ranks first, second, third, last."""
    scores: dict[str, list[FloatArray]] = dict(_own_scores(questions))
    if questions[0].contrasts.feature_names == FEATURE_NAMES:
        scores |= _shipped_scores(questions, attackers)
    found = {}
    for name, by_question in scores.items():
        spread = [
            question.contrasts.scores_by_choice(values[:, None])[:, 0]
            for question, values in zip(questions, by_question, strict=True)
        ]
        for rank, word in enumerate(("first", "second", "third", "last")):
            hits = sum(
                choice_credit(_at_rank(values, rank), question.correct)
                for values, question in zip(spread, questions, strict=True)
            )
            found[f"{name}, {word}"] = hits / len(questions)
    return found


def _at_rank(values: FloatArray, rank: int) -> list[float]:
    rounded = np.round(values, 5)
    wanted = np.sort(rounded)[::-1][min(rank, len(rounded) - 1)]
    return [float(value == wanted) for value in rounded]


def _shipped_scores(
    questions: Sequence[LabelledQuestion], attackers: LearnedAttackers
) -> Mapping[str, list[FloatArray]]:
    differences = [question.contrasts.differences for question in questions]
    rounds = [attackers.scores(rows) for rows in differences]
    judged = [attackers.evaluation_round.scores(rows) for rows in differences]
    return {
        f"learned elsewhere, {kind} {name}": [values[:, column] for values in found]
        for column, kind in enumerate(("linear", "trees"))
        for name, found in (("selecting", rounds), ("judging", judged))
    }


def _own_scores(questions: Sequence[LabelledQuestion]) -> Iterator[tuple[str, list[FloatArray]]]:
    told = [question.contrasts.differences_for(question.correct) for question in questions]
    asked = [question.contrasts.differences for question in questions]
    weights = [np.ones(len(rows)) for rows in told]
    folds = _folds([question.repository for question in questions], [question.fold_group for question in questions])
    for name in _LEARNERS:
        yield f"learned here, {name}", _score_folds(name, told, weights, asked, folds)


def cross_validated_scores(
    differences: Sequence[FloatArray], repositories: Sequence[str], changes: Sequence[str]
) -> list[FloatArray]:
    """Return scores by learners that were trained on other repositories or changes.

    ``differences`` are those of each change, the correct variant minus the wrong one. The result has the same rows,
    with a column for each learner.
    """
    # A question uses two edits of a change, however many the change has.
    weights = [np.full(len(rows), 2 / max(len(rows), 2)) for rows in differences]
    folds = _folds(repositories, changes)
    columns = [_score_folds(name, differences, weights, differences, folds) for name in _LEARNERS]
    return [np.stack(together, axis=1) for together in zip(*columns, strict=True)]


def _score_folds(
    name: str,
    training: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    evaluated: Sequence[FloatArray],
    folds: Sequence[str],
) -> list[FloatArray]:
    """Return the scores of ``evaluated`` by learners that were trained on the other folds."""
    scores: list[FloatArray] = [np.zeros(len(rows)) for rows in evaluated]
    for fold in sorted(set(folds)):
        others = [position for position, other in enumerate(folds) if other != fold]
        if not others:
            continue
        rows = np.concatenate([training[position] for position in others])
        importance = np.concatenate([weights[position] for position in others])
        learner = _LEARNERS[name](rows, importance)
        for position, other in enumerate(folds):
            if other == fold and len(evaluated[position]):
                scores[position] = learner.score(evaluated[position])
    return scores


_LEARNERS: Final[Mapping[str, Callable[[FloatArray, FloatArray], LinearLearner | BoostedTrees]]] = {
    "linear": partial(LinearLearner.fit, penalty=10.0),
    "trees": partial(BoostedTrees.fit, tree_count=60, depth=2),
}


def _folds(repositories: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return repositories as folds if there are several; else parts of the changes that keep groups together."""
    if len(set(repositories)) >= _MIN_REPOSITORIES:
        return list(repositories)
    return [str(int(sha256_text("fold", fold_group), 16) % _FOLDS) for fold_group in groups]
