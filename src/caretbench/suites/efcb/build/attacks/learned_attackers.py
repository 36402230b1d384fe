"""Learned attackers on GMCQ-Hard: rounds of learners, each trained on the edits that earlier rounds kept.

They ship as data (``attackers.json``, which names their training repositories), so that small builds use them, too.
``benchmarks/efcb_learn_attackers.py`` trains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from caretbench.files import DataError
from caretbench.problem import Row
from caretbench.suites.efcb.build.attacks.learners import BoostedTrees, FeatureScale, LinearLearner
from caretbench.suites.efcb.build.attacks.line_context import FloatArray
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES

ATTACKERS_FILE: Final = "attackers.json"
MAX_LOG_ODDS: Final = 12.0
"""Upper limit of the logarithm of odds."""


class RoundParameters(Row):
    """Parameters of both learners of one round, as stored."""

    odds_factor: float
    linear_sizes: tuple[float, ...]
    linear_weights: tuple[float, ...]
    tree_sizes: tuple[float, ...]
    tree_features: tuple[tuple[int, ...], ...]
    tree_cuts: tuple[tuple[float, ...], ...]
    tree_values: tuple[tuple[float, ...], ...]


class AttackersFile(Row):
    """Contents of ``attackers.json``; the last round was trained on the edits that the others kept.

    ``learned_on`` and ``corrected_on`` name the training repositories of the first rounds and of the last two.
    """

    features: tuple[str, ...]
    learned_on: tuple[str, ...] = ()
    corrected_on: tuple[str, ...] = ()
    rounds: tuple[RoundParameters, ...] = Field(min_length=2)


class AttackerRound(NamedTuple):
    """A linear learner, and boosted trees on top of it; ``odds_factor`` calibrates their sum as log odds.

    Learners are overconfident on new repositories, and odds that are too high leave edits that the opposite guess
    finds. ``odds_factor`` is therefore estimated on repositories that the learners were not trained on.
    """

    linear: LinearLearner
    trees: BoostedTrees
    odds_factor: float = 1.0

    def scores(self, differences: FloatArray) -> FloatArray:
        """Return the scores of the linear learner, and of both learners together, one column each."""
        linear = self.linear.score(differences)
        return np.stack((linear, linear + self.trees.score(differences)), axis=1)

    def log_odds(self, differences: FloatArray) -> FloatArray:
        """Return the natural logarithm of the odds that the first variant is correct."""
        return np.round(self.odds_factor * self.scores(differences)[:, 1], 4)

    def keep_probabilities(self, differences: FloatArray) -> FloatArray:
        """Return the probability of each edit to be kept by this round."""
        return np.exp(-np.clip(self.log_odds(differences), 0.0, MAX_LOG_ODDS))

    @classmethod
    def from_parameters(cls, row: RoundParameters) -> AttackerRound:
        """Return the round with stored parameters."""
        return cls(
            LinearLearner(FeatureScale(np.array(row.linear_sizes)), np.array(row.linear_weights)),
            BoostedTrees(
                FeatureScale(np.array(row.tree_sizes)),
                np.array(row.tree_features, dtype=np.int64),
                np.array(row.tree_cuts),
                np.array(row.tree_values),
            ),
            row.odds_factor,
        )


class LearnedAttackers(NamedTuple):
    """Rounds that select edits, and an evaluation round that was trained on the edits they keep."""

    rounds: tuple[AttackerRound, ...]
    evaluation_round: AttackerRound

    def keep_probabilities(self, differences: FloatArray) -> FloatArray:
        """Return the probability of each edit to be kept, so that kept edits reveal nothing.

        If the attackers favour the correct variant by ``p`` to ``1 - p``, the edit is kept with probability
        ``(1 - p) / p``; if they favour the wrong one, always.
        """
        return np.round(keep_probabilities(self.rounds, differences), 4)

    def scores(self, differences: FloatArray) -> FloatArray:
        """Return sums over all rounds: of the linear learners, and of all learners, one column each."""
        return np.round(
            sum((one.odds_factor * one.scores(differences) for one in self.rounds), np.zeros((len(differences), 2))), 4
        )


class EditSample(NamedTuple):
    """Edits of one repository: features of the correct variant minus the wrong one, and each edit's change number."""

    differences: FloatArray
    change_numbers: npt.NDArray[np.int64]


def keep_probabilities(rounds: Sequence[AttackerRound], differences: FloatArray) -> FloatArray:
    """Return the probability of each edit to be kept by all rounds."""
    chances = np.ones(len(differences))
    for one in rounds:
        chances *= one.keep_probabilities(differences)
    return chances


def edit_weights(sample: EditSample, probabilities: FloatArray) -> FloatArray:
    """Return the weight of each edit: its keep probability, divided by the sum over its change if that exceeds 1."""
    sums = np.bincount(sample.change_numbers, probabilities)
    return probabilities / np.maximum(sums, 1.0)[sample.change_numbers]


@lru_cache(maxsize=1)
def load_attackers() -> LearnedAttackers:
    """Return the attackers that ship with the package.

    Raises:
        DataError: they were trained on other features than this code computes.
    """
    text = resources.files("caretbench.suites.efcb.build.attacks").joinpath(ATTACKERS_FILE).read_text()
    file = AttackersFile.model_validate_json(text)
    if file.features != FEATURE_NAMES:
        raise DataError(
            f"{ATTACKERS_FILE}: was trained on other features than line_features.py computes; "
            "run benchmarks/efcb_learn_attackers.py"
        )
    rounds = [AttackerRound.from_parameters(row) for row in file.rounds]
    return LearnedAttackers((*rounds[:-1],), rounds[-1])
