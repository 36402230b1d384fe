import math
from itertools import combinations

import numpy as np
import pytest

from caretbench.people.study_statistics.contrasts import GroupedValue, compare_groups, differences_with_holm


def values(*parts: tuple[str, list[float], list[float]]) -> list[GroupedValue]:
    """Values of strata: name, values of the first group and of the second; each problem is a cluster."""
    return [
        GroupedValue(value, group, stratum, f"{stratum} {group} {number}")
        for stratum, first, second in parts
        for group, found in ((True, first), (False, second))
        for number, value in enumerate(found)
    ]


def exact(first: list[float], second: list[float]) -> float:
    """The p value by all divisions of one stratum."""
    both = [*first, *second]
    observed = abs(np.mean(first) - np.mean(second))
    found = []
    for chosen in combinations(range(len(both)), len(first)):
        rest = [both[place] for place in range(len(both)) if place not in chosen]
        found.append(abs(np.mean([both[place] for place in chosen]) - np.mean(rest)) >= observed - 1e-9)
    return float(np.mean(found))


@pytest.mark.parametrize("seed", range(4))
def test_one_stratum_gives_the_p_value_of_all_divisions(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.random(6).round(1).tolist(), (generator.random(7).round(1) + 0.3).tolist()
    found = compare_groups(values(("a", first, second)), seed=0)
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert found.p_value == pytest.approx(exact(first, second), abs=0.02)
    assert found.arrangements == math.comb(13, 6)


def test_a_stratum_of_a_thousand_clusters_has_infinitely_many_divisions() -> None:
    found = compare_groups(values(("a", [0.0, 1.0] * 300, [1.0] * 600), ("b", [1.0], [0.0])), seed=0)
    assert (found.arrangements, found.decidable) == (math.inf, True)


def test_strata_have_the_weights_of_mantel_and_haenszel() -> None:
    found = compare_groups(values(("a", [1.0, 1.0], [0.0, 1.0]), ("b", [0.0], [1.0, 0.0, 0.0])), seed=0)
    weights = 2 * 2 / 4, 1 * 3 / 4
    assert found.difference == pytest.approx((weights[0] * 0.5 + weights[1] * -1 / 3) / sum(weights))


def test_a_stratum_of_one_group_is_omitted() -> None:
    both = ("a", [1.0, 0.0], [0.0, 1.0, 1.0])
    assert compare_groups(values(both, ("b", [1.0], [])), seed=1) == compare_groups(values(both), seed=1)
    with pytest.raises(ValueError, match="no stratum"):
        compare_groups(values(("b", [1.0], [])), seed=0)


def test_a_cluster_counts_once() -> None:
    many = values(("a", [1.0, 0.0, 1.0], [0.0, 0.5, 1.0]))
    assert compare_groups([*many, *many], seed=0) == compare_groups(many, seed=0)
    with pytest.raises(ValueError, match="both groups"):
        compare_groups([many[0], many[0]._replace(first=False)], seed=0)


def test_equal_values_have_no_interval() -> None:
    found = compare_groups(values(("a", [1.0] * 20, [1.0] * 20)), seed=0)
    assert (found.difference, found.p_value, found.distinguishable) == (0, 1.0, False)
    assert math.isnan(found.interval.low)


@pytest.mark.long
def test_a_difference_is_found_and_chance_is_not() -> None:
    """With 30 of 150 problems held out in ten strata of unequal difficulty, and a difference of 0.3 or none."""
    for gap, bounds in ((0.3, (0.8, 1.0)), (0.0, (0.0, 0.08))):
        claimed, covered = [], []
        for seed in range(200):
            generator = np.random.default_rng(seed)
            parts = []
            for stratum in range(10):
                rate = 0.3 + 0.04 * stratum
                first = (generator.random(12) < rate + gap).astype(float).tolist()
                parts.append((str(stratum), first, (generator.random(3) < rate).astype(float).tolist()))
            found = compare_groups(values(*parts), seed=seed)
            claimed.append(found.distinguishable)
            covered.append(found.interval.low <= gap <= found.interval.high)
        assert bounds[0] <= np.mean(claimed) <= bounds[1]
        assert np.mean(covered) >= 0.91


def test_p_values_are_adjusted_and_undecidable_ones_do_not_count() -> None:
    clear = compare_groups(values(("a", [1.0] * 9, [0.0] * 9)), seed=0)
    few = compare_groups(values(("a", [1.0], [0.0])), seed=0)
    assert (few.decidable, few.arrangements, few.distinguishable) == (False, 2, False)
    adjusted = differences_with_holm([clear, few, clear])
    assert adjusted[0].p_value == pytest.approx(2 * clear.p_value)
    assert adjusted[0].distinguishable
    assert adjusted[1] == few
