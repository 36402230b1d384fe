"""Correlation of two series, such as judge scores and pass rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.agreement import ItemStatistic
from caretbench.metrics.intervals import Floats

_FEWEST = 3
"""Minimum number of pairs: two points are always on a line."""


class Correlation(NamedTuple):
    """A coefficient from -1 to 1, its two-sided p value, and the number of pairs."""

    coefficient: float
    p_value: float
    n: int


def _constant(array: Floats) -> bool:
    # As scipy does: spread that is rounding error relative to the mean is no spread.
    return bool(np.linalg.norm(array - array.mean()) <= 1e-13 * max(abs(array.mean()), np.finfo(float).tiny))


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation | None:
    """Return Pearson's linear correlation; None where a series is constant or has fewer than three values.

    Raises:
        ValueError: the series differ in length or hold values that are not finite.
    """
    if not _can_correlate(first, second):
        return None
    from scipy.special import betaincc  # as `scipy.stats.pearsonr` does, whose room takes a second to load

    (ours, other), n = (_unit(series) for series in (first, second)), len(first)
    coefficient = float(np.clip(np.vecdot(ours, other), -1.0, 1.0))
    # Without correlation it has the beta distribution on (-1, 1).
    return Correlation(coefficient, float(2 * betaincc(n / 2 - 1, n / 2 - 1, (abs(coefficient) + 1) / 2)), n)


def _unit(series: Sequence[float]) -> Floats:
    """Return the differences from the mean as a vector of length 1."""
    values = np.asarray(series, dtype=np.float64)
    values = values - values.mean()
    most = np.abs(values).max()
    unit: Floats = values / (most * np.linalg.vector_norm(values / most, axis=-1))
    return unit


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation | None:
    """Return Spearman's rank correlation; None and errors as in :func:`pearson`."""
    if not _can_correlate(first, second):
        return None
    from scipy import stats  # takes half a second to load, which every import of the room would pay

    result = stats.spearmanr(first, second)
    return Correlation(float(result.statistic), float(result.pvalue), len(first))


def _can_correlate(first: Sequence[float], second: Sequence[float]) -> bool:
    ours, theirs = _pairs(first, second)
    return len(ours) >= _FEWEST and not (_constant(ours) or _constant(theirs))


def pearson_statistic(first: Sequence[float], second: Sequence[float]) -> ItemStatistic:
    """Return Pearson's correlation as a function of the items, for intervals; errors as in :func:`pearson`."""
    table = _pairs(first, second)
    return ItemStatistic(lambda weights: _weighted_pearson(weights, table[0][None, :], table[1][None, :]), _ones(first))


def spearman_statistic(first: Sequence[float], second: Sequence[float]) -> ItemStatistic:
    """Return Spearman's correlation as a function of the items; ranks are those among the drawn items."""
    levels = [np.unique(series, return_inverse=True)[1] for series in _pairs(first, second)]

    def value(weights: Floats) -> Floats:
        return _weighted_pearson(weights, *(_weighted_ranks(weights, codes) for codes in levels))

    return ItemStatistic(value, _ones(first))


def mean_difference_statistic(first: Sequence[float], second: Sequence[float]) -> ItemStatistic:
    """Return the mean of first minus second as a function of the items."""
    differences = np.subtract(*_pairs(first, second))
    return ItemStatistic(lambda weights: weights @ differences / weights.sum(axis=1), _ones(first))


def _ones(values: Sequence[float]) -> Floats:
    return np.ones(len(values))


def _pairs(first: Sequence[float], second: Sequence[float]) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("a correlation needs finite values")
    return ours, theirs


def _weighted_ranks(weights: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the mean rank of every item in each row of weights; ``codes`` are the places of the items' levels."""
    of_levels = np.zeros((len(weights), int(codes.max(initial=-1)) + 1))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if len(starts):
        of_levels = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(of_levels, axis=1) - of_levels / 2)[:, codes]
    return ranks


def _weighted_pearson(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Return the correlation of each row of weights; NaN where a series is constant."""
    totals = weights.sum(axis=1)[:, None]
    ours, theirs = (series - (weights * series).sum(axis=1)[:, None] / totals for series in (first, second))
    spread = np.sqrt((weights * ours**2).sum(axis=1)) * np.sqrt((weights * theirs**2).sum(axis=1))
    scale = np.abs(first).max(initial=1.0) * np.abs(second).max(initial=1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients: Floats = np.where(spread > 1e-12 * scale, (weights * ours * theirs).sum(axis=1) / spread, np.nan)
    return coefficients
