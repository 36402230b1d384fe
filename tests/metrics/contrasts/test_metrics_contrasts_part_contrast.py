"""Contrast of a part with the rest, and the normal comparison behind it."""

import math

import numpy as np
import pytest

from caretbench.metrics.contrasts.part_contrast import normal_comparison, part_contrast, smallest_effect


def test_single_problems_give_the_spread_of_two_independent_means() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    inside = [True] * 4 + [False] * 6
    found = part_contrast(values, inside, [str(place) for place in range(10)])
    assert found.difference == pytest.approx(0.5 - 2 / 6)
    error = math.sqrt((4 * 0.25 / 16 + (2 / 6 * 4 / 6) / 6) * 10 / 9)
    assert found.interval.high - found.difference == pytest.approx(1.959964 * error, rel=1e-5)
    assert found.groups == 4
    assert found.interval.warning == "only 4 clusters: the interval may be too narrow"


def test_clusters_that_share_a_source_widen_the_interval() -> None:
    rng = np.random.default_rng(1)
    shared = np.repeat(rng.normal(size=60), 5)
    inside = np.repeat(np.arange(60) < 30, 5).tolist()
    alone = part_contrast(shared.tolist(), inside, [str(place) for place in range(300)])
    together = part_contrast(shared.tolist(), inside, [str(place // 5) for place in range(300)])
    assert alone.difference == pytest.approx(together.difference)
    assert together.interval.high - together.interval.low > 2 * (alone.interval.high - alone.interval.low)


def test_false_claims_are_rare() -> None:
    rng = np.random.default_rng(2)
    clusters = [str(place) for place in range(120)]
    inside = [place < 40 for place in range(120)]
    claimed = sum(
        part_contrast(rng.choice([-1.0, 0.0, 1.0], 120), inside, clusters).distinguishable for _ in range(400)
    )
    assert 0.02 <= claimed / 400 <= 0.08


def test_a_difference_without_spread_is_not_distinguishable() -> None:
    found = normal_comparison(0.5, 0.0, n=3, groups=3)
    assert (found.distinguishable, found.p_value) == (False, 1.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        part_contrast([1.0, 0.0], [True, True], ["a", "b"])
    with pytest.raises(ValueError, match="one difference"):
        part_contrast([1.0, 0.0], [True], ["a", "b"])


def test_the_smallest_effect_is_that_of_the_usual_formula() -> None:
    assert smallest_effect(1.0) == pytest.approx(2.801585, rel=1e-5)
    assert smallest_effect(1.0, power=0.5) == pytest.approx(1.959964, rel=1e-5)
