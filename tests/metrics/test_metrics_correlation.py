from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caretbench.metrics.agreement import ItemStatistic, item_estimate
from caretbench.metrics.correlation import (
    mean_difference_statistic,
    pearson,
    pearson_statistic,
    spearman,
    spearman_statistic,
)

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


@given(SERIES)
def test_pearson_is_that_of_scipy_to_the_last_digit(pairs: list[tuple[int, int]]) -> None:
    first, second = ([value / 7 for value in series] for series in zip(*pairs, strict=True))
    found = pearson(first, second)
    if found is not None:
        scipy = stats.pearsonr(first, second)
        assert found[:2] == (float(scipy.statistic), float(scipy.pvalue))


def test_pearson_loads_no_room_of_statistics() -> None:
    """Every `score` correlates similarity with passes, and `scipy.stats` takes a second of CPU to load."""
    code = "import sys; from caretbench.metrics.correlation import pearson; pearson([1, 2, 3], [1, 3, 2])"
    code += "; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=3, max_size=40))
def test_weights_are_repetitions(rows: list[tuple[int, int, int]]) -> None:
    first, second, times = ([float(row[place]) for row in rows] for place in range(3))
    repeated = [[value for value, count in zip(series, times, strict=True) for _ in range(int(count))]
                for series in (first, second)]  # fmt: skip
    for statistic, plain in ((pearson_statistic, pearson), (spearman_statistic, spearman)):
        if len(repeated[0]) >= 3:
            expected = plain(*repeated)
            found = float(statistic(first, second).value(np.array([times]))[0])
            assert math.isnan(found) if expected is None else found == pytest.approx(expected.coefficient, abs=1e-9)


def judged(seed: int, texts: int, noise: float) -> tuple[list[float], list[float]]:
    """Return the scores of a judge, and the means of three people, from 0 to 10."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 2, texts)
    people = np.clip(np.rint(truth + rng.normal(0, noise, (3, texts))), 0, 10)
    return list(np.clip(np.rint(truth + rng.normal(0.5, 1, texts)), 0, 10)), list(people.mean(axis=0))


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.5, 2.0])
@pytest.mark.parametrize("statistic", [pearson_statistic, spearman_statistic, mean_difference_statistic])
def test_intervals_of_a_study_hold_the_true_value(
    statistic: Callable[[list[float], list[float]], ItemStatistic], noise: float
) -> None:
    truth = statistic(*judged(0, 60_000, noise)).estimate
    assert truth is not None
    held = 0
    for seed in range(1, 1001):
        found = item_estimate(statistic(*judged(seed, 150, noise)), seed=seed, resamples=1000)
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
    assert 925 <= held <= 975
