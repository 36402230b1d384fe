from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caretbench.metrics.intervals import units_of, wilson
from caretbench.metrics.paired import Pair, compare, compare_family, family_p_values, mcnemar_exact
from caretbench.people.study_statistics.contrasts import holm, with_holm

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


def test_sign_flips_of_few_units_are_all_flips() -> None:
    differences = np.array([0.4, 0.2, -0.2, 0.6, 0.2, 0.0, 0.8, -0.4, 0.2, 0.4])
    flips = [abs(np.dot(signs, differences)) for signs in product((-1, 1), repeat=10)]
    exact = float(np.mean(np.array(flips) >= abs(differences.sum()) - 1e-9))
    assert family_p_values([units_of(differences)], 1) == [pytest.approx(exact, abs=1e-12)]


def test_sign_flips_of_clusters_are_of_their_sums() -> None:
    differences = [0.1, 0.2, 0.3, 0.1] * 10
    sums = [0.3, 0.4] * 10
    together = family_p_values([units_of(differences, [f"{index // 2:02}" for index in range(40)])], 1)
    assert together == family_p_values([units_of(sums, [f"{index:02}" for index in range(20)])], 1)
    # All differences of one of two sources lean one way: that is two observations, not forty.
    [few] = family_p_values([units_of(differences, ["a"] * 20 + ["b"] * 20)], 1)
    assert few > 0.4


def test_sign_flips_hold_their_level_for_one_test_and_for_a_family() -> None:
    rng = np.random.default_rng(1)
    alone = sum(family_p_values([units_of(rng.integers(-5, 6, 60) / 5)], n)[0] < 0.05 for n in range(300))
    assert 0.02 <= alone / 300 <= 0.085
    families = [[units_of(rng.integers(-5, 6, 60) / 5) for _ in range(10)] for _ in range(300)]
    assert 0.02 <= sum(min(family_p_values(one, 1)) < 0.05 for one in families) / 300 <= 0.085


def _board(models: int, problems: int, least: float) -> list[list[float]]:
    """Answers of models whose rates run from ``least`` to its complement; problems differ in difficulty."""
    rng = np.random.default_rng(models)
    skills = 1.5 * np.log(np.linspace(least, 1 - least, models) / np.linspace(1 - least, least, models))
    chances = 1 / (1 + np.exp(rng.normal(0, 1.5, problems) - skills[:, None]))
    answers: list[list[float]] = (rng.random((models, problems)) < chances).astype(float).tolist()
    return answers


@pytest.mark.parametrize(
    ("models", "problems", "of_each", "least", "found"), [(33, 300, 1, 0.05, 420), (8, 400, 40, 0.05, 27)]
)
def test_many_tests_or_few_groups_find_differences(
    models: int, problems: int, of_each: int, least: float, found: int
) -> None:
    """Holm's factor over a smallest p value found 0 of 528 pairs of 33 models, and 0 of 28 on ten projects."""
    clusters = [f"project {place // of_each}" for place in range(problems)]
    pairs = [Pair(*two, clusters) for two in combinations(_board(models, problems, least), 2)]
    results = compare_family(pairs, seed=0)
    assert sum(one.distinguishable for one in results) >= found
    assert all(one.family == len(pairs) for one in results)
    assert all(not one.interval.low < 0 < one.interval.high for one in results if one.distinguishable)


def test_more_parts_do_not_end_all_findings() -> None:
    """Nine models × 13 parts: all 468 pairs were found; with a fourteenth part none of 504."""
    answers = _board(9, 1_800, 0.05)
    labels = [(place % 6, place // 6 % 6, place // 900) for place in range(1_800)]
    pairs = []
    for first, second in combinations(answers, 2):
        for label, value in [(0, n) for n in range(6)] + [(1, n) for n in range(6)] + [(2, n) for n in range(2)]:
            chosen = [place for place, one in enumerate(labels) if one[label] == value]
            names = [str(place) for place in chosen]
            pairs.append(Pair([first[place] for place in chosen], [second[place] for place in chosen], names))
    assert sum(one.distinguishable for one in compare_family(pairs, seed=0)) > 470


def test_a_tie_and_too_few_groups_do_not_change_the_others() -> None:
    first = [1.0] * 50 + [0.0] * 10 + [1.0] * 2 + [0.0] * 20
    second = [1.0] * 50 + [1.0] * 10 + [0.0] * 2 + [0.0] * 20
    few = Pair([0.0] * 5, [1.0] * 5)
    found, undecidable = compare_family([Pair(first, second), few], seed=1)
    assert found == compare(first, second, seed=1)
    assert undecidable.verdict("b", "a") == "cannot be decided with 5 independent groups"
    tie = compare_family([Pair(first, second), Pair(first, first)], seed=1)[1]
    assert (tie.p_value, tie.family, tie.verdict("b", "a")) == (1.0, 2, "not distinguishable")


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
    better = np.minimum(1.0, first + rng.choice([0.0, 0.2, 0.4], 300, p=[0.7, 0.2, 0.1]))
    result = compare(list(first), list(better), seed=3)
    assert result.method == "sign_flips"
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
    many = compare(
        [0.0] * 48, [1.0, 0.0] * 24, seed=0, clusters=["one"] * 48, overlap_groups=[f"g{n // 2}" for n in range(48)]
    )
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


def test_a_family_takes_back_what_only_one_of_many_tests_shows() -> None:
    rng = np.random.default_rng(4)
    first = [1.0] * 50 + [0.0] * 10 + [1.0] * 2 + [0.0] * 20
    second = [1.0] * 50 + [1.0] * 10 + [0.0] * 2 + [0.0] * 20
    others = [Pair(list(rng.permutation(first)), list(rng.permutation(first))) for _ in range(9)]
    single = compare(first, second, seed=1)
    crowded = compare_family([Pair(first, second), *others], seed=1)[0]
    assert (single.distinguishable, crowded.distinguishable) == (True, False)
    assert single.p_value < crowded.p_value
    adjusted = with_holm([single, single])
    assert [one.p_value for one in adjusted] == pytest.approx([2 * 0.03857421875] * 2)
    assert not any(one.distinguishable for one in adjusted)
