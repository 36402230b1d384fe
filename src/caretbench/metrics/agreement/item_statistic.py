"""Statistics over items with seeded intervals: items are drawn anew, and all ratings of an item stay together."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, Floats

ITEM_RESAMPLES: Final = 2_000
"""Default number of resamples."""

MINIMUM_ITEMS: Final = 3
"""Number of items below which there is no interval."""

_CELLS: Final = 2_000_000
"""Number of weights that are held at a time, which limits memory to some tens of megabytes."""


class ItemStatistic(NamedTuple):
    """Statistic over items, as a function of how often each item counts.

    Items with equal ratings are one column with a higher count, so that large tables cost little.
    """

    value: Callable[[Floats], Floats]
    """Function from weights (rows: samples, columns: distinct items) to the value of each row; NaN: undefined."""
    counts: Floats
    """Number of items of each column."""

    @property
    def items(self) -> int:
        """Number of items."""
        return round(float(self.counts.sum()))

    @property
    def estimate(self) -> float | None:
        """Value over the items, None where it is undefined."""
        return _defined(float(self.value(self.counts[None, :])[0])) if self.items else None


class ItemEstimate(NamedTuple):
    """Value with its confidence interval; the bounds are None where too few items or resamples have a value."""

    value: float | None
    low: float | None
    high: float | None
    items: int


def item_estimate(
    statistic: ItemStatistic, *, seed: int = 0, resamples: int = ITEM_RESAMPLES, confidence: float = CONFIDENCE
) -> ItemEstimate:
    """Return a statistic with its bootstrap interval over items (BCa).

    Source: Efron, "Better bootstrap confidence intervals" (1987), with the acceleration from the jackknife.
    """
    value = statistic.estimate
    if value is None or statistic.items < MINIMUM_ITEMS:
        return ItemEstimate(value, None, None, statistic.items)
    drawn = _resampled([statistic], seed, resamples)[0]
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < resamples / 2:
        return ItemEstimate(value, None, None, statistic.items)
    low, high = _bca_bounds(drawn, value, _jackknifed(statistic), statistic.counts, confidence)
    return ItemEstimate(value, low, high, statistic.items)


def _resampled(statistics: list[ItemStatistic], seed: int, resamples: int) -> list[Floats]:
    """Return the values of statistics over the same resamples."""
    counts = statistics[0].counts
    total = statistics[0].items
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // len(counts))
    by_statistic: list[list[Floats]] = [[] for _ in statistics]
    for start in range(0, resamples, step):
        weights: Floats = rng.multinomial(total, counts / total, size=min(step, resamples - start)).astype(np.float64)
        for values, statistic in zip(by_statistic, statistics, strict=True):
            values.append(statistic.value(weights))
    return [np.concatenate(values) for values in by_statistic]


def _jackknifed(statistic: ItemStatistic) -> Floats:
    """Return the values without one item of each column."""
    columns = len(statistic.counts)
    step = max(1, _CELLS // columns)
    parts = []
    for start in range(0, columns, step):
        stop = min(start + step, columns)
        weights = np.repeat(statistic.counts[None, :], stop - start, axis=0)
        weights[np.arange(stop - start), np.arange(start, stop)] -= 1
        parts.append(statistic.value(weights))
    values: Floats = np.concatenate(parts)
    return values


def _bca_bounds(
    drawn: Floats, value: float, without_one: Floats, counts: Floats, confidence: float
) -> tuple[float, float]:
    normal = NormalDist()
    below = float((drawn < value).mean() + (drawn == value).mean() / 2)
    bias = normal.inv_cdf(min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))
    fits = np.isfinite(without_one)
    weights, values = counts[fits], without_one[fits]
    deviations = np.average(values, weights=weights) - values if len(values) else values
    squares = float((weights * deviations**2).sum())
    acceleration = float((weights * deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    bounds = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        shifted = bias + normal.inv_cdf(tail)
        share = normal.cdf(bias + shifted / (1 - acceleration * shifted)) if acceleration * shifted < 1 else tail
        bounds.append(float(np.quantile(drawn, min(max(share, 0.0), 1.0))))
    return min(bounds), max(bounds)


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None
