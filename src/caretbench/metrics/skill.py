"""Scores above a floor: what a model adds to what needs no model (the empty answer, chance, copying)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, RESAMPLES, Interval
from caretbench.metrics.resampling import FEWEST_CLUSTERS


def skill(score: float, floor: float, ceiling: float = 1.0) -> float | None:
    """How far ``score`` goes from ``floor`` (0) to ``ceiling`` (1); negative below the floor.

    The form of chance-corrected scores such as Cohen's kappa. None where the floor reaches the ceiling:
    nothing can be told apart there.
    """
    return (score - floor) / (ceiling - floor) if floor < ceiling else None


def net_of_floor(scores: Sequence[float], floors: Sequence[float]) -> list[float]:
    """Score minus floor of each problem, such as pass rate net of the empty answer's.

    The differences can be averaged, and given to the intervals and paired tests.

    Raises:
        ValueError: the sequences differ in length.
    """
    return [score - floor for score, floor in zip(scores, floors, strict=True)]


def skill_interval(
    scores: Sequence[float],
    floors: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Percentile interval of the skill of means: scores and floors of a problem are drawn together, by cluster.

    Args:
        scores: One value a problem, from 0 to 1.
        floors: What the floor has for the same problems.
        clusters: The source of each problem; whole sources are drawn.
        seed: Of the random numbers.
        resamples: How many.
        confidence: Of the interval, between 0 and 1.

    Raises:
        ValueError: no problems, or sequences of different lengths.
    """
    if not scores or not len(scores) == len(floors) == len(clusters):
        raise ValueError("one score, floor and cluster a problem, and at least one problem")
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    table = np.stack(
        [np.bincount(codes, weights=np.asarray(values, dtype=np.float64)) for values in (scores, floors)]
    )
    sizes = np.bincount(codes).astype(np.float64)
    units = len(sizes)
    if units < 2:
        return Interval(math.nan, math.nan, "undefined", "one source alone says nothing about the spread")
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(units, np.full(units, 1 / units), size=resamples).astype(np.float64)
    above, below = (drawn @ table[0] - drawn @ table[1]), (drawn @ sizes - drawn @ table[1])
    values = above[below > 0] / below[below > 0]
    if not values.size:
        return Interval(math.nan, math.nan, "undefined", "the floor reaches every answer")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    warning = f"only {units} sources: the interval may be too narrow" if units < FEWEST_CLUSTERS else None
    return Interval(float(low), float(high), "percentile", warning)
