"""Contrast of a part with the rest, and the normal comparison behind it."""

import math

import numpy as np
import pytest

from benchmarks.part_contrasts import LEVELS, SETTINGS, Setting, contrasts
from caretbench.metrics.paired import Comparison
from caretbench.people.study_statistics.contrasts import (
    log_odds_contrast,
    normal_comparison,
    on_both_scales,
    part_contrast,
    smallest_effect,
    with_holm,
)


def test_single_problems_give_the_spread_of_two_independent_means() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    inside = [True] * 4 + [False] * 6
    found = part_contrast(values, inside, [str(place) for place in range(10)])
    assert found.difference == pytest.approx(0.5 - 2 / 6)
    error = math.sqrt((4 * 0.25 / 16 + (2 / 6 * 4 / 6) / 6) * 10 / 9)
    assert found.interval.high - found.difference == pytest.approx(1.959964 * error, rel=1e-5)
    assert found.groups == 4
    assert "only 4 clusters" in (found.interval.warning or "")


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


def test_the_log_odds_ratio_of_a_part_is_that_of_mantel_and_haenszel() -> None:
    own, other = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    inside = [True] * 4 + [False] * 3
    found = log_odds_contrast(own, [other], inside, list("abcdefg"))
    # two wins and one loss inside, one and one outside; half a win and half a loss are added
    assert found.difference == pytest.approx(math.log(2.5 / 1.5) - math.log(1.5 / 1.5))
    observed = 2 / 2.5**2 + 1 / 1.5**2 + 1 / 1.5**2 + 1 / 1.5**2
    added = 0.5 / 2.5**2 + 0.5 / 1.5**2 + 0.5 / 1.5**2 + 0.5 / 1.5**2
    error = math.sqrt(observed * 7 / 6 + added)
    assert found.interval.high - found.difference == pytest.approx(1.959964 * error, rel=1e-5)
    again = log_odds_contrast(own, [other, other], inside, list("abcdefg"))
    assert again.difference == pytest.approx(found.difference)
    assert again.interval.high == pytest.approx(found.interval.high)


def test_a_part_without_a_loss_is_not_known_exactly() -> None:
    own, other = [1.0] * 40, [0.0] * 20 + [0.0, 1.0] * 10
    found = log_odds_contrast(
        [*own[:20], *[0.0, 1.0] * 10], [other], [True] * 20 + [False] * 20, list(map(str, range(40)))
    )
    assert math.isfinite(found.difference)
    assert found.interval.high - found.difference > 1.959964 * math.sqrt(2)


def test_a_contrast_on_both_scales_needs_both_and_one_direction() -> None:
    def found(difference: float, error: float) -> Comparison:
        return normal_comparison(difference, error, n=50, groups=50)

    both = on_both_scales(found(0.3, 0.1), found(1.0, 0.4))
    assert (both.difference, both.p_value, both.distinguishable) == (0.3, found(1.0, 0.4).p_value, True)
    assert not on_both_scales(found(0.3, 0.1), found(1.0, 0.9)).distinguishable
    assert not on_both_scales(found(0.3, 0.9), found(1.0, 0.1)).distinguishable
    opposite = on_both_scales(found(0.3, 0.1), found(-1.0, 0.1))
    assert (opposite.p_value, opposite.distinguishable) == (1.0, False)


@pytest.mark.parametrize("setting", [one for one in SETTINGS if not one.strength], ids=lambda one: one.name)
def test_the_same_lead_in_every_part_is_rarely_claimed(setting: Setting) -> None:
    """Parts differ in difficulty only. In points alone, most runs with a lead and several samples claim a contrast."""
    found = [contrasts(setting, np.random.default_rng([3, run])) for run in range(40)]
    by_points, claimed = (
        sum(any(one.distinguishable for one in with_holm(both[scale])) for both in found) / len(found)
        for scale in (0, 1)
    )
    assert claimed <= 0.08
    if setting.name in ("lead 2.2", "lead 1.5", "field of 3 models"):
        assert by_points > 0.6


def test_a_planted_strength_is_found() -> None:
    [setting] = [one for one in SETTINGS if one.name == "lead 1, +1.2 in Python"]
    place = list(LEVELS).index(setting.language)
    found = [with_holm(contrasts(setting, np.random.default_rng([4, run]))[1])[place] for run in range(30)]
    assert sum(one.distinguishable and one.difference > 0 for one in found) >= 27
