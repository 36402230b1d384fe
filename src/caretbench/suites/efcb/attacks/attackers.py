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
ROUNDS: Final = 2
"""Rounds that select, before one that corrects them by other repositories."""
_SURE: Final = 12.0
_FOLDS: Final = 3
# What cross-validated scores are multiplied with to be odds.
_TRUSTS: Final = tuple(step / 20 for step in range(25))


class Size(NamedTuple):
    """How much the learners of a round may learn: :meth:`Linear.learn` and :meth:`Trees.learn` say what each is."""

    linear_penalty: float
    trees: int
    depth: int
    rate: float
    penalty: float
    every: int


FIRST: Final = Size(linear_penalty=3.0, trees=400, depth=6, rate=0.08, penalty=10.0, every=4)
"""Of the first round, which sees edits as they are drawn: most of them tell, and there are many."""
LATER: Final = Size(linear_penalty=20.0, trees=80, depth=3, rate=0.1, penalty=40.0, every=3)
"""Of rounds that see what passed: little is left to learn, and few edits count."""


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

    @classmethod
    def learn(cls, differences: Numbers, importance: Numbers, size: Size = LATER) -> Round:
        """Learners of differences, each the right reading less the wrong one."""
        linear = Linear.learn(differences, importance, penalty=size.linear_penalty)
        trees = Trees.learn(
            differences,
            importance,
            linear.score(differences),
            trees=size.trees,
            depth=size.depth,
            rate=size.rate,
            penalty=size.penalty,
            every=size.every,
        )
        return cls(linear, trees)

    def scores(self, differences: Numbers) -> Numbers:
        """The scores of the linear learner alone, and of both together, a column each."""
        linear = self.linear.score(differences)
        return np.stack((linear, linear + self.trees.score(differences)), axis=1)

    def odds(self, differences: Numbers) -> Numbers:
        """Natural logarithm of the odds that the first reading is right."""
        return np.round(self.trust * self.scores(differences)[:, 1], 4)

    def passes(self, differences: Numbers) -> Numbers:
        """Return the chance that each edit may be used, as :meth:`Attackers.passes` says, by this round alone."""
        return np.exp(-np.clip(self.odds(differences), 0.0, _SURE))

    def row(self) -> LearnedRound:
        """As numbers."""
        return LearnedRound.model_validate(
            {
                "trust": self.trust,
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
        """The chance that each edit may be used: such that what may be used tells the attackers nothing.

        Of two readings whose difference speaks for the right one ``p`` to ``1 - p``, the edit passes ``(1 - p) / p``
        of the time, and always where it speaks against it.
        """
        return np.round(_passes(self.rounds, differences), 4)

    def scores(self, differences: Numbers) -> Numbers:
        """The sums over all rounds of the linear learners' scores and of all learners', a column each."""
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


def learned(samples: Sequence[Sample], unseen: Sequence[Sample] = (), rounds: int = ROUNDS) -> Attackers:
    """Attackers from edits of several repositories.

    What a round lets pass, and how far its scores can be trusted, is told by learners of the same round that did not
    see the repository. Changes count alike: a question takes two edits of a change, however many it has.

    Args:
        samples: One of each repository.
        unseen: Of other repositories. One more round, and the judge, learn from them what the rounds before let pass
            where they have not learned; without them the judge learns from ``samples``, too.
        rounds: Those that select and learn from ``samples``.
    """
    passes = [np.ones(len(sample.changes)) for sample in samples]
    found: list[Round] = []
    for number in range(rounds):
        one, passes = _next_round(samples, passes, LATER if number else FIRST)
        found.append(one)
    if unseen:
        samples, passes = unseen, [_passes(found, sample.differences) for sample in unseen]
        one, passes = _next_round(samples, passes, LATER)
        found.append(one)
    return Attackers(tuple(found), _next_round(samples, passes, LATER)[0])


def _next_round(
    samples: Sequence[Sample], passes: Sequence[Numbers], size: Size
) -> tuple[Round, list[Numbers]]:
    """Return a round learned on edits with these chances to pass, and the chances after it."""
    weights = [change_weights(sample, chances) for sample, chances in zip(samples, passes, strict=True)]
    unseen = _unseen_scores(samples, weights, size)
    trust = _trust(np.concatenate(unseen), np.concatenate(weights))
    after = [
        chances * np.exp(-np.clip(trust * scores, 0.0, _SURE))
        for chances, scores in zip(passes, unseen, strict=True)
    ]
    return _learned(samples, weights, size)._replace(trust=trust), after


def _passes(rounds: Sequence[Round], differences: Numbers) -> Numbers:
    chances = np.ones(len(differences))
    for one in rounds:
        chances *= one.passes(differences)
    return chances


def _unseen_scores(samples: Sequence[Sample], weights: Sequence[Numbers], size: Size) -> list[Numbers]:
    """The scores of each sample's edits by learners that did not see the repository."""
    found: list[Numbers] = [np.zeros(0)] * len(samples)
    for fold in range(min(_FOLDS, len(samples))):
        others = [place for place in range(len(samples)) if place % _FOLDS != fold] or [0]
        one = _learned([samples[place] for place in others], [weights[place] for place in others], size)
        for place in range(fold, len(samples), _FOLDS):
            found[place] = one.scores(samples[place].differences)[:, 1]
    return found


def _trust(scores: Numbers, weights: Numbers) -> float:
    """Return the factor by which scores are the likeliest odds."""
    losses = [float((np.log1p(np.exp(-trust * scores)) * weights).sum()) for trust in _TRUSTS]
    return _TRUSTS[int(np.argmin(np.round(losses, 6)))]


def _learned(samples: Sequence[Sample], weights: Sequence[Numbers], size: Size) -> Round:
    together = np.concatenate([*weights])
    scale = together.sum() / max(float((together**2).sum()), 1e-12)  # as many rows as they are worth
    return Round.learn(np.concatenate([sample.differences for sample in samples]), together * scale, size)


def change_weights(sample: Sample, chances: Numbers) -> Numbers:
    """Return the weight of each edit: its chance to pass, as a share of its change where several pass."""
    sums = np.bincount(sample.changes, chances)
    return chances / np.maximum(sums, 1.0)[sample.changes]


@lru_cache(maxsize=1)
def shipped() -> Attackers:
    """The attackers that come with the package.

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
