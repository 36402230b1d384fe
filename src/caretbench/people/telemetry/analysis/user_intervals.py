"""Intervals of rates over users: events of one user are alike, so that users are independent, not events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.intervals import CONFIDENCE, Interval, wilson
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats

Flags = NDArray[np.bool_]

MAX_UNITS: Final = 2_000
"""Maximum number of units that are omitted in turn. More users are grouped; groups are independent too."""


class UserRate(NamedTuple):
    """Rate with its interval over users, and the number of events and users that it is of; None: there are none.

    ``effective_users``: (Σ events of a user)² / Σ (events of a user)², the number of users with equally many events
    that determine a mean as well (Kish 1965).
    """

    value: float | None
    low: float | None
    high: float | None
    events: int
    users: int
    effective_users: float

    @property
    def known(self) -> bool:
        """True if there is a rate."""
        return self.value is not None


class _Group(NamedTuple):
    """Hits and events of a rate by unit, its number of users, and the sum of their squared numbers of events."""

    hits: Floats
    sizes: Floats
    users: int
    squares: float


class UserRates:
    """Rates of many groups of events over the same users.

    Args:
        users: Number of the user of each event.
        user_count: Number of users.
        seed: Random seed of the groups of users.
    """

    def __init__(self, users: NDArray[np.int64], user_count: int, *, seed: int = 0) -> None:
        self._users = users
        self._units = min(user_count, MAX_UNITS)
        order = np.random.default_rng(seed).permutation(user_count)
        self._unit_of_event = (order % max(1, self._units))[users] if user_count else users
        self._groups: list[_Group] = []

    def add(self, hits: Flags, among: Flags) -> int:
        """Add the rate of ``hits`` among some events; return its place in :meth:`rates`."""
        return self.add_by_value(np.zeros(len(hits), dtype=np.int64), 1, hits, among)[0]

    def add_by_value(self, codes: NDArray[np.int64], values: int, hits: Flags, among: Flags) -> list[int]:
        """Add the rate of ``hits`` among some events for each value that ``codes`` numbers; return the places."""
        chosen, users, units = codes[among], self._users[among], self._unit_of_event[among]
        cells = units * values + chosen
        sizes = np.bincount(cells, minlength=self._units * values).reshape(self._units, values)
        sums = np.bincount(cells[hits[among]], minlength=self._units * values).reshape(self._units, values)
        persons, counts = np.unique(users * values + chosen, return_counts=True)
        of_value = np.bincount(persons % values, minlength=values)
        squares = np.bincount(persons % values, weights=counts.astype(np.float64) ** 2, minlength=values)
        return [
            self._add(sums[:, value], sizes[:, value], int(of_value[value]), float(squares[value]))
            for value in range(values)
        ]

    def add_shares(self, codes: NDArray[np.int64], values: int, among: Flags) -> list[int]:
        """Add the share of the events with each value, of some events; return the places."""
        cells = self._unit_of_event[among] * values + codes[among]
        sums = np.bincount(cells, minlength=self._units * values).reshape(self._units, values)
        counts = np.bincount(self._users[among]).astype(np.float64)
        sizes, persons, squares = sums.sum(axis=1), int((counts > 0).sum()), float((counts**2).sum())
        return [self._add(sums[:, value], sizes, persons, squares) for value in range(values)]

    def _add(self, hits: NDArray[np.int64], sizes: NDArray[np.int64], users: int, squares: float) -> int:
        self._groups.append(_Group(hits.astype(np.float64), sizes.astype(np.float64), users, squares))
        return len(self._groups) - 1

    def rates(self) -> list[UserRate]:
        """Return all rates, in the order in which they were added."""
        return [_rate(group) for group in self._groups]


def _rate(group: _Group) -> UserRate:
    events = float(group.sizes.sum())
    if not events:
        return UserRate(None, None, None, 0, 0, 0.0)
    value = float(group.hits.sum()) / events
    effective = events**2 / group.squares
    if value in (0.0, 1.0):
        found = wilson(value * group.users, group.users)
    else:
        found = _jackknife(group.hits, group.sizes, effective)
    return UserRate(value, found.low, found.high, int(events), group.users, round(effective, 1))


def _jackknife(hits: Floats, sizes: Floats, effective: float) -> Interval:
    """Return the interval of a rate that is neither 0 nor 1, on the logit scale, so that it has the skewness of a rate.

    The variance is that of the jackknife over units: (m - 1)/m · Σ (rate without a unit - rate)² (Tukey 1958), but not
    below that of independent events. The quantile is Student's with one degree of freedom less than effective users,
    since few users with most of the events determine the variance badly.
    """
    from scipy.special import stdtrit  # takes a third of a second to load

    some = sizes > 0
    hits, sizes = hits[some], sizes[some]
    events, units = float(sizes.sum()), len(sizes)
    value = float(hits.sum()) / events
    independent = value * (1 - value) / events
    if units == 1:
        return wilson(value, 1)
    without = (hits.sum() - hits) / (events - sizes)
    variance = max(independent, (units - 1) / units * float(((without - value) ** 2).sum()))
    half = float(stdtrit(max(1.0, effective - 1), 0.5 + CONFIDENCE / 2)) * math.sqrt(variance) / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return Interval(_logistic(logit - half), _logistic(logit + half), "jackknife")


def are_few(effective: float) -> bool:
    """Return whether an interval is of so few effective users that a few more of them may change it much."""
    return effective < MIN_CLUSTERS


def _logistic(value: float) -> float:
    return math.exp(min(value, 0.0)) / (1 + math.exp(-abs(value)))


def percentiles(values: Floats, shares: Sequence[float]) -> list[float | None]:
    """Return quantiles of the known values; None where there are none."""
    known = values[np.isfinite(values)]
    return [float(one) for one in np.quantile(known, shares)] if len(known) else [None] * len(shares)
