"""Agreement of raters, such as people or a judge and people, beyond what chance gives.

Every coefficient is 1 for perfect agreement and about 0 for chance, and None (*undefined*) where nothing can disagree.
The functions that end in ``_statistic`` are for intervals
(:func:`caretbench.metrics.agreement.item_statistic.item_estimate`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from caretbench.metrics.agreement.item_statistic import ItemStatistic
from caretbench.metrics.intervals import Floats

Rating = float | str
"""Rating of an item: a number, or for nominal data also a text."""

AlphaLevel = Literal["nominal", "ordinal", "interval"]
"""Meaning of the ratings: names, ranks, or numbers whose differences count."""


ItemT = TypeVar("ItemT", bound=str | tuple[str, ...])


class _RatedItems(NamedTuple):
    """Ratings of items as counts: ``counts`` (items × levels), and the levels in order."""

    counts: Floats
    levels: Sequence[Rating]


def krippendorff_alpha(ratings: Sequence[Sequence[Rating | None]], level: AlphaLevel = "ordinal") -> float | None:
    """Return Krippendorff's alpha; None if nothing can disagree.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).

    Args:
        ratings: A row for each rater, a column for each item; None for a missing rating.
        level: Meaning of the ratings.

    Raises:
        ValueError: rows of different lengths, ratings that are not finite, or texts that are not nominal.
    """
    return alpha_statistic(ratings, level).estimate


def alpha_statistic(ratings: Sequence[Sequence[Rating | None]], level: AlphaLevel = "ordinal") -> ItemStatistic:
    """Return Krippendorff's alpha as a function of the items; errors as in :func:`krippendorff_alpha`."""
    rated = _rated_items(ratings)
    if level != "nominal" and any(isinstance(value, str) for value in rated.levels):
        raise ValueError("ratings that are texts are nominal")
    patterns, numbers = _distinct(rated.counts[rated.counts.sum(axis=1) > 1])
    size = len(rated.levels)
    # Ordered pairs of ratings of one item, weighted so that an item counts by the number of its ratings.
    each = patterns[:, :, None] * patterns[:, None, :]
    each[:, np.arange(size), np.arange(size)] -= patterns
    each /= (patterns.sum(axis=1) - 1)[:, None, None] if len(patterns) else 1
    pairs = each.reshape(len(patterns), size * size)

    def value(weights: Floats) -> Floats:
        coincidences = (weights @ pairs).reshape(-1, size, size)
        totals = coincidences.sum(axis=2)
        distances = _distances(level, rated.levels, totals)
        observed = (coincidences * distances).sum(axis=(1, 2))
        by_chance = np.einsum("bi,bj,bij->b", totals, totals, distances) / (totals.sum(axis=1) - 1)
        return _ratio(observed, by_chance)

    return ItemStatistic(value, numbers)


def _distances(level: AlphaLevel, levels: Sequence[Rating], totals: Floats) -> Floats:
    """Return the squared distances of levels for each row of totals (rows × levels × levels)."""
    if level == "nominal":
        unequal: Floats = np.broadcast_to(1.0 - np.eye(len(levels)), (len(totals), len(levels), len(levels)))
        return unequal
    if level == "interval":
        places = np.broadcast_to(np.asarray(levels, dtype=np.float64), totals.shape)
    else:
        places = np.cumsum(totals, axis=1) - totals / 2
    squares: Floats = (places[:, :, None] - places[:, None, :]) ** 2
    return squares


def fleiss_kappa(ratings: Sequence[Sequence[Rating | None]]) -> float | None:
    """Return Fleiss' kappa for nominal ratings; None if nothing can disagree.

    All items need the same number of ratings: items with fewer than the most that an item has do not count.

    Source: Fleiss, "Measuring nominal scale agreement among many raters" (1971).
    """
    return fleiss_statistic(ratings).estimate


