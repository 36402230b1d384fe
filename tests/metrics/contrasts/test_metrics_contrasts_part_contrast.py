"""Contrast of a part with the rest, and the normal comparison behind it."""

import math

import numpy as np
import pytest

from caretbench.metrics.contrasts.part_contrast import (
    log_odds_contrast,
    normal_comparison,
    on_both_scales,
    part_contrast,
    smallest_effect,
)
from caretbench.metrics.paired import Comparison, with_holm
from caretbench.metrics.resampling import Floats


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


LEVELS = (-2.06, -1.69, -1.67, -1.16, -0.25, -0.28)
"""Mean difficulty of DevBench's languages for the recorded models, in log odds."""


def claims(
    rng: np.random.Generator, skills: tuple[float, ...], problems: int, samples: int, strength: float = 0.0
) -> tuple[list[bool], list[bool]]:
    """Claimed contrasts by part, in points alone and on both scales; the first model has ``strength`` in one part."""
    parts = np.repeat(np.arange(len(LEVELS)), problems)
    hard = np.asarray(LEVELS)[parts] + 1.7 * rng.normal(size=len(parts))

    def rates(skill: float, extra: float) -> Floats:
        return rng.binomial(samples, 1 / (1 + np.exp(hard - skill - extra * (parts == 4)))) / samples

    own, *others = [rates(skill, 0.0 if place else strength) for place, skill in enumerate(skills)]
    clusters = [str(place) for place in range(len(parts))]
    points, both = [], []
    for part in range(len(LEVELS)):
        inside = (parts == part).tolist()
        points.append(part_contrast(own - np.mean(others, axis=0), inside, clusters))
        both.append(on_both_scales(points[-1], log_odds_contrast(own, others, inside, clusters)))
    by_points, claimed = ([one.distinguishable for one in with_holm(tests)] for tests in (points, both))
    return by_points, claimed


@pytest.mark.parametrize(
    ("skills", "problems", "samples"),
    [
        ((1.1, -1.1), 272, 5),
        ((1.1, -1.1, 0.0, 1.5), 272, 5),
        ((1.1, -1.1), 272, 1),
        ((3.0, -1.0), 60, 5),
        ((1.75, -1.75), 30, 1),
    ],
)
def test_the_same_lead_in_every_part_is_rarely_claimed(skills: tuple[float, ...], problems: int, samples: int) -> None:
    """Parts differ in difficulty only. In points alone, most runs of the first and fourth case claim a contrast."""
    rng = np.random.default_rng(3)
    found = [claims(rng, skills, problems, samples) for _ in range(60)]
    by_points, claimed = (sum(any(one[scale]) for one in found) / len(found) for scale in (0, 1))
    assert claimed <= 0.08
    if samples == 5:
        assert by_points > 0.6


def test_a_planted_strength_is_found() -> None:
    """A strength of 1.2 log odds in one part of 272 problems, which are as hard as the ability of the models."""
    rng = np.random.default_rng(4)
    found = [claims(rng, (0.5, -0.5), 272, 5, strength=1.2)[1][4] for _ in range(30)]
    assert sum(found) >= 27
