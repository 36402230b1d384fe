"""Confidence intervals of means over problems: Wilson for one sample per problem, else a seeded bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.grouping import grouped

# The share of samples beyond an end of the interval has a standard error of 0.16 points; with 1,000 samples, 0.5.
RESAMPLES = 10_000
_SHARED_RESAMPLES = 2_000
"""Number of samples that many sets of units share: 0.5 s instead of 3 for all pairs of 40 models."""
_DRAWN_ALONE = 20
"""Maximum number of sets of units that have samples of their own."""
CONFIDENCE = 0.95

_NORMAL = NormalDist()  # scipy.special would take longer to load than a whole report of one problem

BootstrapMethod = Literal["percentile", "bca"]
Method = Literal["wilson", "parametric", "percentile", "bca", "jackknife", "constant", "undefined"]


class Interval(NamedTuple):
    """Confidence interval and its method; ``warning`` is a reason for which it may be unreliable.

    The method ``undefined`` has NaN bounds: one unit does not determine the spread. ``constant`` has no width, because
    all values are equal.
    """

    low: float
    high: float
    method: Method
    warning: str | None = None


def wilson(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a proportion, without continuity correction.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927).

    Raises:
        ValueError: no trials, impossible counts, or a confidence outside 0 to 1.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no proportion")
    z = _quantile(confidence)
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    # At the ends the bound is exact; rounding would leave it a hair inside.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(low, high, "wilson")


def parametric_bootstrap(successes: int, trials: int, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """Return the interval of SimCoPilot's paper: the mean ± z standard deviations of simulated pass rates.

    The released code sets no seed. It treats problems as independent, and its bounds may leave the range from 0 to 1;
    for rates off the ends it agrees with Wald's interval to the printed digit.

    Raises:
        ValueError: no trials, impossible counts, or no resamples.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no proportion")
    if resamples < 1:
        raise ValueError("a bootstrap needs resamples")
    rates = np.random.default_rng(seed).binomial(trials, successes / trials, size=resamples) / trials
    mean, half = float(rates.mean()), _quantile(CONFIDENCE) * float(rates.std())
    return Interval(mean - half, mean + half, "parametric")


def plus_minus(rate: float, interval: Interval) -> str:
    """Return a rate as papers print it, in percent, with half the width of its interval: ``78.5 ± 4.1``."""
    return f"{100 * rate:.1f} ± {50 * (interval.high - interval.low):.1f}"


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it lies between 0 and 1")
    return _NORMAL.inv_cdf(0.5 + confidence / 2)


