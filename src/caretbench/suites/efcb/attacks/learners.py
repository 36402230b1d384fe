"""Learners on differences of features: a linear one and boosted trees, both antisymmetric.

The score of a difference is minus the score of its negative, so that it does not matter which of two readings comes
first. Numbers are clipped, scaled and binned; training draws nothing and runs in one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.suites.efcb.attacks.line_context import Numbers

_BINS: Final = 16
_CLIP: Final = 4.0
_DIGITS: Final = 5
_LEAF_DIGITS: Final = 4
_NEWTON: Final = 12


class FeatureScale(NamedTuple):
    """The typical size of each feature's differences; 0 for one that never differs."""

    sizes: Numbers

    @classmethod
    def of(cls, differences: Numbers) -> FeatureScale:
        """Return the scale of some differences."""
        sizes = np.sqrt((differences**2).mean(axis=0)) if len(differences) else np.zeros(differences.shape[1])
        return cls(np.round(sizes, _DIGITS))

    def __call__(self, differences: Numbers) -> Numbers:
        """Differences in units of their size, bounded; signs are kept."""
        scaled = np.divide(differences, self.sizes, out=np.zeros_like(differences), where=self.sizes > 0)
        return np.clip(scaled, -_CLIP, _CLIP)


class Linear(NamedTuple):
    """Weights of scaled differences and of their signs: logistic regression without an intercept."""

    scale: FeatureScale
    weights: Numbers

    @classmethod
    def learn(cls, differences: Numbers, importance: Numbers, penalty: float = 3.0) -> Linear:
        """Return the weights that tell true differences, the right reading less the wrong one, from their negatives.

        ``importance`` is the weight of each row; ``penalty`` is of the squared weights.
        """
        scale = FeatureScale.of(differences)
        inputs = cls._inputs(scale(differences))
        weights = np.zeros(inputs.shape[1])
        for _ in range(_NEWTON):
            wrong = importance / (1 + np.exp(np.clip(inputs @ weights, -30, 30)))
            spread = wrong * (1 - wrong / np.maximum(importance, 1e-12))
            gradient = inputs.T @ wrong - penalty * weights
            curvature = (inputs * spread[:, None]).T @ inputs + penalty * np.eye(len(weights))
            weights = weights + np.linalg.solve(curvature, gradient)
        return cls(scale, np.round(weights, _DIGITS))

    @staticmethod
    def _inputs(scaled: Numbers) -> Numbers:
        return np.concatenate((scaled, np.sign(scaled)), axis=1)

    def score(self, differences: Numbers) -> Numbers:
        """Natural logarithm of the odds that the first reading is the right one."""
        return np.round(self._inputs(self.scale(differences)) @ self.weights, _DIGITS)


