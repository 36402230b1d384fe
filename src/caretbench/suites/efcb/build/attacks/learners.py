"""Antisymmetric learners on differences of features: logistic regression and boosted trees.

The score of a difference is minus the score of its negative, so the order of two variants does not matter. Numbers
are clipped, scaled and binned; training has no randomness and one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.suites.efcb.build.attacks.line_context import FloatArray

_BINS: Final = 16
_CLIP: Final = 4.0
_DIGITS: Final = 5
_LEAF_DIGITS: Final = 4
_NEWTON: Final = 12


class FeatureScale(NamedTuple):
    """The typical size of each feature's differences; 0 for a constant feature."""

    sizes: FloatArray

    @classmethod
    def from_differences(cls, differences: FloatArray) -> FeatureScale:
        """Return the scale of some differences."""
        sizes = np.sqrt((differences**2).mean(axis=0)) if len(differences) else np.zeros(differences.shape[1])
        return cls(np.round(sizes, _DIGITS))

    def __call__(self, differences: FloatArray) -> FloatArray:
        """Return differences in units of their size, clipped."""
        scaled = np.divide(differences, self.sizes, out=np.zeros_like(differences), where=self.sizes > 0)
        return np.clip(scaled, -_CLIP, _CLIP)


class LinearLearner(NamedTuple):
    """Logistic regression without intercept on scaled differences and their signs."""

    scale: FeatureScale
    weights: FloatArray

    @classmethod
    def fit(cls, differences: FloatArray, row_weights: FloatArray, penalty: float = 3.0) -> LinearLearner:
        """Return the learner that separates differences (correct variant minus wrong one) from their negatives.

        ``row_weights`` are weights of rows; ``penalty`` is the L2 penalty of the coefficients.
        """
        scale = FeatureScale.from_differences(differences)
        inputs = cls._inputs(scale(differences))
        weights = np.zeros(inputs.shape[1])
        for _ in range(_NEWTON):
            wrong = row_weights / (1 + np.exp(np.clip(inputs @ weights, -30, 30)))
            spread = wrong * (1 - wrong / np.maximum(row_weights, 1e-12))
            gradient = inputs.T @ wrong - penalty * weights
            curvature = (inputs * spread[:, None]).T @ inputs + penalty * np.eye(len(weights))
            weights = weights + np.linalg.solve(curvature, gradient)
        return cls(scale, np.round(weights, _DIGITS))

    @staticmethod
    def _inputs(scaled: FloatArray) -> FloatArray:
        return np.concatenate((scaled, np.sign(scaled)), axis=1)

    def score(self, differences: FloatArray) -> FloatArray:
        """Return the natural logarithm of the odds that the first variant is correct."""
        return np.round(self._inputs(self.scale(differences)) @ self.weights, _DIGITS)


class BoostedTrees(NamedTuple):
    """Boosted oblivious trees, with a row of ``features``, ``cuts`` and ``values`` for each tree.

    All nodes of a level have the same feature and cut, so the index of a leaf is a binary number.
    """

    scale: FeatureScale
    features: npt.NDArray[np.int64]
    cuts: FloatArray
    values: FloatArray

    @classmethod
    def fit(
        cls,
        differences: FloatArray,
        row_weights: FloatArray,
        initial_scores: FloatArray | None = None,
        *,
        tree_count: int = 70,
        depth: int = 3,
        learning_rate: float = 0.25,
        penalty: float = 20.0,
        feature_stride: int = 1,
    ) -> BoostedTrees:
        """Return trees that separate differences (correct variant minus wrong one) from their negatives.

        ``row_weights`` are weights of rows; the trees add to ``initial_scores`` of another learner. Each tree is
        scaled by ``learning_rate`` and uses one feature in ``feature_stride``, the next tree the next ones;
        ``penalty`` is the L2 penalty of leaf values.
        """
        scale = FeatureScale.from_differences(differences)
        one_way = scale(differences)
        both = np.concatenate((one_way, -one_way))
        targets = np.concatenate((np.ones(len(one_way)), np.zeros(len(one_way))))
        weights = np.concatenate((row_weights, row_weights))
        bins = _bin_features(both)
        scores = np.zeros(len(both)) if initial_scores is None else np.concatenate((initial_scores, -initial_scores))
        all_columns: list[list[int]] = []
        all_cuts: list[list[float]] = []
        all_values: list[FloatArray] = []
        for tree in range(tree_count if bins else 0):
            asked = bins[tree % feature_stride :: feature_stride] if len(bins) > feature_stride else bins
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
            values = np.round(learning_rate * steps, _LEAF_DIGITS)
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

    def _raw(self, scaled: FloatArray) -> FloatArray:
        if not len(self.features):
            return np.zeros(len(scaled))
        bits = scaled[:, self.features] >= self.cuts  # rows, trees, levels
        leaves = bits @ (1 << np.arange(self.features.shape[1])[::-1])
        found: FloatArray = self.values[np.arange(len(self.features)), leaves].sum(axis=1)
        return found

    def score(self, differences: FloatArray) -> FloatArray:
        """Return the natural logarithm of the odds that the first variant is correct."""
        scaled = self.scale(differences)
        return np.round((self._raw(scaled) - self._raw(-scaled)) / 2, _DIGITS)


def _bin_edges(values: FloatArray) -> FloatArray:
    """Return cuts at quantiles of the nonzero values and around 0, rounded to be the same on every machine."""
    there = values[values != 0]
    if not len(there):
        return np.zeros(0)
    return np.unique([*np.round(np.quantile(there, np.linspace(0, 1, _BINS + 1)[1:-1]), 3).tolist(), -0.001, 0.001])


class _BinnedFeature(NamedTuple):
    """A feature's values as bin numbers."""

    column: int
    edges: FloatArray
    numbers: npt.NDArray[np.int64]


def _bin_features(values: FloatArray) -> list[_BinnedFeature]:
    """Return the binned features that have edges."""
    edges = [_bin_edges(values[:, column]) for column in range(values.shape[1])]
    return [
        _BinnedFeature(column, cuts, np.searchsorted(cuts, values[:, column], side="right"))
        for column, cuts in enumerate(edges)
        if len(cuts)
    ]


def _best_cut(
    binned: Sequence[_BinnedFeature],
    leaves: npt.NDArray[np.int64],
    size: int,
    slopes: FloatArray,
    bends: FloatArray,
    penalty: float,
) -> tuple[_BinnedFeature, int]:
    """Return the feature and the cut with the highest gain over all leaves of a level."""
    best = (-1.0, binned[0], 0)
    for bins in binned:
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
