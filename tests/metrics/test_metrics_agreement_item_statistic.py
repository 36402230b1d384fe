"""Intervals over items, and paired differences of two statistics."""

from __future__ import annotations

import numpy as np
import pytest

from caretbench.metrics.agreement import ItemStatistic, item_estimate
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic

RNG = np.random.default_rng(5)
TRUTH = RNG.normal(5, 2, 150)
GOOD = list(TRUTH + RNG.normal(0, 1, 150))
PEOPLE = list(TRUTH)


def test_the_interval_of_a_mean_is_that_of_the_textbook() -> None:
    values = np.arange(100.0)
    found = item_estimate(mean_difference_statistic(list(values), [0.0] * 100), seed=1)
    half = 1.96 * values.std(ddof=1) / 10
    assert found.value == 49.5
    assert found.low == pytest.approx(49.5 - half, abs=0.6)
    assert found.high == pytest.approx(49.5 + half, abs=0.6)
    assert found.items == 100


def test_a_seed_gives_the_same_interval() -> None:
    statistic = pearson_statistic(GOOD, PEOPLE)
    assert item_estimate(statistic, seed=3) == item_estimate(statistic, seed=3)
    assert item_estimate(statistic, seed=3) != item_estimate(statistic, seed=4)


def test_equal_items_count_as_often_as_they_occur() -> None:
    singly = ItemStatistic(lambda weights: weights @ np.array([1.0, 1, 1, 4]) / weights.sum(axis=1), np.ones(4))
    together = ItemStatistic(lambda weights: weights @ np.array([1.0, 4]) / weights.sum(axis=1), np.array([3.0, 1]))
    assert singly.estimate == together.estimate == 1.75
    assert singly.items == together.items == 4


def test_too_few_items_have_no_interval() -> None:
    found = item_estimate(mean_difference_statistic([1, 2], [0, 0]))
    assert (found.value, found.low, found.high) == (1.5, None, None)
    assert item_estimate(mean_difference_statistic([], [])) == (None, None, None, 0)
