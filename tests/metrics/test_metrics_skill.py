from __future__ import annotations

import pytest

from caretbench.metrics.skill import net_of_floor, skill


@pytest.mark.parametrize(
    ("score", "floor", "ceiling", "expected"),
    [(0.9, 0.8, 1.0, 0.5), (0.25, 0.25, 1.0, 0.0), (0.1, 0.25, 1.0, -0.2), (5.0, 2.0, 5.0, 1.0)],
)
def test_skill(score: float, floor: float, ceiling: float, expected: float) -> None:
    assert skill(score, floor, ceiling) == pytest.approx(expected)


def test_no_skill_where_the_floor_is_the_ceiling() -> None:
    assert skill(1.0, 1.0) is None


def test_net_of_floor() -> None:
    assert net_of_floor([1.0, 0.6, 0.0], [1.0, 0.0, 0.0]) == [0.0, 0.6, 0.0]
    with pytest.raises(ValueError, match="argument"):
        net_of_floor([1.0], [])
