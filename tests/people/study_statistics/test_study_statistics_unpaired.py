"""Unpaired tests of printed rates."""

import math

import pytest

from caretbench.people.study_statistics.contrasts import KnownRate, against_mean, unpaired


def test_samples_of_a_problem_count_as_one() -> None:
    """Pattern matching of two models in DevBench's Table 5: 2.4 points are within the error of 300 problems."""
    found = unpaired(KnownRate(0.733, 300), KnownRate(0.757, 300))
    error = math.sqrt((0.733 * 0.267 + 0.757 * 0.243) / 300)
    assert found.difference == pytest.approx(0.024)
    assert found.interval.high == pytest.approx(0.024 + 1.959964 * error, rel=1e-5)
    assert not found.distinguishable
    assert unpaired(KnownRate(0.53, 300), KnownRate(0.84, 300)).distinguishable


def test_rounding_widens_the_interval() -> None:
    exact, rounded = (unpaired(KnownRate(0.5, 300, half), KnownRate(0.6, 300, half)) for half in (0.0, 0.005))
    assert rounded.interval.low < exact.interval.low


def test_the_mean_of_others_spreads_like_one_of_them() -> None:
    others = [KnownRate(0.5, 300)] * 8
    found = against_mean(KnownRate(0.5, 300), others)
    assert found.interval.high == pytest.approx(1.959964 * math.sqrt(2 * 0.25 / 300), rel=1e-5)
    with pytest.raises(ValueError, match="a mean"):
        against_mean(KnownRate(0.5, 300), [])
