"""Binning of raw numbers by quantiles or fixed bounds, for summaries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np


def quantile_bounds(values: Sequence[float], parts: int = 3) -> tuple[float, ...]:
    """Return the upper bounds of all bins but the last, so that the bins are as equal as ties allow.

    Each bound is one of the values (the inverted distribution function) and belongs to the lower bin. Equal
    bounds are merged, and a bound with no value above it is removed.

    Raises:
        ValueError: no values, or fewer than two parts.
    """
    if not values or parts < 2:
        raise ValueError("quantiles need values, and at least two parts")
    array = np.asarray(values, dtype=np.float64)
    wanted = [number / parts for number in range(1, parts)]
    bounds = {float(bound) for bound in np.quantile(array, wanted, method="inverted_cdf")}
    return tuple(sorted(bound for bound in bounds if bound < array.max()))


def bin_index(value: float, bounds: Sequence[float]) -> int:
    """Return the index of the bin that contains ``value``, from 0; a bound belongs to the bin below it."""
    return bisect_left(bounds, value)


def bin_title(number: int, bounds: Sequence[float]) -> str:
    """Return the title of a bin: ``up to 3``, ``above 3 up to 18``, ``above 18``; ``all`` if there are no bounds."""
    low = f"above {bounds[number - 1]:g}" if number else ""
    high = f"up to {bounds[number]:g}" if number < len(bounds) else ""
    return f"{low} {high}".strip() or "all"
