from __future__ import annotations

import pytest

from caretbench.metrics.intervals import wilson
from caretbench.metrics.skill import skill, skill_interval


@pytest.mark.parametrize(
    ("score", "floor", "expected"), [(0.9, 0.8, 0.5), (0.25, 0.25, 0.0), (0.1, 0.25, -0.2), (1.0, 0.5, 1.0)]
)
def test_skill(score: float, floor: float, expected: float) -> None:
    assert skill(score, floor) == pytest.approx(expected)


def test_no_skill_where_the_floor_is_the_ceiling() -> None:
    assert skill(1.0, 1.0) is None


def test_the_interval_of_a_skill_draws_scores_and_floors_together() -> None:
    scores = [1.0, 0.0] * 100
    floors = [0.5, 0.0] * 100  # the floor finds half of what is found
    found = skill_interval(scores, floors, [str(index // 2) for index in range(200)], seed=0)
    # Each source has one right answer and a quarter of the floor: no draw differs.
    assert (found.low, found.high) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    apart = skill_interval(scores, floors, [str(index) for index in range(200)], seed=0)
    assert apart.low < 1 / 3 < apart.high
    assert skill_interval(scores, floors, [str(index) for index in range(200)], seed=0) == apart
    assert skill_interval([1.0], [0.0], ["a"], seed=0).method == "undefined"
    assert skill_interval([1.0, 1.0], [1.0, 1.0], ["a", "b"], seed=0).method == "undefined"
    with pytest.raises(ValueError, match="one score"):
        skill_interval([1.0], [], ["a"], seed=0)


def test_few_sources_give_no_narrower_interval_than_wilson_s_of_the_score() -> None:
    scores, floors = [1.0, 0.0] * 4, [0.25] * 8
    found = skill_interval(scores, floors, ["a", "a", "b", "b", "c", "c", "d", "d"], seed=0)  # no draw differs
    least = wilson(2, 4)
    assert found.low == pytest.approx((least.low - 0.25) / 0.75)
    assert found.high == pytest.approx((least.high - 0.25) / 0.75)
    assert "only 4 sources" in (found.warning or "")
