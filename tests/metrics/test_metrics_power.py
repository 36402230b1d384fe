from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from caretbench.metrics.paired import Pair, compare, mcnemar_exact
from caretbench.metrics.power import planned_problems, power_of


def _pair(gains: int, losses: int, number: int, clusters: list[str] | None = None) -> Pair:
    values = [1.0] * gains + [-1.0] * losses + [0.0] * (number - gains - losses)
    return Pair([0.0] * number, values, clusters, clusters)


def _trinomial_power(number: int, share: float, difference: float) -> float:
    """Power of the exact test, summed over every number of gains and losses."""
    gain, loss = (share + difference) / 2, (share - difference) / 2
    return float(
        sum(
            stats.multinomial.pmf([gains, losses, number - gains - losses], number, [gain, loss, 1 - gain - loss])
            for gains in range(number + 1)
            for losses in range(min(gains, number - gains + 1))
            if mcnemar_exact(gains, losses) < 0.05
        )
    )


@pytest.mark.parametrize(("gains", "losses", "number"), [(11, 10, 72), (4, 3, 40)])
def test_the_smallest_difference_of_single_problems_is_exact(gains: int, losses: int, number: int) -> None:
    found = power_of(_pair(gains, losses, number), 0.05, seed=1).smallest
    assert found is not None
    share = (gains + losses) / number
    # A difference asks for at least as many problems that differ.
    at, below = (_trinomial_power(number, max(share, one), one) for one in (found, found - 1 / number))
    assert below < 0.8 <= at


def test_problems_for_a_difference_have_the_power() -> None:
    needed = power_of(_pair(30, 25, 300), 0.05, seed=1).needed
    rng = np.random.default_rng(1)
    gains = rng.binomial(needed, (55 / 300 + 0.05) / 2, 2_000)
    losses = rng.binomial(needed - gains, (55 / 300 - 0.05) / 2 / (1 - (55 / 300 + 0.05) / 2))
    found = np.mean([mcnemar_exact(int(a), int(b)) < 0.05 and a > b for a, b in zip(gains, losses, strict=True)])
    assert 0.77 <= found <= 0.84


def test_equal_answers_still_have_a_smallest_difference() -> None:
    """No problem of 300 differs: a difference is found once six or so do, all in one direction."""
    found = power_of(_pair(0, 0, 300), 0.05, seed=1)
    assert found.smallest == pytest.approx(8 / 300)
    assert found.needed == 160


def test_fewer_than_six_groups_find_nothing() -> None:
    assert power_of(_pair(3, 0, 5), 0.05, seed=1).smallest is None
    assert power_of(_pair(20, 5, 100, [f"{place // 20}" for place in range(100)]), 0.05, seed=1).smallest is None


def test_clusters_and_families_find_only_greater_differences() -> None:
    rng = np.random.default_rng(2)
    lean = np.repeat(rng.normal(0, 0.3, 30), 10)
    values = np.where(rng.random(300) < 0.3, np.where(rng.random(300) < 0.5 + lean, 1.0, -1.0), 0.0)
    clusters = [f"{place // 10:02}" for place in range(300)]
    singly = power_of(Pair([0.0] * 300, values.tolist()), 0.05, seed=1)
    together = power_of(Pair([0.0] * 300, values.tolist(), clusters), 0.05, seed=1)
    many = power_of(Pair([0.0] * 300, values.tolist(), clusters), 0.05, seed=1, critical=3.0)
    assert singly.smallest is not None
    assert together.smallest is not None
    assert many.smallest is not None
    assert singly.smallest < together.smallest < many.smallest
    assert singly.needed < together.needed < many.needed


@pytest.mark.parametrize("clusters", [None, [f"{place // 2:02}" for place in range(72)]])
@pytest.mark.parametrize(("gains", "losses"), [(0, 0), (1, 0), (12, 10)])
def test_a_family_never_finds_smaller_differences_than_one_test(
    gains: int, losses: int, clusters: list[str] | None
) -> None:
    """Three models without a right answer have the bound 0: two problems of 72, 2.8 points, were said to be found."""
    pair = _pair(gains, losses, 72, clusters)
    alone = power_of(pair, 0.05, seed=1)
    for critical in (0.0, 1.0, 2.236):
        among = power_of(pair, 0.05, seed=1, critical=critical)
        assert among.smallest is not None
        assert alone.smallest is not None
        assert among.smallest >= alone.smallest - 1 / 72
        assert among.needed >= 0.95 * alone.needed


def test_samples_find_the_smallest_difference_in_eight_of_ten() -> None:
    """Further runs of the same problems, whose losses become gains until the models differ by so much."""
    rng = np.random.default_rng(3)
    chances = rng.beta(0.6, 0.4, 120)
    run = (rng.binomial(5, chances) - rng.binomial(5, chances)) / 5
    smallest = power_of(Pair([0.0] * 120, run.tolist()), 0.05, seed=1).smallest
    assert smallest is not None
    run *= np.sign(run.mean())
    found = 0
    for seed in range(200):
        values = run[rng.integers(0, 120, 120)]
        share = (smallest - run.mean()) / 2 / -run.clip(max=0).mean()
        values = np.where((values < 0) & (rng.random(120) < share), -values, values)
        one = compare([0.0] * 120, values.tolist(), seed=seed)
        found += one.distinguishable and one.difference > 0
    assert 0.72 <= found / 200 <= 0.90


def test_few_differing_problems_are_counted() -> None:
    """Three of 200 problems differ by a fifth: the problems that agree do not stand for a difference."""
    values = [0.2, 0.2, -0.4] + [0.0] * 197
    smallest = power_of(Pair([0.0] * 200, values), 0.05, seed=1).smallest
    assert smallest is not None
    assert smallest > 6 * 0.2 / 200


def test_planned_problems_follow_the_groups_of_the_data() -> None:
    """Twelve of each of 47 projects for 4 points, as computed by hand: 476 by the exact test × (1 + 11.4 × .02)."""
    assert planned_problems(0.05, [1] * 1_000) == 312
    assert planned_problems(0.5, [1] * 1_000) == 15  # five pairs that differ decide nothing
    assert planned_problems(0.04, [25] * 47) == pytest.approx(476 * 1.23, abs=15)
    assert planned_problems(0.03, [25] * 200) == pytest.approx(838 * 1.07, abs=15)  # about four of each project
    assert planned_problems(0.05, [1] * 200) is None
    assert planned_problems(0.03, [400] * 10) is None


def test_a_difference_lies_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="difference"):
        power_of(_pair(1, 1, 10), 0.0, seed=1)
