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
from caretbench.suites.efcb.learners import Linear, Scale, Trees
from caretbench.suites.efcb.line_context import Numbers
from caretbench.suites.efcb.line_features import FEATURES

FILE: Final = "attackers.json"
ROUNDS: Final = 3
"""Rounds that select."""
_SURE: Final = 12.0
_FOLDS: Final = 3


class LearnedRound(Row):
    """Both learners of one round, as numbers."""

    linear_sizes: tuple[float, ...]
    linear_weights: tuple[float, ...]
    tree_sizes: tuple[float, ...]
    tree_features: tuple[tuple[int, ...], ...]
    tree_cuts: tuple[tuple[float, ...], ...]
    tree_values: tuple[tuple[float, ...], ...]


class AttackersFile(Row):
    """The file of shipped attackers; the last round judges, and selects nothing."""

    features: tuple[str, ...]
    learned_on: tuple[str, ...] = ()
    rounds: tuple[LearnedRound, ...] = Field(min_length=2)


class Round(NamedTuple):
    """Both learners of one round."""

    linear: Linear
    trees: Trees

    @classmethod
    def learn(cls, differences: Numbers, importance: Numbers) -> Round:
        """Learners of differences, each the right reading less the wrong one."""
        return cls(Linear.learn(differences, importance), Trees.learn(differences, importance))

    def scores(self, differences: Numbers) -> Numbers:
        """The scores of both, a column each."""
        return np.stack((self.linear.score(differences), self.trees.score(differences)), axis=1)

    def odds(self, differences: Numbers) -> Numbers:
        """Natural logarithm of the odds that the first reading is right: the mean of both."""
        found: Numbers = np.round(self.scores(differences).mean(axis=1), 4)
        return found

    def passes(self, differences: Numbers) -> Numbers:
        """Return the chance that each edit may be used, as :meth:`Attackers.passes` says, by this round alone."""
        found: Numbers = np.exp(-np.clip(self.odds(differences), 0.0, _SURE))
        return found

    def row(self) -> LearnedRound:
        """As numbers."""
        return LearnedRound.model_validate(
            {
                "linear_sizes": self.linear.scale.sizes.tolist(),
                "linear_weights": self.linear.weights.tolist(),
                "tree_sizes": self.trees.scale.sizes.tolist(),
                "tree_features": self.trees.features.tolist(),
                "tree_cuts": self.trees.cuts.tolist(),
                "tree_values": self.trees.values.tolist(),
            }
        )

    @classmethod
    def of(cls, row: LearnedRound) -> Round:
        """From numbers."""
        return cls(
            Linear(Scale(np.array(row.linear_sizes)), np.array(row.linear_weights)),
            Trees(
                Scale(np.array(row.tree_sizes)),
                np.array(row.tree_features, dtype=np.int64),
                np.array(row.tree_cuts),
                np.array(row.tree_values),
            ),
        )


class Attackers(NamedTuple):
    """Rounds that select, and the one that judges what is selected."""

    rounds: tuple[Round, ...]
    judge: Round

    def passes(self, differences: Numbers) -> Numbers:
        """The chance that each edit may be used: such that what may be used tells the attackers nothing.

        Of two readings whose difference speaks for the right one ``p`` to ``1 - p``, the edit passes ``(1 - p) / p``
        of the time, and always where it speaks against it.
        """
        chances = np.ones(len(differences))
        for one in self.rounds:
            chances *= one.passes(differences)
        found: Numbers = np.round(chances, 4)
        return found

    def scores(self, differences: Numbers) -> Numbers:
        """The sums of the linear and of the tree scores over all rounds, a column each."""
        found: Numbers = np.round(
            sum((one.scores(differences) for one in self.rounds), np.zeros((len(differences), 2))), 4
        )
        return found


class Sample(NamedTuple):
    """Edits of one repository: the right reading less the wrong one, and the number of the change of each."""

    differences: Numbers
    changes: npt.NDArray[np.int64]


def learned(samples: Sequence[Sample], rounds: int = ROUNDS) -> Attackers:
    """Attackers from edits of several repositories.

    What a round lets pass is told by learners of the same round that did not see the repository. Changes count alike:
    a question takes two edits of a change, however many it has.

    Args:
        samples: One of each repository.
        rounds: Those that select.
    """
    passes = [np.ones(len(sample.changes)) for sample in samples]
    folds = [place % min(_FOLDS, len(samples)) for place in range(len(samples))]
    found: list[Round] = []
    for number in range(rounds + 1):
        weights = [_by_change(sample, chances) for sample, chances in zip(samples, passes, strict=True)]
        found.append(_learned(samples, weights))
        if number == rounds:
            break
        for fold in sorted(set(folds)):
            others = [place for place, other in enumerate(folds) if other != fold] or [0]
            one = _learned([samples[place] for place in others], [weights[place] for place in others])
            for place, other in enumerate(folds):
                if other == fold:
                    passes[place] = passes[place] * one.passes(samples[place].differences)
    return Attackers((*found[:-1],), found[-1])


def _learned(samples: Sequence[Sample], weights: Sequence[Numbers]) -> Round:
    together = np.concatenate([*weights])
    scale = together.sum() / max(float((together**2).sum()), 1e-12)  # as many rows as they are worth
    return Round.learn(np.concatenate([sample.differences for sample in samples]), together * scale)


def _by_change(sample: Sample, chances: Numbers) -> Numbers:
    """The weight of each edit: its chance to pass, as a share of its change where several pass."""
    sums = np.bincount(sample.changes, chances)
    found: Numbers = chances / np.maximum(sums, 1.0)[sample.changes]
    return found


@lru_cache(maxsize=1)
def shipped() -> Attackers:
    """The attackers that come with the package.

    Raises:
        DataError: they were learned on other features than this code counts.
    """
    text = resources.files("caretbench").joinpath("suites", "efcb", FILE).read_text()
    file = AttackersFile.model_validate_json(text)
    if file.features != FEATURES:
        raise DataError(
            f"{FILE}: was learned on other features than line_features.py counts; "
            "run benchmarks/efcb_learn_attackers.py"
        )
    rounds = [Round.of(row) for row in file.rounds]
    return Attackers((*rounds[:-1],), rounds[-1])
