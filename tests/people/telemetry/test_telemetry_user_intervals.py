"""Intervals of rates over users: they hold the true rate, also where few users have most of the events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from caretbench.metrics.intervals import wilson
from caretbench.people.telemetry.usage_analysis import MAX_UNITS, ScenarioRow, UserRate, UserRates
from caretbench.people.telemetry.usage_tables import few_users_note

Sizes = Callable[[np.random.Generator, int], NDArray[np.int64]]


def rate_of(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> UserRate:
    """The rate of users with some hits among some events each."""
    users = np.repeat(np.arange(len(sizes)), sizes)
    flags = np.concatenate([np.arange(size) < hit for hit, size in zip(hits, sizes, strict=True)])
    rates = UserRates(users, len(sizes))
    return rates.by_value(np.zeros_like(users), 1, flags, np.ones(len(users), dtype=bool))[0]


def test_effective_users() -> None:
    equal = rate_of(np.array([1, 2, 3, 4]), np.array([5, 5, 5, 5]))
    assert (equal.users, equal.effective_users) == (4, 4.0)
    one_has_half = rate_of(np.array([1, 2, 3, 4]), np.array([5, 5, 5, 15]))
    assert (one_has_half.users, one_has_half.effective_users) == (4, 3.0)


def test_a_known_interval() -> None:
    """By hand: the jackknife's variance, one degree of freedom less than users, on the logit scale."""
    hits, sizes = np.array([2, 5, 8, 4, 6]), np.full(5, 10)
    without = (25 - hits) / 40
    error = np.sqrt(4 / 5 * ((without - 0.5) ** 2).sum())
    half = 2.7764451 * error / 0.25
    found = rate_of(hits, sizes)
    assert found.low == pytest.approx(1 / (1 + np.exp(half)), abs=1e-9)
    assert found.high == pytest.approx(1 / (1 + np.exp(-half)), abs=1e-9)


@pytest.mark.parametrize(("hits", "sizes"), [([0, 0, 0], [9, 9, 9]), ([4], [9]), ([9, 9], [9, 9])])
def test_rates_without_spread_have_wilsons_interval_over_users(hits: list[int], sizes: list[int]) -> None:
    found = rate_of(np.array(hits), np.array(sizes))
    expected = wilson(sum(hits) / sum(sizes) * len(sizes), len(sizes))
    assert (found.low, found.high) == (expected.low, expected.high)


def test_users_who_are_equal_by_chance_have_an_interval() -> None:
    found = rate_of(np.array([5, 5, 5]), np.array([10, 10, 10]))
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.2
    assert found.high > 0.8


def test_more_users_than_units_are_grouped() -> None:
    sizes = np.full(3 * MAX_UNITS, 2)
    found = rate_of(np.tile([0, 1, 2], MAX_UNITS), sizes)
    assert (found.value, found.users, found.effective_users) == (0.5, 3 * MAX_UNITS, 3.0 * MAX_UNITS)
    assert found.low is not None
    assert found.high is not None
    expected = 2 * 1.96 * np.sqrt(2 / 3) / 2 / np.sqrt(3 * MAX_UNITS)
    assert found.high - found.low == pytest.approx(expected, rel=0.1)


def _equal(_: np.random.Generator, users: int) -> NDArray[np.int64]:
    return np.full(users, 20)


def _lognormal(spread: float) -> Sizes:
    return lambda rng, users: np.maximum(1, np.round(20 * np.exp(rng.normal(0, spread, users) - spread**2 / 2))).astype(
        np.int64
    )


def _pareto(rng: np.random.Generator, users: int) -> NDArray[np.int64]:
    return np.round(5 * (1 + rng.pareto(1.5, users))).astype(np.int64)


def coverage(users: int, sizes: Sizes, mean: float, spread: float, *, slope: float = 0.0, runs: int = 300) -> float:
    """The share of simulations whose interval holds the true rate.

    Logits of users are normal; ``slope``: heavy users accept more, by logarithms of their numbers of events.
    """

    def drawn(rng: np.random.Generator, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        own = np.minimum(sizes(rng, count), 200_000)
        logs = np.log(own)
        logits = mean + slope * (logs - logs.mean()) + spread * rng.normal(size=count)
        return own, 1 / (1 + np.exp(-logits))

    many = [drawn(np.random.default_rng([999, part]), 2_000) for part in range(200)]
    truth = sum(float((own * rates).sum()) for own, rates in many) / sum(int(own.sum()) for own, _ in many)
    held = 0
    for run in range(runs):
        rng = np.random.default_rng([0, run])
        own, rates = drawn(rng, users)
        found = rate_of(rng.binomial(own, rates), own)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    return held / runs


@pytest.mark.long
@pytest.mark.parametrize(
    ("users", "sizes", "mean", "spread"),
    [
        (5, _equal, -0.8, 1.0),
        (12, _equal, -0.8, 1.0),
        (30, _equal, -0.8, 1.0),
        (30, _lognormal(1.0), -0.8, 1.0),
        (12, _lognormal(1.5), -0.8, 1.0),
        (30, _lognormal(1.5), -0.8, 1.0),
        (60, _lognormal(1.5), -0.8, 1.0),
        (200, _lognormal(1.5), -0.8, 1.0),
        (25, _pareto, -0.8, 1.0),
        (60, _pareto, -0.8, 1.0),
        (30, _equal, -4.2, 1.0),  # 2 %
        (30, _equal, -5.3, 0.5),  # 0.5 %
        (60, _lognormal(1.5), -5.3, 0.5),
    ],
)
def test_intervals_hold_the_true_rate(users: int, sizes: Sizes, mean: float, spread: float) -> None:
    found = coverage(users, sizes, mean, spread)
    print(users, mean, f"{found:.3f}")  # noqa: T201 - with -s
    assert found >= 0.925  # of 0.95; 0.025 are two standard errors


@pytest.mark.long
def test_intervals_are_too_narrow_where_heavy_users_accept_more() -> None:
    """The heaviest users of all are in no sample: what falls short, and why a note is printed."""
    assert 0.8 <= coverage(60, _lognormal(1.5), -0.8, 0.7, slope=0.5) <= 0.92


def test_a_note_says_that_few_users_have_most_events() -> None:
    def row(dimension: str, value: str, effective: float) -> ScenarioRow:
        rate = UserRate(value=0.5, low=0.4, high=0.6, events=900, users=60, effective_users=effective)
        return ScenarioRow(
            dimension=dimension, value=value, share=rate, acceptance=rate, survival=rate, right=rate, outcomes={}
        )

    assert few_users_note([row("all", "all", 20), row("language", "go", 19)]) is None  # one value is not shown
    languages = [row("language", "go", 19), row("language", "python", 30)]
    some = few_users_note([row("all", "all", 20), *languages])
    assert some is not None
    assert some.startswith("1 of 3 rows")
    assert "all 60 users" not in some
    whole = few_users_note([row("all", "all", 14.2), *languages])
    assert whole is not None
    assert "count as 14.2" in whole
