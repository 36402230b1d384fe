"""Contrast of paired differences: their mean in a part of the problems minus their mean in all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, Interval
from caretbench.metrics.paired import Comparison
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats

_NORMAL = NormalDist()


def part_contrast(differences: Sequence[float] | Floats, inside: Sequence[bool], clusters: Sequence[str]) -> Comparison:
    """Return the mean difference in a part minus the mean difference elsewhere, with a jackknife interval.

    The spread is that of whole clusters, which may have problems on both sides. The test is normal: with fewer than
    :data:`~caretbench.metrics.resampling.MIN_CLUSTERS` clusters on a side the result has a warning.

    Args:
        differences: Difference of two models on each problem.
        inside: True for the problems of the part.
        clusters: Source of each problem.

    Raises:
        ValueError: a side has no problem, or the sequences have different lengths.
    """
    values, chosen = np.asarray(differences, dtype=np.float64), np.asarray(inside, dtype=bool)
    if not len(values) == len(chosen) == len(clusters):
        raise ValueError("one difference, side and cluster a problem")
    if not chosen.any() or chosen.all():
        raise ValueError("a contrast needs problems on both sides")
    means = values[chosen].mean(), values[~chosen].mean()
    residuals = np.where(chosen, (values - means[0]) / chosen.sum(), -(values - means[1]) / (~chosen).sum())
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    groups = int(codes.max()) + 1
    fewest = min(len(set(codes[chosen])), len(set(codes[~chosen])))
    error = math.sqrt(float((np.bincount(codes, weights=residuals) ** 2).sum()) * groups / max(groups - 1, 1))
    return normal_comparison(float(means[0] - means[1]), error, n=len(values), groups=fewest)


def normal_comparison(difference: float, error: float, *, n: int, groups: int) -> Comparison:
    """Return the comparison of a difference with a standard error, by the normal distribution.

    Args:
        difference: Estimate.
        error: Its standard error; 0 has an interval without width, and is never distinguishable.
        n: Number of problems.
        groups: Number of independent groups.
    """
    if error <= 0:
        interval = Interval(difference, difference, "constant", "the difference has no spread")
        return Comparison(difference, interval, 1.0, "jackknife", n, groups, distinguishable=False)
    half = _NORMAL.inv_cdf(0.5 + CONFIDENCE / 2) * error
    warning = f"only {groups} clusters: the interval may be too narrow" if groups < MIN_CLUSTERS else None
    p_value = min(1.0, 2 * _NORMAL.cdf(-abs(difference) / error))
    interval = Interval(difference - half, difference + half, "jackknife", warning)
    known = p_value < 1 - CONFIDENCE and not interval.low <= 0 <= interval.high
    return Comparison(difference, interval, p_value, "jackknife", n, groups, distinguishable=known)


def smallest_effect(error: float, power: float = 0.8) -> float:
    """Return the smallest true difference that a two-sided test finds with this power.

    Args:
        error: Standard error of the difference.
        power: Probability to find it.
    """
    return (_NORMAL.inv_cdf(0.5 + CONFIDENCE / 2) + _NORMAL.inv_cdf(power)) * error
