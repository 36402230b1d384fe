from __future__ import annotations

import math
import time
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from caretbench.metrics.intervals import Interval, bootstrap_mean, mean_interval, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (300, 382, 0.7414327814, 0.8235661191),
        (0, 10, 0.0, 0.2775327999),
        (10, 10, 0.7224672001, 1.0),
        (1, 2, 0.0945312057, 0.9054687943),
    ],
)
def test_wilson_reference(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert interval == (pytest.approx(low, abs=1e-10), pytest.approx(high, abs=1e-10), "wilson", None)


@settings(deadline=None)  # scipy loads its tests at the first call
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_agrees_with_scipy(counts: tuple[int, int], confidence: float) -> None:
    expected = stats.binomtest(*counts).proportion_ci(confidence, method="wilson")
    interval = wilson(*counts, confidence=confidence)
    assert interval[:2] == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= interval.low <= counts[0] / counts[1] <= interval.high <= 1


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"), [(0, 0, 0.95), (3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0)]
)
def test_wilson_refuses(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"no proportion|confidence"):
        wilson(successes, trials, confidence)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_agrees_with_scipy(method: Literal["percentile", "bca"]) -> None:
    values = np.random.default_rng(5).lognormal(sigma=1.0, size=60)  # skewed, so that BCa has work to do
    expected = stats.bootstrap(
        (values,), np.mean, method={"bca": "BCa"}.get(method, method), n_resamples=40_000, rng=np.random.default_rng(6)
    ).confidence_interval
    interval = bootstrap_mean(values, seed=7, method=method, resamples=40_000)
    assert interval[:2] == pytest.approx((expected.low, expected.high), rel=0.02)
    assert interval.method == method


@given(st.lists(st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), min_size=2, max_size=60), st.integers(0, 99))
def test_bootstrap_is_reproducible_and_holds_the_mean(values: list[float], seed: int) -> None:
    interval = bootstrap_mean(values, seed=seed, resamples=500, method="percentile")
    assert interval == bootstrap_mean(values, seed=seed, resamples=500, method="percentile")
    assert 0 <= interval.low <= interval.high <= 1
    assert interval.low - 0.1 <= float(np.mean(values)) <= interval.high + 0.1


def test_another_seed_is_another_draw() -> None:
    values = np.random.default_rng(0).random(200)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_bootstrap_covers() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(300):
        interval = bootstrap_mean(rng.binomial(5, 0.7, 100) / 5, seed=seed, resamples=1000)
        hits += interval.low <= 0.7 <= interval.high
    assert 0.91 <= hits / 300 <= 0.98


def test_clusters_widen() -> None:
    rng = np.random.default_rng(4)
    values = np.repeat(rng.random(40), 10)
    clusters = [str(index // 10) for index in range(400)]
    alone, together = bootstrap_mean(values, seed=1), bootstrap_mean(values, seed=1, clusters=clusters)
    assert together.high - together.low > 2.5 * (alone.high - alone.low)
    assert together.warning is None


def test_few_clusters_warn() -> None:
    values = list(np.random.default_rng(4).random(40))
    clusters = ["a"] * 20 + ["b"] * 20
    interval = bootstrap_mean(values, seed=1, clusters=clusters, overlap_groups=[None] * 40)
    assert interval.warning is not None
    assert interval.high - interval.low == pytest.approx(np.subtract(*bootstrap_mean(values, seed=1)[1::-1]), rel=0.1)


def test_degenerate_values() -> None:
    assert bootstrap_mean([1.0] * 10, seed=1) == wilson(10, 10)
    assert bootstrap_mean([0.0] * 10, seed=1) == wilson(0, 10)
    constant = bootstrap_mean([0.4] * 10, seed=1)
    assert constant[:3] == (pytest.approx(0.4), pytest.approx(0.4), "constant")
    assert constant.warning
    lonely = bootstrap_mean([0.4], seed=1)
    assert math.isnan(lonely.low)
    assert (lonely.method, bool(lonely.warning)) == ("undefined", True)
    # All 1 in 20 sources: what was seen 20 times, not 40 times.
    sources = [str(index // 2) for index in range(40)]
    assert bootstrap_mean([1.0] * 40, seed=1, clusters=sources) == wilson(20, 20)


def test_the_interval_fits_the_values() -> None:
    yes_or_no = [1.0] * 30 + [0.0] * 12
    assert mean_interval(yes_or_no, seed=1) == wilson(30, 42)
    assert mean_interval(yes_or_no, seed=1, clusters=list(map(str, range(42)))) == wilson(30, 42)
    assert mean_interval([*yes_or_no, 0.5], seed=1).method == "bca"
    sources = [str(index // 2) for index in range(42)]
    assert mean_interval(yes_or_no, seed=1, clusters=sources).method == "bca"


@pytest.mark.parametrize("clustered", [False, True])
def test_a_benchmark_of_1800_problems_is_quick(clustered: bool) -> None:
    values = np.random.default_rng(1).random(1800)
    clusters = [str(index // 3) for index in range(1800)] if clustered else None
    start = time.process_time()
    interval = bootstrap_mean(values, seed=1, clusters=clusters)
    assert time.process_time() - start < 0.8  # 0.2 s on the machine it was written on
    assert isinstance(interval, Interval)


@pytest.mark.parametrize(
    ("passes", "groups"),
    [
        ([1, 1, *[0] * 8], ["a"] * 7 + ["b"] * 3),
        ([1, 0] * 5, ["a"] * 4 + ["b"] * 6),  # both groups have the same rate: nothing to resample
        ([1] * 9 + [0], [f"g{n // 2}" for n in range(10)]),
        ([0.5, 0.25, 0.75, 0.5], ["a", "a", "b", "b"]),
        ([0.2, 0, 0], ["a", "b", "c"]),  # several samples, and one problem in each group
        ([0.2, 0.2, 0.2], ["a", "b", "c"]),
    ],
)
def test_few_groups_give_no_narrower_interval_than_wilson_s_over_them(passes: list[float], groups: list[str]) -> None:
    found = bootstrap_mean(passes, seed=0, clusters=["one"] * len(passes), overlap_groups=groups)
    number = len(set(groups))
    least = wilson(sum(passes) / len(passes) * number, number)
    assert found.low <= least.low
    assert found.high >= least.high
    assert found.warning is not None
    assert found.warning.startswith("only 1 cluster")


def test_independent_problems_keep_the_bootstrap() -> None:
    assert bootstrap_mean([0.2, 0.0, 0.0], seed=0, clusters=["a", "b", "c"]).high == pytest.approx(0.2)


def test_many_groups_and_other_scales_keep_the_bootstrap() -> None:
    passes = [1.0, 0.0, 1.0, 0.0] * 20
    many = bootstrap_mean(passes, seed=0, clusters=["one"] * 80, overlap_groups=[f"g{n // 2}" for n in range(80)])
    assert many.high - many.low < 0.1  # all 40 groups have the same rate, but for none of them it is the whole
    scores = bootstrap_mean([3, 4, 5, 4], seed=0, clusters=["one"] * 4, overlap_groups=["a", "a", "b", "b"])
    assert scores.low >= 3
