"""Partial rank correlations: known values, and the coverage of their intervals over users."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from caretbench.metrics.resampling import Floats
from caretbench.people.telemetry.judge_acceptance import PartialRanks, UserDraws, mid_ranks


def regressed(first: Floats, second: Floats, controls: list[Floats]) -> float:
    """The correlation of residuals of ranks, by least squares."""
    design = np.stack([np.ones(len(first)), *(stats.rankdata(one) for one in controls)], axis=1)
    residuals = []
    for series in (first, second):
        ranks = stats.rankdata(series)
        residuals.append(ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0])
    return float(np.corrcoef(*residuals)[0, 1])


@pytest.mark.parametrize("controls", [0, 1, 2])
def test_values_equal_those_by_regression(controls: int) -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=300)
    first, second = base + rng.normal(size=300), np.round(base + rng.normal(size=300))
    held = [base + rng.normal(size=300), rng.normal(size=300)][:controls]
    users = [f"u{number % 31}" for number in range(300)]
    found = PartialRanks(first.tolist(), second.tolist(), [one.tolist() for one in held], users)
    assert found.partial == pytest.approx(regressed(first, second, held), abs=1e-9)
    assert found.plain == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-9)


def test_ranks_of_equal_values() -> None:
    assert mid_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_undefined_correlations() -> None:
    users = [f"u{number}" for number in range(10)]
    constant = PartialRanks([1.0] * 10, list(range(10)), [], users)
    assert (constant.plain, constant.partial, constant.interval(UserDraws(10, 0))) == (None, None, (None, None))
    none = PartialRanks([], [], [[]], [])
    assert (none.plain, none.partial, none.users) == (None, None, 0)
    with pytest.raises(ValueError, match="every event"):
        PartialRanks([1.0], [1.0, 2.0], [], ["u"])


def test_a_series_that_a_control_explains_leaves_nothing() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(2, 50)).tolist()
    users = [f"u{number}" for number in range(50)]
    assert PartialRanks(first, second, [[2 * one for one in first]], users).partial is None


def test_a_control_without_spread_holds_nothing_fixed() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(2, 50)).tolist()
    users = [f"u{number}" for number in range(50)]
    with_control, without = (PartialRanks(first, second, held, users) for held in ([[5.0] * 50], []))
    assert with_control.partial == without.partial == pytest.approx(without.plain)


@pytest.mark.long
def test_coverage_over_users() -> None:
    """Scores and ranks share a part of the user and a part of the text; the true value is that of very many."""

    def draw(users: int, each: int, seed: int) -> PartialRanks:
        rng = np.random.default_rng(seed)
        names = np.repeat(np.arange(users), each)
        of_user = rng.normal(size=users)[names]
        length, quality = rng.normal(size=(2, users * each))
        score = quality + length + 0.5 * of_user + rng.normal(size=users * each)
        rank = np.digitize(quality + 0.5 * length + 0.7 * of_user + rng.normal(size=users * each), (0.0, 1.0))
        return PartialRanks(score.tolist(), rank.tolist(), [length.tolist()], [f"u{one}" for one in names])

    truth = draw(20_000, 10, 1).partial
    assert truth is not None
    hits = []
    for seed in range(150):
        found = draw(80, 10, 100 + seed)
        low, high = found.interval(UserDraws(found.users, seed))
        assert low is not None
        assert high is not None
        hits.append(low <= truth <= high)
    assert 0.9 <= np.mean(hits) <= 0.99
