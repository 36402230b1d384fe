from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.intervals import bootstrap_mean
from caretbench.metrics.weighted import weighted_mean

GROUPED = st.lists(st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.sampled_from("abc")), min_size=2, max_size=40)


def test_groups_count_by_their_weights_and_not_by_their_sizes() -> None:
    values, groups = [1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"]
    found = weighted_mean(values, groups, {"a": 1, "b": 3}, seed=0)
    assert found is not None
    assert (found.value, found.problems) == (0.25, 4)
    assert found.interval.low <= 0.25 <= found.interval.high


def test_groups_without_a_weight_or_without_problems_do_not_count() -> None:
    found = weighted_mean([1.0, 0.0, 0.0], ["a", "b", None], {"a": 2, "c": 5}, seed=0)
    assert found is not None
    assert (found.value, found.problems) == (1.0, 1)
    assert weighted_mean([1.0], ["b"], {"a": 1}, seed=0) is None
    assert weighted_mean([], [], {"a": 1}, seed=0) is None


def test_a_negative_weight_is_an_error() -> None:
    with pytest.raises(ValueError, match="not negative"):
        weighted_mean([1.0], ["a"], {"a": -1}, seed=0)


def test_equal_weights_by_size_give_the_plain_mean_and_its_interval() -> None:
    values, groups = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0], ["a", "a", "a", "b", "b", "b"]
    found = weighted_mean(values, groups, {"a": 1, "b": 1}, seed=4)
    plain = bootstrap_mean(values, seed=4)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert abs(found.interval.low - plain.low) < 0.1
    assert abs(found.interval.high - plain.high) < 0.1


def test_few_sources_are_warned_of_and_never_give_a_narrow_interval() -> None:
    values = [1.0, 1.0, 0.0, 1.0] * 5
    clusters = ["x"] * 10 + ["y"] * 10
    found = weighted_mean(values, ["a", "b"] * 10, {"a": 1, "b": 1}, seed=0, clusters=clusters)
    assert found is not None
    assert "only 2 clusters" in str(found.interval.warning)
    assert found.interval.high - found.interval.low > 0.5


@given(GROUPED)
def test_the_mean_is_between_the_least_and_the_greatest_and_within_its_interval(pairs: list[tuple[float, str]]) -> None:
    values, groups = [value for value, _ in pairs], [group for _, group in pairs]
    found = weighted_mean(values, groups, {"a": 0.685, "b": 0.09, "c": 0.05}, seed=1)
    assert found is not None
    assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9
    low, high = found.interval.low, found.interval.high
    if math.isfinite(low):
        assert -1e-9 <= low <= high <= 1 + 1e-9
