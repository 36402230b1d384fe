"""Skill: scores above a floor that needs no model (the empty answer, chance, copying)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, RESAMPLES, Interval, widened, wilson


def skill(score: float, floor: float) -> float | None:
    """Return the skill (score - floor) / (1 - floor); negative below the floor.

    Chance-corrected scores such as Cohen's kappa have the same form. None if the floor is 1.
    """
    return (score - floor) / (1 - floor) if floor < 1 else None


def skill_interval(scores: Sequence[float], floors: Sequence[float], clusters: Sequence[str], *, seed: int) -> Interval:
    """Return the bootstrap percentile interval of the skill of mean scores; whole clusters are drawn.

    Over fewer than 20 clusters it is never narrower than the skill at the bounds of Wilson's interval of the score.

    Args:
        scores: One value per problem, from 0 to 1.
        floors: Floor scores of the same problems.
        clusters: Source of each problem; whole sources are drawn.
        seed: Random seed.

    Raises:
        ValueError: no problems, or sequences of different lengths.
    """
    if not scores or not len(scores) == len(floors) == len(clusters):
        raise ValueError("one score, floor and cluster a problem, and at least one problem")
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    table = np.stack([np.bincount(codes, weights=np.asarray(values, dtype=np.float64)) for values in (scores, floors)])
    sizes = np.bincount(codes).astype(np.float64)
    units = len(sizes)
    if units < 2:
        return Interval(math.nan, math.nan, "undefined", "one source alone says nothing about the spread")
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(units, np.full(units, 1 / units), size=RESAMPLES).astype(np.float64)
    # A resample in which the floor reaches every answer leaves no room above it, so its skill is not defined.
    above, below = (drawn @ table[0] - drawn @ table[1]), (drawn @ sizes - drawn @ table[1])
    values = above[below > 0] / below[below > 0]
    if not values.size:
        return Interval(math.nan, math.nan, "undefined", "the floor reaches every answer")
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    if units >= MIN_CLUSTERS:
        return Interval(float(low), float(high), "percentile")
    bounds = Interval(float(low), float(high), "percentile", f"only {units} sources: the interval may be too narrow")
    score, floor = (float(row.sum() / sizes.sum()) for row in table)
    least = wilson(min(score, 1.0) * units, units)
    worst, best = skill(least.low, floor), skill(least.high, floor)
    if worst is None or best is None:
        return bounds
    return widened(bounds, Interval(worst, best, "wilson"))
