"""Correlation of two series, such as judge scores and pass rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

_FEWEST = 3
"""Minimum number of pairs: two points are always on a line."""


class Correlation(NamedTuple):
    """A coefficient from -1 to 1, its two-sided p value, and the number of pairs."""

    coefficient: float
    p_value: float
    n: int


def _constant(values: Sequence[float]) -> bool:
    array = np.asarray(values, dtype=np.float64)
    # As scipy does: spread that is rounding error relative to the mean is no spread.
    return bool(np.linalg.norm(array - array.mean()) <= 1e-13 * max(abs(array.mean()), np.finfo(float).tiny))


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation | None:
    """Return Pearson's linear correlation; None where a series is constant or has fewer than three values.

    Raises:
        ValueError: the series differ in length or hold values that are not finite.
    """
    return _correlation("pearsonr", first, second)


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation | None:
    """Return Spearman's rank correlation; None and errors as in :func:`pearson`."""
    return _correlation("spearmanr", first, second)


def _correlation(
    test: Literal["pearsonr", "spearmanr"], first: Sequence[float], second: Sequence[float]
) -> Correlation | None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if not all(map(math.isfinite, first)) or not all(map(math.isfinite, second)):
        raise ValueError("a correlation needs finite values")
    if len(first) < _FEWEST or _constant(first) or _constant(second):
        return None
    from scipy import stats  # takes half a second to load, which every import of the room would pay

    result = getattr(stats, test)(first, second)
    return Correlation(float(result.statistic), float(result.pvalue), len(first))