def bootstrap_mean(
    values: Sequence[float] | Floats,
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    overlap_groups: Sequence[str | None] | None = None,
    method: BootstrapMethod = "bca",
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the bootstrap interval of the mean over problems.

    Values that are all 0 or all 1 have no spread to resample: the result is then Wilson's interval over the units.
    Over fewer than 20 clusters or overlap groups, whose spread a bootstrap understates, the interval of values from 0
    to 1 is never narrower than Wilson's over the units.

    Args:
        values: One value per problem, such as its pass rate over samples.
        seed: Random seed.
        clusters: Source of each problem; whole sources are drawn.
        overlap_groups: Drawn instead of the sources if there are fewer than 20 sources, with a warning.
        method: ``percentile``, or ``bca``, which corrects for bias and skewness (Efron 1987).
        resamples: Number of resamples.

    Raises:
        ValueError: no values, values that are not finite, or sequences of different lengths.
    """
    units = units_of(values, clusters, overlap_groups)
    array = np.asarray(values, dtype=np.float64)
    if (array == array[0]).all() and array[0] in (0.0, 1.0):
        return wilson(float(array[0]) * units.number, units.number)._replace(warning=units.warning)
    bootstrap = resampled_interval(units, seed=seed, method=method, resamples=resamples)
    is_rate = array.min() >= 0.0 and array.max() <= 1.0
    if not (is_rate and units.number > 1 and units.few):
        return bootstrap
    # Three problems with 1 of 15 samples passed had 0 to 20 %, and three with none 0 to 56 %, by Wilson.
    return widened(bootstrap, wilson(units.mean * units.number, units.number))


def widened(interval: Interval, least: Interval) -> Interval:
    """Return an interval that contains both; its warning is that of the first."""
    if interval.low <= least.low and least.high <= interval.high:
        return interval
    method = least.method if least.low <= interval.low and interval.high <= least.high else interval.method
    return Interval(min(interval.low, least.low), max(interval.high, least.high), method, interval.warning)


def mean_interval(
    values: Sequence[float] | Floats,
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    overlap_groups: Sequence[str | None] | None = None,
) -> Interval:
    """Return the interval of a mean: Wilson for values 0 and 1 of independent problems, else bootstrap.

    Raises:
        ValueError: as :func:`bootstrap_mean`.
    """
    array = np.asarray(values, dtype=np.float64)
    units = units_of(array, clusters, overlap_groups)
    if not units.clustered and np.isin(array, (0.0, 1.0)).all():
        return wilson(float(array.sum()), len(array))._replace(warning=units.warning)
    return bootstrap_mean(array, seed=seed, clusters=clusters, overlap_groups=overlap_groups)


def resampled_intervals(family: Sequence[ResamplingUnits], *, seed: int) -> list[Interval]:
    """Return the BCa interval of each of several sets of units; more than 20 have 2,000 resamples each, in common."""
    if len(family) <= _DRAWN_ALONE:
        return [resampled_interval(units, seed=seed) for units in family]
    intervals = {
        index: resampled_interval(family[index], seed=seed, drawn=means)
        for index, means in means_together(family, _SHARED_RESAMPLES, seed)
    }
    return [intervals[index] for index in range(len(family))]


def resampled_interval(
    units: ResamplingUnits,
    *,
    seed: int,
    method: BootstrapMethod = "bca",
    resamples: int = RESAMPLES,
    drawn: Floats | None = None,
) -> Interval:
    """Return the bootstrap interval of the mean over problems, by drawing units, or from the means that were ``drawn``.

    Raises:
        ValueError: fewer than one resample.
    """
    if resamples < 1:
        raise ValueError("a bootstrap needs resamples")
    z = _quantile(CONFIDENCE)
    if units.number < 2:
        return Interval(math.nan, math.nan, "undefined", "one unit alone says nothing about the spread")
    ratios = units.sums / units.sizes
    if np.ptp(ratios) <= 1e-12 * max(1.0, float(np.abs(ratios).max())):
        warning = units.warning or "all values are the same: the interval has no width, not no error"
        return Interval(units.mean, units.mean, "constant", warning)
    means = resampled_means(units, resamples, seed) if drawn is None else drawn
    tails = [-z, z] if method == "percentile" else _corrected(units, means, z)
    low, high = np.quantile(means, [_NORMAL.cdf(tail) for tail in tails])
    return Interval(float(low), float(high), method, units.warning)


def _corrected(units: ResamplingUnits, means: Floats, z: float) -> list[float]:
    """Return the normal quantiles of BCa: shifted by the bias, stretched by the skewness that the jackknife shows."""
    observed = units.mean
    tolerance = 1e-9 * max(1.0, abs(observed))
    # Means have ties where values have few levels; half of them lie below.
    below = float((means < observed - tolerance).mean() + (means <= observed + tolerance).mean()) / 2
    edge = 0.5 / len(means)
    bias = _NORMAL.inv_cdf(min(max(below, edge), 1 - edge))
    left_out = (units.sums.sum() - units.sums) / (units.sizes.sum() - units.sizes)
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * spread) if spread else 0.0
    return [
        bias + (bias + tail) / (1 - acceleration * (bias + tail)) if acceleration * (bias + tail) < 1 else tail
        for tail in (-z, z)
    ]


Floats = NDArray[np.float64]
Units = NDArray[np.uint16] | NDArray[np.int32]

MIN_CLUSTERS = 20
"""Minimum number of clusters; with fewer, cluster-robust statistics reject far too often."""

_BATCH_SIZE = 2_000_000
"""Number of values drawn at a time, which limits memory to a few tens of megabytes."""

_REMEMBERED_SIZE = 20_000_000
"""Maximum number of drawn units that are remembered, at two bytes: 1,800 problems, 10,000 times."""
_SMALL_SIZE = 1_000_000
"""Maximum number of drawn units of the draws of which several are remembered: 300 problems, 2,000 times."""
_SUMMED_SIZE = 60_000
"""Number of values summed at a time: they stay in the processor's cache, which is three times as fast."""

_SUMMED_TOGETHER = 500
"""Maximum number of sets whose means are drawn in one matrix product: 8 MB of 2,000 samples."""

_FEW_LEVELS = 64


class ResamplingUnits(NamedTuple):
    """Units of resampling: the sum of values and the number of problems in each unit."""

    sums: Floats
    sizes: Floats
    problems: int
    clustered: bool
    """True if some unit contains more than one problem."""
    warning: str | None
    keys: NDArray[np.str_]
    """Name of each unit, the same for the same unit of other values."""

    @property
    def number(self) -> int:
        """Number of units."""
        return len(self.sums)

    @property
    def few(self) -> bool:
        """Return whether there are fewer than 20 units, of problems that are not known to be independent."""
        return self.number < MIN_CLUSTERS and (self.clustered or self.warning is not None)

    @property
    def mean(self) -> float:
        """Mean over problems."""
        return float(self.sums.sum() / self.sizes.sum())


def units_of(
    values: Sequence[float] | Floats,
    clusters: Sequence[str] | None = None,
    overlap_groups: Sequence[str | None] | None = None,
) -> ResamplingUnits:
    """Group the values of problems into the units that are drawn.

    Args:
        values: One value per problem.
        clusters: Source of each problem; None draws single problems.
        overlap_groups: Overlap group of each problem, or None. Used instead of the clusters if there are fewer than
            :data:`MIN_CLUSTERS`.

    Raises:
        ValueError: no values, values that are not finite, or sequences of different lengths.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError("there is nothing to resample: one value a problem, and at least one problem")
    if not np.isfinite(array).all():
        raise ValueError("a value is not finite; leave problems without a score out")
    for labels in (clusters, overlap_groups):
        if labels is not None and len(labels) != len(array):
            raise ValueError(f"{len(labels)} labels do not fit {len(array)} values")
    keys, warning = _keys(len(array), clusters, overlap_groups)
    if keys is None:
        places = np.arange(len(array)).astype(np.str_)
        return ResamplingUnits(array, np.ones_like(array), len(array), clustered=False, warning=warning, keys=places)
    names, codes = np.unique(np.asarray(keys, dtype=np.str_), return_inverse=True)
    sizes: Floats = np.bincount(codes).astype(np.float64)
    sums: Floats = np.bincount(codes, weights=array).astype(np.float64)
    return ResamplingUnits(sums, sizes, len(array), clustered=bool((sizes > 1).any()), warning=warning, keys=names)


def _keys(
    count: int, clusters: Sequence[str] | None, overlap_groups: Sequence[str | None] | None
) -> tuple[list[str] | None, str | None]:
    if clusters is None:
        return None, None
    distinct = len(set(clusters))
    if distinct >= MIN_CLUSTERS or distinct == count:
        return list(clusters), None
    warning = f"only {distinct} cluster{'' if distinct == 1 else 's'}: "
    if overlap_groups is None:
        return list(clusters), warning + "the interval may be too narrow"
    keys = [f"g{group}" if group is not None else f"p{index}" for index, group in enumerate(overlap_groups)]
    return keys, warning + "resampled by overlap group, which ignores what problems of a source share"


def _drawn_units(number: int, resamples: int, seed: int) -> Iterator[Units]:
    """Yield the units of ``resamples`` bootstrap samples, some samples at a time."""
    rng = np.random.default_rng(seed)
    step = max(1, _BATCH_SIZE // number)
    for start in range(0, resamples, step):
        yield rng.integers(0, number, size=(min(step, resamples - start), number), dtype=np.int32)


def _remembered_units(number: int, resamples: int, seed: int) -> tuple[Units, ...]:
    """Return all drawn units; cached, since every metric of the same problems draws the same ones."""
    small = number * resamples <= _SMALL_SIZE
    return (_small_units if small else _large_units)(number, resamples, seed)


def _all_units(number: int, resamples: int, seed: int) -> tuple[Units, ...]:
    return tuple(batch.astype(np.uint16) for batch in _drawn_units(number, resamples, seed))


# Models take turns between all problems and their parts, so the draws of parts must not displace those of all.
_small_units, _large_units = lru_cache(maxsize=8)(_all_units), lru_cache(maxsize=2)(_all_units)


# 14 to 58 ms for each run of levels, and every metric of the same problems has the same.
@lru_cache(maxsize=64)
def _drawn_counts(counts: tuple[int, ...], resamples: int, seed: int) -> Units:
    """Return how often each level comes in every bootstrap sample.

    Cached: 50 problems of different values have the same counts, whatever the metric, and drawing them takes 14 ms.
    """
    number = sum(counts)
    drawn = np.random.default_rng(seed).multinomial(number, np.asarray(counts) / number, size=resamples)
    return drawn.astype(np.uint16) if number <= np.iinfo(np.uint16).max else drawn.astype(np.int32)


def resampled_means(units: ResamplingUnits, resamples: int, seed: int) -> Floats:
    """Return the means over problems of ``resamples`` bootstrap samples of the units."""
    if not units.clustered:
        levels, counts = np.unique(units.sums, return_counts=True)
        if len(levels) <= _FEW_LEVELS:
            # Pass rates have few levels: drawing how often each comes is the same, and much faster.
            few: Floats = _drawn_counts(tuple(counts.tolist()), resamples, seed).astype(np.float64) @ levels
            return few / units.number
    small = units.number <= np.iinfo(np.uint16).max and units.number * resamples <= _REMEMBERED_SIZE
    draw = _remembered_units if small else _drawn_units
    step = max(1, _SUMMED_SIZE // units.number)
    means = []
    for batch in draw(units.number, resamples, seed):
        for start in range(0, len(batch), step):
            index = batch[start : start + step]
            sizes = units.sizes.take(index).sum(axis=1) if units.clustered else float(units.number)
            means.append(units.sums.take(index).sum(axis=1) / sizes)
    return np.concatenate(means)


def means_together(family: Sequence[ResamplingUnits], resamples: int, seed: int) -> Iterator[tuple[int, Floats]]:
    """Yield the place of each of many sets of units, and its means over ``resamples`` bootstrap samples.

    Sets with the same units share the samples and one matrix product: 780 pairs of models in 0.1 s instead of 10.
    """
    alike = grouped((units.sizes.tobytes(), index) for index, units in enumerate(family))
    for places in alike.values():
        sizes = family[places[0]].sizes
        number = len(sizes)
        drawn = np.concatenate(list(_drawn_units(number, resamples, seed)))
        drawn += np.arange(resamples, dtype=np.int32)[:, None] * number
        counts = np.bincount(drawn.ravel(), minlength=resamples * number).reshape(resamples, number).astype(np.float64)
        problems = counts @ sizes
        for start in range(0, len(places), _SUMMED_TOGETHER):
            chosen = places[start : start + _SUMMED_TOGETHER]
            means = np.stack([family[index].sums for index in chosen]) @ counts.T / problems
            yield from zip(chosen, means, strict=True)