def fleiss_statistic(ratings: Sequence[Sequence[Rating | None]]) -> ItemStatistic:
    """Return Fleiss' kappa as a function of the items; raters in rows, items in columns."""
    counts = _rated_items(ratings).counts
    sizes = counts.sum(axis=1)
    raters = float(sizes.max(initial=0.0))
    patterns, numbers = _distinct(counts[sizes == raters] if raters > 1 else counts[:0])
    agreement = ((patterns**2).sum(axis=1) - raters) / (raters * (raters - 1)) if raters > 1 else np.zeros(0)

    def value(weights: Floats) -> Floats:
        items = weights.sum(axis=1)
        shares = (weights @ patterns) / (items * raters)[:, None]
        by_chance = (shares**2).sum(axis=1)
        return _ratio(1 - weights @ agreement / items, 1 - by_chance)

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
    levels = _levels([*first, *second])
    size = len(levels)
    codes = _codes(first, levels), _codes(second, levels)
    table = np.zeros((len(first), size * size))
    table[np.arange(len(first)), codes[0] * size + codes[1]] = 1
    patterns, numbers = _distinct(table)
    places = np.asarray(levels if weights else range(size), dtype=np.float64)
    costs = (places[:, None] - places[None, :]) ** 2 if weights else 1.0 - np.eye(size)

    def value(drawn: Floats) -> Floats:
        joint = (drawn @ patterns).reshape(-1, size, size)
        expected = np.einsum("bi,bj->bij", joint.sum(axis=2), joint.sum(axis=1)) / joint.sum(axis=(1, 2))[:, None, None]
        return _ratio((joint * costs).sum(axis=(1, 2)), (expected * costs).sum(axis=(1, 2)))

    return ItemStatistic(value, numbers)


def equal_share(ratings: Sequence[Sequence[Rating | None]]) -> float | None:
    """Return the share of equal pairs of ratings of one item, 0 to 1, as the mean over items with at least two."""
    counts = _rated_items(ratings).counts
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return None
    sizes = counts.sum(axis=1)
    return float((((counts**2).sum(axis=1) - sizes) / (sizes * (sizes - 1))).mean())


def alpha_of_people(values: Mapping[ItemT, Mapping[str, float]]) -> float | None:
    """Return Krippendorff's ordinal alpha from values by item and person; None if it is undefined."""
    people = sorted({person for given in values.values() for person in given})
    return krippendorff_alpha([[given.get(person) for given in values.values()] for person in people])


def _rated_items(ratings: Sequence[Sequence[Rating | None]]) -> _RatedItems:
    """Return the counts of each level for each item."""
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater needs a place for every item, None where there is no rating")
    levels = _levels([value for row in ratings for value in row if value is not None])
    counts = np.zeros((len(ratings[0]) if ratings else 0, len(levels)))
    for row in ratings:
        items = [place for place, value in enumerate(row) if value is not None]
        counts[items, _codes([value for value in row if value is not None], levels)] += 1
    return _RatedItems(counts, levels)


def _levels(values: Sequence[Rating]) -> list[Rating]:
    distinct = set(values)
    numbers = [value for value in distinct if not isinstance(value, str)]
    if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
        raise ValueError("a rating is not finite; give None for a missing one")
    return [*sorted(numbers), *sorted(value for value in distinct if isinstance(value, str))]


def _codes(values: Sequence[Rating], levels: Sequence[Rating]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    places = {value: place for place, value in enumerate(levels)}
    return np.fromiter((places[value] for value in values), dtype=np.intp, count=len(values))


def _distinct(rows: Floats) -> tuple[Floats, Floats]:
    """Return the distinct rows, and how often each occurs."""
    if not len(rows):
        return rows, np.zeros(0)
    patterns, numbers = np.unique(rows, axis=0, return_counts=True)
    return patterns, numbers.astype(np.float64)


def _ratio(observed: Floats, by_chance: Floats) -> Floats:
    """Return 1 - observed / by chance; NaN where chance gives no disagreement."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(by_chance > 1e-12, 1 - observed / by_chance, np.nan)
    return ratio
