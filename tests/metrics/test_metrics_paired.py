from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caretbench.metrics.intervals import wilson
from caretbench.metrics.paired import compare, holm, mcnemar_exact, sign_flip_p_value, with_holm
from caretbench.metrics.resampling import units_of

PROBABILITIES = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [(2, 10, 0.03857421875), (10, 2, 0.03857421875), (5, 0, 0.0625), (3, 3, 1.0), (0, 0, 1.0), (0, 1, 1.0)],
)
def test_mcnemar_reference(only_first: int, only_second: int, p_value: float) -> None:
    assert mcnemar_exact(only_first, only_second) == pytest.approx(p_value, abs=1e-12)


@given(st.integers(0, 200), st.integers(1, 200))
def test_mcnemar_is_the_exact_binomial_test(only_first: int, only_second: int) -> None:
    expected = stats.binomtest(only_second, only_first + only_second).pvalue
    assert mcnemar_exact(only_first, only_second) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


def test_sign_flips_approach_the_exact_permutation_test() -> None:
    differences = np.array([0.4, 0.2, -0.2, 0.6, 0.2, 0.0, 0.8, -0.4, 0.2, 0.4])
    flips = [abs(np.dot(signs, differences)) for signs in product((-1, 1), repeat=10)]
    exact = float(np.mean(np.array(flips) >= abs(differences.sum()) - 1e-9))
    assert sign_flip_p_value(units_of(differences), 1, 100_000) == pytest.approx(exact, abs=0.005)


def test_sign_flips_of_clusters_are_of_their_sums() -> None:
    differences = [0.1, 0.2, 0.3, 0.1] * 10
    clusters = [str(index // 2) for index in range(40)]
    sums = [0.3, 0.4] * 10
    together = sign_flip_p_value(units_of(differences, clusters), 1)
    assert together == sign_flip_p_value(units_of(sums), 1)
    # All differences of one of two sources lean one way: that is two observations, not forty.
    few = sign_flip_p_value(units_of(differences, ["a"] * 20 + ["b"] * 20), 1)
    assert few > 0.4


def test_sign_flips_hold_their_level() -> None:
    rng = np.random.default_rng(1)
    rejected = sum(sign_flip_p_value(units_of(rng.integers(-5, 6, 60) / 5), seed, 999) <= 0.05 for seed in range(400))
    assert 0.025 <= rejected / 400 <= 0.08


def test_compare_one_sample_each() -> None:
    first = [1.0] * 50 + [0.0] * 10 + [1.0] * 2 + [0.0] * 20
    second = [1.0] * 50 + [1.0] * 10 + [0.0] * 2 + [0.0] * 20
    result = compare(first, second, seed=1)
    assert result.method == "mcnemar_exact"
    assert result.p_value == pytest.approx(0.03857421875)
    assert result.difference == pytest.approx(8 / 82)
    assert result.n == 82
    assert result.interval.low < 8 / 82 < result.interval.high
    assert result.distinguishable
    assert compare(second, first, seed=1).difference == pytest.approx(-8 / 82)


def test_compare_several_samples() -> None:
    rng = np.random.default_rng(2)
    first = rng.binomial(5, 0.5, 300) / 5
    better = np.minimum(1.0, first + 0.2 * (rng.random(300) < 0.3))
    result = compare(list(first), list(better), seed=3)
    assert result.method == "sign_flip_permutation"
    assert result.distinguishable
    assert result == compare(list(first), list(better), seed=3)
    noise = compare(list(first), list(rng.permutation(first)), seed=3)
    assert not noise.distinguishable


def test_identical_runs_are_not_distinguishable_but_not_certainly_equal() -> None:
    result = compare([1.0, 0.0] * 25, [1.0, 0.0] * 25, seed=1)
    assert (result.difference, result.p_value, result.distinguishable) == (0.0, 1.0, False)
    assert result.interval.high == wilson(0, 50).high == -result.interval.low
    scores = [7.0, 3.0, 5.0]
    assert compare(scores, scores, seed=1).interval.method == "constant"


@pytest.mark.parametrize("better", [2, 5, 7, 8])
def test_few_groups_give_no_narrower_interval_than_wilson_s_gains_and_losses(better: int) -> None:
    second = [1.0, 0.0] * better + [0.0, 0.0] * (8 - better)
    groups = [f"g{n // 2}" for n in range(16)]
    few = compare([0.0] * 16, second, seed=0, clusters=["one"] * 16, overlap_groups=groups)
    gains, losses = wilson(better / 2, 8), wilson(0, 8)
    difference = better / 16
    assert few.difference == difference
    assert few.interval.low <= difference - math.hypot(difference - gains.low, losses.high) + 1e-12
    assert few.interval.high >= gains.high - 1e-12
    equal = compare(second, second, seed=0, clusters=["one"] * 16, overlap_groups=groups)
    assert few.interval.high - few.interval.low >= equal.interval.high
    many = compare([0.0] * 48, [1.0, 0.0] * 24, seed=0, clusters=["one"] * 48, overlap_groups=[
        f"g{n // 2}" for n in range(48)
    ])  # fmt: skip
    assert many.interval.method == "constant"


def test_few_groups_on_other_scales_keep_the_bootstrap() -> None:
    scores = [1.0, 2.0, 3.0, 4.0]
    found = compare(scores, [value + 1 for value in scores], seed=0, clusters=["a", "a", "b", "b"])
    assert found.interval[:2] == (1.0, 1.0)


def test_one_problem_proves_nothing() -> None:
    result = compare([0.2], [0.8], seed=1)
    assert math.isnan(result.interval.low)
    assert not result.distinguishable


def test_compare_refuses_other_problems() -> None:
    with pytest.raises(ValueError, match="paired"):
        compare([1.0], [1.0, 0.0], seed=1)


def test_holm_reference() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])


@given(PROBABILITIES)
def test_holm_lies_between_raw_and_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for raw, value in zip(p_values, adjusted, strict=True):
        assert raw <= value <= min(1.0, raw * len(p_values)) + 1e-12
    ranked = [value for _, value in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_with_holm_takes_back_what_only_one_of_many_tests_shows() -> None:
    first = [1.0] * 50 + [0.0] * 10 + [1.0] * 2 + [0.0] * 20
    second = [1.0] * 50 + [1.0] * 10 + [0.0] * 2 + [0.0] * 20
    single = compare(first, second, seed=1)
    (alone,) = with_holm([single])
    assert alone == single
    several = with_holm([single, compare(first, first, seed=1)])
    assert several[0].p_value == pytest.approx(2 * 0.03857421875)
    assert not several[0].distinguishable
