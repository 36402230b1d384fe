"""Agreement of raters, such as a judge with a person, beyond what chance gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np


def _check(first: Sequence[object], second: Sequence[object]) -> None:
    if len(first) != len(second) or not first:
        raise ValueError(
            f"{len(first)} ratings cannot be paired with {len(second)}; at least one pair is needed"
        )


def agreement_rate(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Share of items that both raters rate the same.

    Raises:
        ValueError: no ratings, or of different numbers of items.
    """
    _check(first, second)
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of labels without an order: 1 perfect, 0 as by chance, negative below chance.

    None where both give every item one and the same label: chance agrees perfectly, too.
    Source: Cohen, "A coefficient of agreement for nominal scales" (1960).

    Raises:
        ValueError: no ratings, or of different numbers of items.
    """
    observed = agreement_rate(first, second)
    counts = Counter(first), Counter(second)
    by_chance = sum(count * counts[1][label] for label, count in counts[0].items()) / len(first) ** 2
    return (observed - by_chance) / (1 - by_chance) if by_chance < 1 else None


def quadratic_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kappa of scores on a scale, where a disagreement weighs by the square of its distance.

    None where both give every item one and the same score.
    Source: Cohen, "Weighted kappa" (1968).

    Raises:
        ValueError: no ratings, or of different numbers of items, or ratings that are not finite.
    """
    _check(first, second)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        raise ValueError("a rating is not finite; leave items without a rating out")
    if a.min() == b.min() == a.max() == b.max():
        return None
    # By chance every rating of one meets every rating of the other: the mean square of all their distances.
    by_chance = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    return 1 - float(((a - b) ** 2).mean()) / by_chance


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]], level: Literal["ordinal", "interval"] = "ordinal"
) -> float | None:
    """Krippendorff's alpha of any number of raters, who may leave items out: 1 perfect, 0 as by chance.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).

    Args:
        ratings: A row for each rater, a column for each item; None where a rater gave none.
        level: ``ordinal`` weighs two ratings by how many ratings lie between them, ``interval`` by their distance.

    Returns:
        None where no item has two ratings, or where all those ratings are one and the same.

    Raises:
        ValueError: rows of different lengths, or ratings that are not finite.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater needs a place for every item, None where there is no rating")
    items = [[value for value in item if value is not None] for item in zip(*ratings, strict=True)]
    items = [item for item in items if len(item) > 1]
    levels = np.unique([value for item in items for value in item])
    if not np.isfinite(levels).all():
        raise ValueError("a rating is not finite; give None for a missing one")
    if len(levels) < 2:
        return None
    # Coincidences: every ordered pair of ratings of one item, weighted so that an item counts by its ratings.
    coincidences = np.zeros((len(levels), len(levels)))
    for item in items:
        counts = np.bincount(np.searchsorted(levels, item), minlength=len(levels)).astype(np.float64)
        present = np.flatnonzero(counts)
        few = counts[present]
        coincidences[np.ix_(present, present)] += (np.outer(few, few) - np.diag(few)) / (len(item) - 1)
    totals = coincidences.sum(axis=0)
    places = levels if level == "interval" else np.cumsum(totals) - totals / 2
    distances = (places[:, None] - places[None, :]) ** 2
    observed = float((coincidences * distances).sum())
    by_chance = float((np.outer(totals, totals) * distances).sum()) / (float(totals.sum()) - 1)
    return 1 - observed / by_chance
