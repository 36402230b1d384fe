from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.passk import coverage, pass_at_k, pass_rates

COUNTS = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@pytest.mark.parametrize(
    ("samples", "passed", "k", "expected"),
    [
        (5, 0, 1, 0.0),
        (5, 2, 1, 0.4),
        (5, 2, 2, 0.7),  # 1 - C(3,2)/C(5,2) = 1 - 3/10
        (5, 2, 4, 1.0),
        (10, 3, 5, 1 - 21 / 252),
        (200, 1, 100, 0.5),
        (200, 20, 10, 1 - math.prod(1 - 10 / i for i in range(181, 201))),  # the product form of the source
    ],
)
def test_reference_values(samples: int, passed: int, k: int, expected: float) -> None:
    assert pass_at_k(samples, passed, k) == pytest.approx(expected, abs=1e-9)


@given(COUNTS, st.integers(1, 12))
def test_is_the_share_of_draws_that_hold_a_pass(counts: tuple[int, int], k: int) -> None:
    samples, passed = counts
    if k > samples:
        return
    draws = list(combinations(range(samples), k))
    share = sum(min(draw) < passed for draw in draws) / len(draws)
    assert pass_at_k(samples, passed, k) == pytest.approx(share)


@given(COUNTS)
def test_grows_with_k_from_the_share_that_passed(counts: tuple[int, int]) -> None:
    samples, passed = counts
    rates = [pass_at_k(samples, passed, k) for k in range(1, samples + 1)]
    assert rates[0] == pytest.approx(passed / samples)
    assert rates == sorted(rates)


def test_many_samples_do_not_overflow() -> None:
    assert pass_at_k(3000, 1, 1) == pytest.approx(1 / 3000)
    assert pass_at_k(3000, 1, 3000) == 1.0


def test_any_pass_counts_where_samples_are_few_and_it_is_asked_for() -> None:
    assert pass_at_k(1, 1, 5, any_of_fewer=True) == 1.0
    assert pass_at_k(1, 0, 5, any_of_fewer=True) == 0.0
    assert pass_at_k(0, 0, 1, any_of_fewer=True) == 0.0
    assert pass_at_k(5, 2, 2, any_of_fewer=True) == pytest.approx(0.7)


@pytest.mark.parametrize(("samples", "passed", "k"), [(5, 6, 1), (5, -1, 1), (5, 1, 0), (4, 1, 5)])
def test_impossible_counts_are_errors(samples: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"samples|k is"):
        pass_at_k(samples, passed, k)


def test_rates_of_problems_with_different_numbers_of_samples() -> None:
    counts = [(2, 1), (1, 1), (0, 0), (1, 0)]
    assert pass_rates(counts) == {1: [0.5, 1.0, None, 0.0], 2: [1.0, None, None, None]}
    assert pass_rates(counts, any_of_fewer=True) == {1: [0.5, 1.0, None, 0.0], 2: [1.0, 1.0, None, 0.0]}
    assert pass_rates([]) == {}


def test_coverage_of_nothing_is_unknown() -> None:
    assert (coverage(3, 4), coverage(0, 4), coverage(0, 0)) == (0.75, 0.0, None)