class Trees(NamedTuple):
    """Boosted trees of one depth, a row of ``features``, ``cuts`` and ``values`` for each tree.

    A tree asks at each level one question of all rows alike, so that its leaf is a number of as many bits.
    """

    scale: FeatureScale
    features: npt.NDArray[np.int64]
    cuts: Numbers
    values: Numbers

    @classmethod
    def learn(
        cls,
        differences: Numbers,
        importance: Numbers,
        start: Numbers | None = None,
        *,
        trees: int = 70,
        depth: int = 3,
        rate: float = 0.25,
        penalty: float = 20.0,
        every: int = 1,
    ) -> Trees:
        """Trees that tell true differences, the right reading less the wrong one, from their negatives.

        ``importance`` is the weight of each row; the trees add to the scores of another learner, ``start``. Each tree
        counts by ``rate`` and asks of one feature in ``every``, the next tree of the next ones; ``penalty`` is of
        squared leaves.
        """
        scale = FeatureScale.of(differences)
        one_way = scale(differences)
        both = np.concatenate((one_way, -one_way))
        targets = np.concatenate((np.ones(len(one_way)), np.zeros(len(one_way))))
        weights = np.concatenate((importance, importance))
        bins = _bins(both)
        scores = np.zeros(len(both)) if start is None else np.concatenate((start, -start))
        all_columns: list[list[int]] = []
        all_cuts: list[list[float]] = []
        all_values: list[Numbers] = []
        for tree in range(trees if bins else 0):
            asked = bins[tree % every :: every] if len(bins) > every else bins
            chances = 1 / (1 + np.exp(-scores))
            slopes, bends = weights * (targets - chances), weights * chances * (1 - chances)
            leaves = np.zeros(len(both), dtype=np.int64)
            columns: list[int] = []
            cuts: list[float] = []
            for level in range(depth):
                best, cut = _best_cut(asked, leaves, 1 << level, slopes, bends, penalty)
                columns.append(best.column)
                cuts.append(float(best.edges[cut]))
                leaves = 2 * leaves + (best.numbers > cut)
            size = 1 << depth
            steps = np.bincount(leaves, slopes, size) / (np.bincount(leaves, bends, size) + penalty)
            values = np.round(rate * steps, _LEAF_DIGITS)
            scores += values[leaves]
            all_columns.append(columns)
            all_cuts.append(cuts)
            all_values.append(values)
        return cls(
            scale,
            np.array(all_columns, dtype=np.int64).reshape(-1, depth),
            np.array(all_cuts).reshape(-1, depth),
            np.array(all_values).reshape(-1, 1 << depth),
        )

    def _raw(self, scaled: Numbers) -> Numbers:
        if not len(self.features):
            return np.zeros(len(scaled))
        bits = scaled[:, self.features] >= self.cuts  # rows, trees, levels
        leaves = bits @ (1 << np.arange(self.features.shape[1])[::-1])
        found: Numbers = self.values[np.arange(len(self.features)), leaves].sum(axis=1)
        return found

    def score(self, differences: Numbers) -> Numbers:
        """Natural logarithm of the odds that the first reading is the right one."""
        scaled = self.scale(differences)
        return np.round((self._raw(scaled) - self._raw(-scaled)) / 2, _DIGITS)


def _edges(values: Numbers) -> Numbers:
    """Cuts at quantiles of the values that are not 0, and around it; rounded, so that machines agree."""
    there = values[values != 0]
    if not len(there):
        return np.zeros(0)
    return np.unique(
        [*np.round(np.quantile(there, np.linspace(0, 1, _BINS + 1)[1:-1]), 3).tolist(), -0.001, 0.001]
    )


class _Bins(NamedTuple):
    """A feature's values, as the numbers of the bins between its edges."""

    column: int
    edges: Numbers
    numbers: npt.NDArray[np.int64]


def _bins(values: Numbers) -> list[_Bins]:
    """Return the bins of each feature that has edges."""
    edges = [_edges(values[:, column]) for column in range(values.shape[1])]
    return [
        _Bins(column, cuts, np.searchsorted(cuts, values[:, column], side="right"))
        for column, cuts in enumerate(edges)
        if len(cuts)
    ]


def _best_cut(
    asked: Sequence[_Bins],
    leaves: npt.NDArray[np.int64],
    size: int,
    slopes: Numbers,
    bends: Numbers,
    penalty: float,
) -> tuple[_Bins, int]:
    """Return the feature and the cut that gain most over all leaves of a level."""
    best = (-1.0, asked[0], 0)
    for bins in asked:
        width = len(bins.edges) + 1
        cells = leaves * width + bins.numbers
        slope = np.bincount(cells, slopes, size * width).reshape(size, width)
        bend = np.bincount(cells, bends, size * width).reshape(size, width)
        left_slope, left_bend = slope.cumsum(axis=1)[:, :-1], bend.cumsum(axis=1)[:, :-1]
        right_slope = slope.sum(axis=1, keepdims=True) - left_slope
        right_bend = bend.sum(axis=1, keepdims=True) - left_bend
        gains = np.round(
            (left_slope**2 / (left_bend + penalty) + right_slope**2 / (right_bend + penalty)).sum(axis=0), 6
        )
        cut = int(gains.argmax())
        if gains[cut] > best[0]:
            best = (float(gains[cut]), bins, cut)
    return best[1], best[2]
