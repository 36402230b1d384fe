from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.agreement import agreement_rate, cohen_kappa, krippendorff_alpha, quadratic_kappa

RATINGS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


def test_golden_values() -> None:
    # The textbook table: 20 both yes, 5 yes/no, 10 no/yes, 15 both no: observed 0.7, by chance 0.5.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert agreement_rate(first, second) == pytest.approx(0.7)
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    # Squares 0, 1, 0, 1, mean 0.5; all 16 pairs of 1 2 3 4 with 1 3 3 5 have a mean square of 3.5.
    assert quadratic_kappa([1, 2, 3, 4], [1, 3, 3, 5]) == pytest.approx(1 - 0.5 / 3.5)


def test_nothing_where_all_is_one_label() -> None:
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert quadratic_kappa([3, 3], [3, 3]) is None
    assert cohen_kappa(["a", "a"], ["b", "b"]) == 0.0


@given(RATINGS)
def test_weighted_expectation_is_the_mean_over_all_pairs(ratings: list[tuple[int, int]]) -> None:
    first, second = zip(*ratings, strict=True)
    by_chance = sum((a - b) ** 2 for a in first for b in second) / len(ratings) ** 2
    observed = sum((a - b) ** 2 for a, b in ratings) / len(ratings)
    if by_chance:
        assert quadratic_kappa(first, second) == pytest.approx(1 - observed / by_chance)
    else:
        assert quadratic_kappa(first, second) is None


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_weights_change_nothing_for_two_labels(ratings: list[tuple[int, int]]) -> None:
    first, second = zip(*ratings, strict=True)
    expected = cohen_kappa(first, second)
    assert quadratic_kappa(first, second) == (None if expected is None else pytest.approx(expected))


def test_refuses() -> None:
    for measure in (agreement_rate, cohen_kappa, quadratic_kappa):
        with pytest.raises(ValueError, match="paired"):
            measure([], [])
        with pytest.raises(ValueError, match="paired"):
            measure([1], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        quadratic_kappa([1.0], [float("inf")])


def test_krippendorffs_own_example() -> None:
    # "Computing Krippendorff's alpha-reliability" (2011), part C: four observers, twelve units.
    ratings: list[list[float | None]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(ratings) == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(ratings, "interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_has_no_value_where_nothing_can_disagree() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, 2, 3]]) is None
    assert krippendorff_alpha([[1, None], [None, 2]]) is None
    assert krippendorff_alpha([[2, 2], [2, 2]]) is None


def test_alpha_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="every item"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha([[1, float("inf")], [1, 2]])


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30))
def test_alpha_is_one_where_all_agree(ratings: list[int]) -> None:
    assert krippendorff_alpha([ratings, ratings, ratings]) in (None, 1.0)
