"""Comparison of the means of two groups of different problems, within strata."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.errors import UsageError
from caretbench.grouping import grouped
from caretbench.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, RESAMPLES, Floats, Interval
from caretbench.metrics.paired import Comparison

_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.5 + CONFIDENCE / 2)
_MANY = 10**300


def part_contrast(differences: Sequence[float] | Floats, inside: Sequence[bool], clusters: Sequence[str]) -> Comparison:
    """Return the mean difference in a part minus the mean difference elsewhere, with a jackknife interval.

    The spread is that of whole clusters, which may have problems on both sides. The test is normal: with fewer than
    :data:`~caretbench.metrics.intervals.MIN_CLUSTERS` clusters on a side the result has a warning.

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
    # Residuals around the mean of their own side: a cluster with problems on both enters the variance with its
    # difference.
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
        # Half a win and half a loss: without them a side that a model never loses has infinite odds.
        wins, losses = (chances[:, side].sum(axis=1, keepdims=True) + 0.5 for chances in (won, lost))
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
    # By points alone up to 98.5 % of simulated runs claimed a strength that was only a lead at another difficulty.
    agree = points.difference * log_odds.difference > 0
    p_value = max(points.p_value, log_odds.p_value) if agree else 1.0
    distinguishable = agree and points.distinguishable and log_odds.distinguishable
    return points._replace(p_value=p_value, distinguishable=distinguishable)


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
    # The side with fewer clusters limits the approximation by the normal distribution.
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
    # No spread is a sign of too few different values, not of certainty.
    if error <= 0:
        interval = Interval(difference, difference, "constant", "the difference has no spread")
        return Comparison(difference, interval, 1.0, "jackknife", n, groups, distinguishable=False)
    half = _Z * error
    warning = f"only {groups} clusters: the interval may be too narrow" if groups < MIN_CLUSTERS else None
    p_value = min(1.0, 2 * _NORMAL.cdf(-abs(difference) / error))
    interval = Interval(difference - half, difference + half, "jackknife", warning)
    # Test and interval must agree; at the bound they can differ by rounding.
    distinguishable = p_value < 1 - CONFIDENCE and not interval.low <= 0 <= interval.high
    return Comparison(difference, interval, p_value, "jackknife", n, groups, distinguishable=distinguishable)


def smallest_effect(error: float, power: float = 0.8) -> float:
    """Return the smallest true difference that a two-sided test finds with this power.

    Args:
        error: Standard error of the difference.
        power: Probability to find it.
    """
    return (_Z + _NORMAL.inv_cdf(power)) * error


class GroupedValue(NamedTuple):
    """Value of one problem: its group (True: the first one), stratum and cluster."""

    value: float
    first: bool
    stratum: str
    cluster: str


class GroupDifference(NamedTuple):
    """Difference of the means of two groups of problems, the first minus the second.

    ``arrangements`` is the number of ways to divide the clusters of the strata into groups of these sizes, or
    infinity; under 40 of them no difference can be told from chance.
    """

    difference: float
    interval: Interval
    p_value: float
    arrangements: float
    distinguishable: bool

    @property
    def decidable(self) -> bool:
        """Return whether so many clusters can tell a difference from chance."""
        # The smallest two-sided p value is 2 divided by the number of arrangements: below 40 it never reaches 0.05.
        return self.arrangements >= 2 / (1 - CONFIDENCE)


class _Stratum(NamedTuple):
    """Means of the clusters of one stratum, those of the first group first."""

    values: Floats
    first: int

    @property
    def weight(self) -> float:
        return self.first * (len(self.values) - self.first) / len(self.values)

    def difference(self, first_sums: Floats | float) -> Floats:
        rest = float(self.values.sum()) - np.asarray(first_sums)
        differences: Floats = np.asarray(first_sums) / self.first - rest / (len(self.values) - self.first)
        return differences


