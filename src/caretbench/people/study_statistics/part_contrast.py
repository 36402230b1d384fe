"""Contrast of a model with others between a part of the problems and all others, in points and in log odds.

In points: the mean difference in the part minus the mean difference elsewhere. Points depend on how hard problems are:
where both models are near 0 or 100 %, the same lead is small. The log odds ratio does not: it is the same in easy and
in hard problems if ability and difficulty add up. So a contrast is claimed only on both scales, in the same direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from caretbench.errors import UsageError
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
        UsageError: a side has no problem, or the sequences have different lengths.
    """
    values = np.asarray(differences, dtype=np.float64)
    chosen = _sides(len(values), inside, clusters)
    means = values[chosen].mean(), values[~chosen].mean()
    residuals = np.where(chosen, (values - means[0]) / chosen.sum(), -(values - means[1]) / (~chosen).sum())
    return _clustered(float(means[0] - means[1]), residuals, chosen, clusters)


def log_odds_contrast(
    own: Sequence[float], others: Sequence[Sequence[float]], inside: Sequence[bool], clusters: Sequence[str]
) -> Comparison:
    """Return the log odds ratio of a model to others in a part minus that elsewhere.

    The ratio to one other model is Mantel and Haenszel's with a stratum for each problem: wins divided by losses, which
    are the sums of p (1 - q) and (1 - p) q over the rates p and q of both. It needs no model of the difficulties, and
    problems that both always pass or always fail do not count. Half a win and half a loss are added on each side, so
    that it is finite. The logarithms for several other models are averaged. The spread is the linearised one of whole
    clusters, plus that of the added halves; without them, a side without a loss would seem to be known exactly.

    Source: Mantel and Haenszel, "Statistical aspects of the analysis of data from retrospective studies of disease"
    (1959); Liang, "Odds ratio inference with dependent data" (1985), for clusters; Gart and Zweifel, "On the bias of
    various estimators of the logit and its variance" (1967), for the halves.

    Args:
        own: Rate of the model on each problem.
        others: Rates of each other model on the same problems.
        inside: True for the problems of the part.
        clusters: Source of each problem.

    Raises:
        UsageError: no other model, a side without a problem, or sequences of different lengths.
    """
    rates, field = np.asarray(own, dtype=np.float64), np.asarray(others, dtype=np.float64)
    chosen = _sides(len(rates), inside, clusters)
    if field.ndim != 2 or field.shape[1] != len(rates):
        raise UsageError("other models with one rate a problem")
    won, lost = rates * (1 - field), (1 - rates) * field
    estimate, added, residuals = 0.0, 0.0, np.zeros(len(rates))
    for side, sign in ((chosen, 1), (~chosen, -1)):
        wins, losses = (part[:, side].sum(axis=1, keepdims=True) + 0.5 for part in (won, lost))
        estimate += sign * float(np.log(wins / losses).mean())
        residuals += np.where(side, sign * (won / wins - lost / losses), 0.0).mean(axis=0)
        # As if the halves of several other models moved together, as the model's own wins do.
        added += float(np.sqrt(0.5 / wins**2 + 0.5 / losses**2).mean()) ** 2
    return _clustered(estimate, residuals, chosen, clusters, added)


def on_both_scales(points: Comparison, log_odds: Comparison) -> Comparison:
    """Return the contrast in points with the greater p value of both scales: it holds only if both do.

    The p value is 1 if the scales disagree in direction. Source: Berger, "Multiparameter hypothesis testing and
    acceptance sampling" (1982), intersection-union test.
    """
    agree = points.difference * log_odds.difference > 0
    p_value = max(points.p_value, log_odds.p_value) if agree else 1.0
    known = agree and points.distinguishable and log_odds.distinguishable
    return points._replace(p_value=p_value, distinguishable=known)


def _sides(number: int, inside: Sequence[bool], clusters: Sequence[str]) -> NDArray[np.bool_]:
    """Return the marks of the part; raise UsageError if a side is empty or the sequences have different lengths."""
    chosen = np.asarray(inside, dtype=bool)
    if not number == len(chosen) == len(clusters):
        raise UsageError("one difference, side and cluster a problem")
    if not chosen.any() or chosen.all():
        raise UsageError("a contrast needs problems on both sides")
    return chosen


def _clustered(
    difference: float, residuals: Floats, chosen: NDArray[np.bool_], clusters: Sequence[str], added: float = 0.0
) -> Comparison:
    """Return the comparison of a contrast with the variance of the sums of residuals over clusters, plus ``added``."""
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    groups = int(codes.max()) + 1
    fewest = min(len(set(codes[chosen])), len(set(codes[~chosen])))
    variance = float((np.bincount(codes, weights=residuals) ** 2).sum()) * groups / max(groups - 1, 1)
    return normal_comparison(difference, math.sqrt(variance + added), n=len(chosen), groups=fewest)


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
