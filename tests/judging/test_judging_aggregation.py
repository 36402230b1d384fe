from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.judging.aggregation import judge_agreement, separation

TOTALS = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=12)


def test_judges_that_agree_and_one_that_does_not() -> None:
    ours = [{(str(n), "a"): float(n) for n in range(11)} for _ in range(2)]
    same = judge_agreement(ours)
    assert same.alpha == pytest.approx(1.0)
    assert same.texts == 11
    assert same.pairs[0][2:] == (pytest.approx(1.0), pytest.approx(1.0), 11)
    three = judge_agreement([*ours, {(str(n), "a"): 10.0 - n for n in range(11)}])
    assert three.alpha is not None
    assert three.alpha < 0.1
    assert [(pair.first, pair.second) for pair in three.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert three.pairs[1].spearman == pytest.approx(-1.0)


def test_separation_by_hand() -> None:
    assert separation([9, 8], [1, 2]) == 1.0
    assert separation([1], [2]) == 0.0
    assert separation([3, 3], [3]) == 0.5
    assert separation([5, 2], [2, 1, 8]) == pytest.approx((2 + 1.5) / 6)
    assert separation([], [1]) is None


@given(TOTALS, TOTALS)
def test_separation_is_the_share_of_pairs(reference: list[float], control: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in reference for b in control]
    assert separation(reference, control) == pytest.approx(sum(pairs) / len(pairs))
