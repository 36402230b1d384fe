from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.correlation import pearson, spearman

SERIES = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30)


def test_reference_values() -> None:
    # Anscombe's first set: r = 0.81642, p = 0.00217; ranks give 0.81818.
    x = [10.0, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
    y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    linear, ranks = pearson(x, y), spearman(x, y)
    assert linear is not None
    assert ranks is not None
    assert linear == (pytest.approx(0.8164205163), pytest.approx(0.0021696288), 11)
    assert ranks.coefficient == pytest.approx(0.8181818182)


def test_monotone_is_a_perfect_rank_correlation() -> None:
    ranks, linear = spearman([1, 2, 3, 4], [1, 8, 27, 64]), pearson([1, 2, 3, 4], [1, 8, 27, 64])
    assert ranks is not None
    assert linear is not None
    assert ranks.coefficient == pytest.approx(1.0)
    assert linear.coefficient < 0.96


@pytest.mark.parametrize(
    ("first", "second"),
    [([1.0, 1, 1], [1.0, 2, 3]), ([1.0, 2, 3], [0.1 + 0.2, 0.3, 0.3]), ([1.0, 2], [3.0, 4]), ([], [])],
)
def test_nothing_where_a_series_is_constant_or_short(first: list[float], second: list[float]) -> None:
    assert pearson(first, second) is None
    assert spearman(first, second) is None


@given(SERIES)
def test_symmetrical_and_within_one(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    for measure in (pearson, spearman):
        result, mirrored = measure(first, second), measure(second, first)
        assert (result is None) == (mirrored is None) == (len(set(first)) == 1 or len(set(second)) == 1)
        if result is not None and mirrored is not None:
            assert -1 - 1e-12 <= result.coefficient <= 1 + 1e-12
            assert result.coefficient == pytest.approx(mirrored.coefficient, abs=1e-12)


def test_refuses_what_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="paired"):
        pearson([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        spearman([1.0, 2, float("nan")], [1.0, 2, 3])