def compare_groups(values: Sequence[GroupedValue], *, seed: int) -> GroupDifference:
    """Return the difference of two groups of problems.

    The estimate is the mean of the strata's differences with the weights of Mantel and Haenszel (1959). The p value is
    that of the permutation test that divides the clusters of each stratum anew; the interval has the standard
    deviation of these permutations. A stratum with clusters of one group alone says nothing and is omitted.

    Raises:
        UsageError: no stratum has clusters of both groups, or a cluster is in both.
    """
    strata = list(_strata(values))
    if not strata:
        raise UsageError("no stratum has problems of both groups")
    total = math.fsum(stratum.weight for stratum in strata)
    observed = sum(
        stratum.weight * float(stratum.difference(float(stratum.values[: stratum.first].sum()))) for stratum in strata
    )
    generator = np.random.default_rng(seed)
    drawn = np.zeros(RESAMPLES)
    arrangements = 1.0
    for stratum in strata:
        # Equal values are drawn by their number: the sum of a draw needs no permutation of the problems.
        levels, counts = np.unique(stratum.values, return_counts=True)
        chosen = generator.multivariate_hypergeometric(counts, stratum.first, size=RESAMPLES)
        drawn += stratum.weight * stratum.difference(chosen @ levels)
        # A stratum of 1,030 clusters has more divisions than a float can hold: infinity is as good as many.
        divisions = math.comb(len(stratum.values), stratum.first)
        arrangements *= divisions if divisions < _MANY else math.inf
    difference, drawn = observed / total, drawn / total
    # Equal sums differ in their last digits by the order of adding.
    extreme = int((np.abs(drawn) >= abs(difference) - 1e-9).sum())
    p_value = (extreme + 1) / (RESAMPLES + 1)
    deviation = float(drawn.std())
    interval = (
        Interval(max(-1.0, difference - _Z * deviation), min(1.0, difference + _Z * deviation), "parametric")
        if deviation
        else Interval(math.nan, math.nan, "undefined", "all values of a stratum are equal")
    )
    return GroupDifference(difference, interval, p_value, arrangements, _distinguishable(p_value, interval))


def _distinguishable(p_value: float, interval: Interval) -> bool:
    has_interval = not math.isnan(interval.low)
    return has_interval and p_value < 1 - CONFIDENCE and not interval.low <= 0 <= interval.high


def differences_with_holm(differences: Sequence[GroupDifference]) -> list[GroupDifference]:
    """Return differences with p values adjusted for their number (Holm); undecidable ones do not count in it."""
    # A model that cannot be decided must not raise the p values of those that can.
    adjusted = iter(holm([difference.p_value for difference in differences if difference.decidable]))
    corrected = []
    for difference in differences:
        p_value = next(adjusted) if difference.decidable else difference.p_value
        distinguishable = difference.decidable and _distinguishable(p_value, difference.interval)
        corrected.append(difference._replace(p_value=p_value, distinguishable=distinguishable))
    return corrected


def _strata(values: Sequence[GroupedValue]) -> Iterator[_Stratum]:
    """Yield the strata with clusters of both groups; a cluster is in the stratum of its first problem."""
    clusters = grouped((value.cluster, value) for value in values)
    parts: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for name, members in sorted(clusters.items()):
        # The permutation divides whole clusters; one in both groups cannot be divided.
        if len({member.first for member in members}) > 1:
            raise UsageError(f"the cluster {name!r} has problems of both groups")
        mean = math.fsum(member.value for member in members) / len(members)
        parts[members[0].stratum][0 if members[0].first else 1].append(mean)
    for _, (first, second) in sorted(parts.items()):
        if first and second:
            yield _Stratum(np.asarray([*first, *second]), len(first))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number (Holm), in the same order.

    Source: Holm, "A simple sequentially rejective multiple test procedure" (1979).

    Raises:
        ValueError: a value is not a probability.
    """
    if not all(0 <= value <= 1 for value in p_values):
        raise ValueError("a p value lies between 0 and 1")
    adjusted = [0.0] * len(p_values)
    greatest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        greatest = max(greatest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = greatest
    return adjusted


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons by normal tests, with p values adjusted for their number (Holm).

    For numbers without paired answers: their p values have no smallest value, so Holm's factor loses nothing.
    Comparisons that cannot be decided keep their p value and do not count in the number (Tarone 1990).
    """
    decidable = [comparison.p_value for comparison in comparisons if comparison.decidable]
    adjusted = iter(holm(decidable))
    corrected = []
    for comparison in comparisons:
        if comparison.decidable:
            p_value = next(adjusted)
            distinguishable = comparison.distinguishable and p_value < 1 - CONFIDENCE
            comparison = comparison._replace(p_value=p_value, distinguishable=distinguishable, family=len(decidable))
        corrected.append(comparison)
    return corrected
