"""Intervals of rates over users: events of one user are alike, so that users are drawn, not events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.intervals import CONFIDENCE, Interval, widened, wilson
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats

Flags = NDArray[np.bool_]

RESAMPLES: Final = 2_000
MAX_UNITS: Final = 2_000
"""Maximum number of units that are drawn. More users are drawn in groups, which are independent of each other too."""

_BATCH_ROWS: Final = 250


class UserRate(NamedTuple):
    """Rate with its interval over users, and the number of events and users that it is of; None: there are none."""

    value: float | None
    low: float | None
    high: float | None
    events: int
    users: int

    @property
    def known(self) -> bool:
        """True if there is a rate."""
        return self.value is not None


class UserRates:
    """Rates of many groups of events over the same users, whose intervals come from the same draws.

    Args:
        users: Number of the user of each event.
        user_count: Number of users.
        seed: Random seed.
    """

    def __init__(self, users: NDArray[np.int64], user_count: int, *, seed: int = 0) -> None:
        self._users = users
        self._count = user_count
        self._seed = seed
        self._units = min(user_count, MAX_UNITS)
        order = np.random.default_rng(seed).permutation(user_count)
        self._unit_of_event = (order % max(1, self._units))[users] if user_count else users
        self._sums: list[Floats] = []
        self._sizes: list[Floats] = []
        self._groups: list[tuple[float, int, int]] = []

    def add(self, hits: Flags, among: Flags) -> int:
        """Add the rate of ``hits`` among some events; return its place in :meth:`rates`."""
        return self.add_by_value(np.zeros(len(hits), dtype=np.int64), 1, hits, among)[0]

    def add_by_value(self, codes: NDArray[np.int64], values: int, hits: Flags, among: Flags) -> list[int]:
        """Add the rate of ``hits`` among some events for each value that ``codes`` numbers; return the places."""
        chosen, users, units = codes[among], self._users[among], self._unit_of_event[among]
        cells = units * values + chosen
        sizes = np.bincount(cells, minlength=self._units * values).reshape(self._units, values)
        sums = np.bincount(cells[hits[among]], minlength=self._units * values).reshape(self._units, values)
        persons = np.bincount(np.unique(users * values + chosen) % values, minlength=values)
        return [self._add(sums[:, value], sizes[:, value], int(persons[value])) for value in range(values)]

    def add_shares(self, codes: NDArray[np.int64], values: int, among: Flags) -> list[int]:
        """Add the share of the events with each value, of some events; return the places."""
        cells = self._unit_of_event[among] * values + codes[among]
        sums = np.bincount(cells, minlength=self._units * values).reshape(self._units, values)
        sizes, persons = sums.sum(axis=1), len(np.unique(self._users[among]))
        return [self._add(sums[:, value], sizes, persons) for value in range(values)]

    def _add(self, sums: NDArray[np.int64], sizes: NDArray[np.int64], users: int) -> int:
        self._sums.append(sums.astype(np.float64))
        self._sizes.append(sizes.astype(np.float64))
        self._groups.append((float(sums.sum()), int(sizes.sum()), users))
        return len(self._groups) - 1

    def rates(self) -> list[UserRate]:
        """Return all rates, in the order in which they were added."""
        if not self._groups or not self._units:
            return [UserRate(None, None, None, 0, 0) for _ in self._groups]
        drawn = self._drawn()
        return [_rate(group, drawn[:, place]) for place, group in enumerate(self._groups)]

    def _drawn(self) -> Floats:
        """Return the rates of each group (columns) in each draw of the units (rows); NaN: no event was drawn."""
        sums, sizes = np.stack(self._sums, axis=1), np.stack(self._sizes, axis=1)
        rng = np.random.default_rng(self._seed)
        parts = []
        for start in range(0, RESAMPLES, _BATCH_ROWS):
            rows = min(_BATCH_ROWS, RESAMPLES - start)
            weights = rng.multinomial(self._units, np.full(self._units, 1 / self._units), size=rows).astype(float)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts.append((weights @ sums) / (weights @ sizes))
        values: Floats = np.concatenate(parts)
        return values


def _rate(group: tuple[float, int, int], drawn: Floats) -> UserRate:
    hits, events, users = group
    if not events:
        return UserRate(None, None, None, 0, 0)
    value = hits / events
    drawn = drawn[np.isfinite(drawn)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail)) if len(drawn) else (value, value)
    found = Interval(float(low), float(high), "percentile")
    if users < MIN_CLUSTERS or value in (0.0, 1.0):
        found = widened(found, wilson(value * users, users))
    return UserRate(value, found.low, found.high, events, users)


def percentiles(values: Floats, shares: Sequence[float]) -> list[float | None]:
    """Return quantiles of the known values; None where there are none."""
    known = values[np.isfinite(values)]
    return [float(one) for one in np.quantile(known, shares)] if len(known) else [None] * len(shares)
