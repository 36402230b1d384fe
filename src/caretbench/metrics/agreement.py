"""Agreement of raters, such as a judge with a person, beyond what chance gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]]) -> float | None:
    """Return Krippendorff's ordinal alpha: 1 is perfect, 0 is chance, None if nothing can disagree.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).

    Args:
        ratings: A row for each rater, a column for each item; None for a missing rating.

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
    places = np.cumsum(totals) - totals / 2
    distances = (places[:, None] - places[None, :]) ** 2
    observed = float((coincidences * distances).sum())
    by_chance = float((np.outer(totals, totals) * distances).sum()) / (float(totals.sum()) - 1)
    return 1 - observed / by_chance
