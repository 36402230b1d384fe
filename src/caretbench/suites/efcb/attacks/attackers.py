"""Learned attackers on GMCQ-Hard: rounds of learners, each of which learned from what the rounds before it let pass.

They ship as data, learned on the histories that ``attackers.json`` names, so that a small build is selected and judged
by them, too. ``benchmarks/efcb_learn_attackers.py`` learns them anew.
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
from caretbench.suites.efcb.attacks.learners import FeatureScale, Linear, Trees
from caretbench.suites.efcb.attacks.line_context import Numbers
from caretbench.suites.efcb.attacks.line_features import FEATURES

FILE: Final = "attackers.json"
SURE: Final = 12.0
"""Odds above it, as a logarithm, count as this."""


class LearnedRound(Row):
    """Both learners of one round, as numbers."""

    trust: float
    linear_sizes: tuple[float, ...]
    linear_weights: tuple[float, ...]
    tree_sizes: tuple[float, ...]
    tree_features: tuple[tuple[int, ...], ...]
    tree_cuts: tuple[tuple[float, ...], ...]
    tree_values: tuple[tuple[float, ...], ...]


class AttackersFile(Row):
    """The file of shipped attackers; the last round is the judge, which learned on what the others let pass.

    ``learned_on`` and ``corrected_on`` name the repositories of the first rounds and of the last two.
    """

    features: tuple[str, ...]
    learned_on: tuple[str, ...] = ()
    corrected_on: tuple[str, ...] = ()
    rounds: tuple[LearnedRound, ...] = Field(min_length=2)


class Round(NamedTuple):
    """A linear learner, and trees that were learned on top of it; ``trust`` makes odds of their sum.

    Learners that see new repositories are too sure of themselves, and what passes by odds that are too high can be told
    by its opposite. ``trust`` is therefore told by repositories that the learners have not seen.
    """

    linear: Linear
    trees: Trees
    trust: float = 1.0

    def scores(self, differences: Numbers) -> Numbers:
        """Return the scores of the linear learner alone, and of both together, a column each."""
        linear = self.linear.score(differences)
        return np.stack((linear, linear + self.trees.score(differences)), axis=1)

    def odds(self, differences: Numbers) -> Numbers:
        """Natural logarithm of the odds that the first reading is right."""
        return np.round(self.trust * self.scores(differences)[:, 1], 4)

    def passes(self, differences: Numbers) -> Numbers:
        """Return the chance that each edit may be used, as :meth:`Attackers.passes` says, by this round alone."""
        return np.exp(-np.clip(self.odds(differences), 0.0, SURE))

    @classmethod
    def of(cls, row: LearnedRound) -> Round:
        """From numbers."""
        return cls(
            Linear(FeatureScale(np.array(row.linear_sizes)), np.array(row.linear_weights)),
            Trees(
                FeatureScale(np.array(row.tree_sizes)),
                np.array(row.tree_features, dtype=np.int64),
                np.array(row.tree_cuts),
                np.array(row.tree_values),
            ),
            row.trust,
        )


class Attackers(NamedTuple):
    """Rounds that refuse edits, and the one that learned on what they let pass."""

    rounds: tuple[Round, ...]
    judge: Round

    def passes(self, differences: Numbers) -> Numbers:
        """Return the chance that each edit may be used: such that what may be used tells the attackers nothing.

        Of two readings whose difference speaks for the right one ``p`` to ``1 - p``, the edit passes ``(1 - p) / p``
        of the time, and always where it speaks against it.
        """
        return np.round(chances_to_pass(self.rounds, differences), 4)

    def scores(self, differences: Numbers) -> Numbers:
        """Return the sums over all rounds of the linear learners' scores and of all learners', a column each."""
        return np.round(
            sum(
                (one.trust * one.scores(differences) for one in self.rounds), np.zeros((len(differences), 2))
            ),
            4,
        )


class Sample(NamedTuple):
    """Edits of one repository: the right reading less the wrong one, and the number of the change of each."""

    differences: Numbers
    changes: npt.NDArray[np.int64]


def chances_to_pass(rounds: Sequence[Round], differences: Numbers) -> Numbers:
    """Return the chance that each edit passes all of the rounds."""
    chances = np.ones(len(differences))
    for one in rounds:
        chances *= one.passes(differences)
    return chances


def change_weights(sample: Sample, chances: Numbers) -> Numbers:
    """Return the weight of each edit: its chance to pass, as a share of its change where several pass."""
    sums = np.bincount(sample.changes, chances)
    return chances / np.maximum(sums, 1.0)[sample.changes]


@lru_cache(maxsize=1)
def shipped() -> Attackers:
    """Return the attackers that come with the package.

    Raises:
        DataError: they were learned on other features than this code counts.
    """
    text = resources.files("caretbench.suites.efcb.attacks").joinpath(FILE).read_text()
    file = AttackersFile.model_validate_json(text)
    if file.features != FEATURES:
        raise DataError(
            f"{FILE}: was learned on other features than line_features.py counts; "
            "run benchmarks/efcb_learn_attackers.py"
        )
    rounds = [Round.of(row) for row in file.rounds]
    return Attackers((*rounds[:-1],), rounds[-1])
