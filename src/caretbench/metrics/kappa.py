"""Agreement of raters by kappa and by the share of equal pairs, for reviews; intervals as in ``agreement``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from caretbench.metrics.agreement import (
    ItemStatistic,
    Rating,
    beyond_chance,
    distinct_rows,
    rated_items,
    rating_codes,
    rating_levels,
)
from caretbench.metrics.intervals import Floats


def fleiss_kappa(ratings: Sequence[Sequence[Rating | None]]) -> float | None:
    """Return Fleiss' kappa for nominal ratings; None if nothing can disagree.

    All items need the same number of ratings: items with fewer than the most that an item has do not count.

    Source: Fleiss, "Measuring nominal scale agreement among many raters" (1971).
    """
    return fleiss_statistic(ratings).estimate


def fleiss_statistic(ratings: Sequence[Sequence[Rating | None]]) -> ItemStatistic:
    """Return Fleiss' kappa as a function of the items; raters in rows, items in columns."""
    counts = rated_items(ratings).counts
    sizes = counts.sum(axis=1)
    raters = float(sizes.max(initial=0.0))
    patterns, numbers = distinct_rows(counts[sizes == raters] if raters > 1 else counts[:0])
    agreement = ((patterns**2).sum(axis=1) - raters) / (raters * (raters - 1)) if raters > 1 else np.zeros(0)

    def value(weights: Floats) -> Floats:
        items = weights.sum(axis=1)
        shares = (weights @ patterns) / (items * raters)[:, None]
        by_chance = (shares**2).sum(axis=1)
        return beyond_chance(1 - weights @ agreement / items, 1 - by_chance)

    return ItemStatistic(value, numbers)


def cohen_statistic(
    first: Sequence[Rating], second: Sequence[Rating], weights: Literal["quadratic"] | None = None
) -> ItemStatistic:
    """Return Cohen's kappa of two raters as a function of the items; without a value if nothing can disagree.

    ``quadratic`` weights a disagreement by the square of the difference of the ratings (numbers).

    Source: Cohen, "A coefficient of agreement for nominal scales" (1960), "Weighted kappa" (1968).

    Raises:
        ValueError: the raters have different numbers of items, or ratings that are not finite.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} ratings cannot be paired with {len(second)}")
    levels = rating_levels([*first, *second])
    size = len(levels)
    codes = rating_codes(first, levels), rating_codes(second, levels)
    table = np.zeros((len(first), size * size))
    table[np.arange(len(first)), codes[0] * size + codes[1]] = 1
    patterns, numbers = distinct_rows(table)
    places = np.asarray(levels if weights else range(size), dtype=np.float64)
    costs = (places[:, None] - places[None, :]) ** 2 if weights else 1.0 - np.eye(size)

    def value(drawn: Floats) -> Floats:
        joint = (drawn @ patterns).reshape(-1, size, size)
        expected = np.einsum("bi,bj->bij", joint.sum(axis=2), joint.sum(axis=1)) / joint.sum(axis=(1, 2))[:, None, None]
        return beyond_chance((joint * costs).sum(axis=(1, 2)), (expected * costs).sum(axis=(1, 2)))

    return ItemStatistic(value, numbers)


def equal_share(ratings: Sequence[Sequence[Rating | None]]) -> float | None:
    """Return the share of equal pairs of ratings of one item, 0 to 1, as the mean over items with at least two."""
    counts = rated_items(ratings).counts
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return None
    sizes = counts.sum(axis=1)
    return float((((counts**2).sum(axis=1) - sizes) / (sizes * (sizes - 1))).mean())
