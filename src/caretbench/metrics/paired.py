"""Paired comparison of two runs on the same problems: tests, and intervals of the difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, RESAMPLES, Interval, resampled_interval, widened, wilson
from caretbench.metrics.resampling import ResamplingUnits, all_sign_flipped_sums, sign_flipped_sums, units_of

TestMethod = Literal["mcnemar_exact", "sign_flip_permutation", "jackknife"]


NOT_DISTINGUISHABLE: Final = "not distinguishable"
"""Verdict on two runs that a comparison does not tell apart, although it could."""


class Comparison(NamedTuple):
    """Comparison of two runs on the same problems."""

    difference: float
    """Mean over problems of the second run's score minus the first's."""
    interval: Interval
    p_value: float
    """Two-sided p value; adjusted in results of :func:`with_holm`."""
    method: TestMethod
    n: int
    """Number of problems."""
    groups: int
    """Number of independent groups of problems."""
    distinguishable: bool
    """True if p is below 1 - confidence *and* the interval excludes 0."""

    @property
    def decidable(self) -> bool:
        """Return whether so many groups can tell a difference from chance."""
        return is_decidable(self.groups)

    def verdict(self, above: str, below: str) -> str:
        """Return ``above`` or ``below``, by the sign of a difference that is distinguishable, or why there is none."""
        if self.distinguishable:
            return above if self.difference > 0 else below
        return without_difference(self.groups)


def is_decidable(groups: int) -> bool:
    """Return whether a difference over this number of independent groups of problems can be told from chance.

    Both tests give at least 2 / 2^groups, where every group speaks for the same run: six groups are needed.
    """
    return 2.0 ** (1 - groups) < 1 - CONFIDENCE


def without_difference(groups: int) -> str:
    """Return the verdict where no difference is found: none is to be seen, or none could be."""
    if is_decidable(groups):
        return NOT_DISTINGUISHABLE
    return f"cannot be decided: {groups} independent {'group' if groups == 1 else 'groups'}"


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the two-sided p value of the exact McNemar test.

    Args:
        only_first: Problems that only the first run solves.
        only_second: Problems that only the second run solves.

    Raises:
        ValueError: a count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError("counts are not negative")
    discordant = only_first + only_second
    # Fair coins are symmetrical, so both tails are twice the lower one; the middle, counted twice, is capped.
    ways = tail = 1
    for heads in range(min(only_first, only_second)):
        ways = ways * (discordant - heads) // (heads + 1)
        tail += ways
    return min(1.0, float(Fraction(2 * tail, 1 << discordant)))


def sign_flip_p_value(units: ResamplingUnits, seed: int, resamples: int = RESAMPLES) -> float:
    """Return the two-sided p value of the paired permutation test: sign flips of each unit's difference.

    All sign flips where they are no more than ``resamples``, else random ones. The observed difference counts as one of
    these, so the value is never 0 and the test is exact (Phipson and Smyth 2010).
    """
    observed = abs(float(units.sums.sum()))
    least = observed - 1e-9 * max(1.0, observed)
    if 2**units.number <= resamples:
        return float((np.abs(all_sign_flipped_sums(units)) >= least).mean())
    flipped = np.abs(sign_flipped_sums(units, resamples, seed))
    return (int((flipped >= least).sum()) + 1) / (resamples + 1)


def compare(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    overlap_groups: Sequence[str | None] | None = None,
) -> Comparison:
    """Compare two runs by their scores on the same problems, in the same order.

    Scores 0 and 1 of independent problems (one sample each) are tested by the exact McNemar test, all others by sign
    flips. The interval is a BCa bootstrap of the differences; over fewer than 20 clusters or overlap groups it is
    never narrower than the one that Wilson's intervals of gains and losses give.

    Raises:
        ValueError: no problems, values that are not finite, or sequences of different lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} problems cannot be paired with {len(second)}")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    units = units_of(b - a, clusters, overlap_groups)
    method: TestMethod = "sign_flip_permutation"
    if not units.clustered and np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all():
        method = "mcnemar_exact"
        p_value = mcnemar_exact(int((a > b).sum()), int((b > a).sum()))
    else:
        p_value = sign_flip_p_value(units, seed)
    within_one = bool(min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 1)
    if within_one and not (b - a).any():
        # Never different in n units: the share of problems that differ, and so the difference, is at most this.
        interval = _least_difference(units)._replace(warning=units.warning)
    else:
        interval = resampled_interval(units, seed=seed)
        if within_one and units.number > 1 and units.few:
            interval = widened(interval, _least_difference(units))
    return Comparison(
        difference=units.mean,
        interval=interval,
        p_value=p_value,
        method=method,
        n=units.problems,
        groups=units.number,
        distinguishable=_distinguishable(p_value, interval),
    )


def _least_difference(units: ResamplingUnits) -> Interval:
    """Return the interval of a difference of rates from Wilson's of the gains and the losses, over the units.

    Source: Newcombe, "Interval estimation for the difference between independent proportions" (1998), method 10.
    """
    problems, number = float(units.sizes.sum()), units.number
    gained, lost = (float(part.clip(0).sum()) / problems for part in (units.sums, -units.sums))
    above, below = (wilson(min(share, 1.0) * number, number) for share in (gained, lost))
    low = gained - lost - math.hypot(gained - above.low, below.high - lost)
    high = gained - lost + math.hypot(above.high - gained, lost - below.low)
    return Interval(low, high, "wilson")


def _distinguishable(p_value: float, interval: Interval) -> bool:
    known = not math.isnan(interval.low)
    return known and p_value < 1 - CONFIDENCE and not interval.low <= 0 <= interval.high


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
    """Return the comparisons with p values adjusted for their number (Holm), and ``distinguishable`` accordingly.

    Comparisons that cannot be decided keep their p value and do not count in the number: they cannot find anything.
    Source: Tarone, "A modified Bonferroni method for discrete data" (1990).
    """
    adjusted = iter(holm([comparison.p_value for comparison in comparisons if comparison.decidable]))
    found = []
    for comparison in comparisons:
        p_value = next(adjusted) if comparison.decidable else comparison.p_value
        known = _distinguishable(p_value, comparison.interval)
        found.append(comparison._replace(p_value=p_value, distinguishable=known))
    return found
