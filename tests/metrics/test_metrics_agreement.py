from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.agreement import krippendorff_alpha


def test_krippendorffs_own_example() -> None:
    # "Computing Krippendorff's alpha-reliability" (2011), part C: four observers, twelve units.
    ratings: list[list[float | None]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(ratings) == pytest.approx(0.815, abs=5e-4)


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
