"""Comparison of the means of two groups of different problems, within strata."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from caretbench.errors import UsageError
from caretbench.metrics.intervals import CONFIDENCE, RESAMPLES, Interval
from caretbench.metrics.paired import holm
from caretbench.metrics.resampling import Floats

_Z = 1.959963984540054


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
        found: Floats = np.asarray(first_sums) / self.first - rest / (len(self.values) - self.first)
        return found


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
        levels, counts = np.unique(stratum.values, return_counts=True)
        chosen = generator.multivariate_hypergeometric(counts, stratum.first, size=RESAMPLES)
        drawn += stratum.weight * stratum.difference(chosen @ levels)
        arrangements = min(arrangements * math.comb(len(stratum.values), stratum.first), math.inf)
    difference, drawn = observed / total, drawn / total
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
    known = not math.isnan(interval.low)
    return known and p_value < 1 - CONFIDENCE and not interval.low <= 0 <= interval.high


def differences_with_holm(found: Sequence[GroupDifference]) -> list[GroupDifference]:
    """Return differences with p values adjusted for their number (Holm); undecidable ones do not count in it."""
    adjusted = iter(holm([one.p_value for one in found if one.decidable]))
    p_values = [next(adjusted) if one.decidable else one.p_value for one in found]
    return [
        one._replace(p_value=p_value, distinguishable=one.decidable and _distinguishable(p_value, one.interval))
        for one, p_value in zip(found, p_values, strict=True)
    ]


def _strata(values: Sequence[GroupedValue]) -> Iterator[_Stratum]:
    """Yield the strata with clusters of both groups; a cluster is in the stratum of its first problem."""
    clusters: dict[str, list[GroupedValue]] = defaultdict(list)
    for one in values:
        clusters[one.cluster].append(one)
    parts: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for name, members in sorted(clusters.items()):
        if len({one.first for one in members}) > 1:
            raise UsageError(f"the cluster {name!r} has problems of both groups")
        mean = math.fsum(one.value for one in members) / len(members)
        parts[members[0].stratum][0 if members[0].first else 1].append(mean)
    for _, (first, second) in sorted(parts.items()):
        if first and second:
            yield _Stratum(np.asarray([*first, *second]), len(first))
