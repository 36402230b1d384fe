"""Confidence intervals of means over problems: Wilson for one sample per problem, else a seeded bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from caretbench.metrics.resampling import Floats, ResamplingUnits, means_together, resampled_means, units_of

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
