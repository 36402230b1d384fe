"""Partial rank correlation with intervals over users.

Source: Spearman's correlation of ranks, from which the ranks of further series are regressed out. Ranks are those among
all events; users are drawn with their sums of products, so that a draw costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from caretbench.metrics.resampling import Floats

_FEWEST: Final = 8
"""Number of events, and of users, below which there is no interval."""

_SINGULAR: Final = 1e-9
"""Determinant of correlations below which they are not inverted."""
RESAMPLES: Final = 2_000


class UserDraws:
    """Draws of users: how often each user counts in each of them (rows)."""

    def __init__(self, users: int, seed: int, resamples: int = RESAMPLES) -> None:
        rng = np.random.default_rng(seed)
        self.weights: Floats = np.zeros((resamples, 0))
        if users:
            self.weights = rng.multinomial(users, np.full(users, 1 / users), size=resamples).astype(np.float64)


class PartialRanks:
    """Rank correlation of two series with others held fixed.

    Args:
        first: A series.
        second: Another one.
        controls: Series that are held fixed.
        users: User of each event.

    Raises:
        ValueError: the series differ in length.
    """

    def __init__(
        self, first: Sequence[float], second: Sequence[float], controls: Sequence[Sequence[float]], users: Sequence[str]
    ) -> None:
        series = [first, second, *controls]
        if len({len(one) for one in (*series, users)}) > 1:
            raise ValueError("all series need a value for every event")
        ranks = [mid_ranks(np.asarray(one, dtype=np.float64)) for one in series]
        # A control without spread holds nothing fixed.
        kept = [*ranks[:2], *(one for one in ranks[2:] if len(one) and np.ptp(one) > 0)]
        columns = np.stack([np.ones(len(first)), *kept], axis=1)
        names, codes = np.unique(np.asarray(users, dtype=object).astype(str), return_inverse=True)
        self.users = len(names)
        self.events = len(first)
        self._size = columns.shape[1]
        products = (columns[:, :, None] * columns[:, None, :]).reshape(self.events, self._size**2)
        self._sums = np.zeros((self.users, self._size**2))
        np.add.at(self._sums, codes, products)

    @property
    def plain(self) -> float | None:
        """Spearman's correlation; None where a series is constant."""
        return _known(self._correlations(np.ones((1, self.users)), controls=False)[0]) if self.users else None

    @cached_property
    def partial(self) -> float | None:
        """Correlation with the controls held fixed; None where it is undefined."""
        return _known(self._correlations(np.ones((1, self.users)), controls=True)[0]) if self.users else None

    def drawn(self, draws: UserDraws) -> Floats:
        """Return the partial correlation of each draw; NaN where it is undefined."""
        return self._correlations(draws.weights, controls=True)

    def interval(self, draws: UserDraws) -> tuple[float | None, float | None]:
        """Return the interval of the partial correlation; None for few users or events."""
        if self.partial is None or min(self.users, self.events) < _FEWEST:
            return None, None
        values = self.drawn(draws)
        values = values[np.isfinite(values)]
        if len(values) < len(draws.weights) / 2:
            return None, None
        low, high = np.quantile(values, (0.025, 0.975))
        return float(low), float(high)

    def _correlations(self, weights: Floats, *, controls: bool) -> Floats:
        moments = (weights @ self._sums).reshape(-1, self._size, self._size)
        counts = np.maximum(moments[:, 0, 0], 1e-12)[:, None, None]
        means = moments[:, 0, 1:] / counts[:, 0]
        size = self._size if controls else 3
        covariances = (moments[:, 1:, 1:] / counts - means[:, :, None] * means[:, None, :])[:, : size - 1, : size - 1]
        scales = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = covariances / (scales[:, :, None] * scales[:, None, :])
            # Of a series that others explain wholly, nothing is left.
            flat = ~np.isfinite(correlations).all(axis=(1, 2))
            flat |= np.linalg.det(np.where(flat[:, None, None], 0.0, correlations)) < _SINGULAR
            correlations[flat] = np.eye(size - 1)
            inverse = np.linalg.inv(correlations)
            found: Floats = -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
        found[flat] = np.nan
        return found


def mid_ranks(values: Floats) -> Floats:
    """Return the ranks of values from 1; equal values have the mean of theirs."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[codes]
    return ranks


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
