"""Generator bias: known values, missing answers, power and false claims on simulated models."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.generator_bias import SETTINGS, Setting, estimates, simulated
from caretbench.people.strengths.bias_section import (
    AnsweredProblems,
    bias_by_family,
    bias_by_model,
    bias_families,
    own_family_bias,
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


def answered(rates: Sequence[Sequence[float]], models: str, problems: str, scenarios: str) -> AnsweredProblems:
    return AnsweredProblems(np.asarray(rates, dtype=float), [*models], [*problems], [*scenarios])


def test_the_bias_is_a_difference_of_differences_in_each_scenario() -> None:
    """Model A gains 0.5 and 0.5 on problems of A, model B loses 0.25 and gains 0.25 on them: 0.75 and 0.25."""
    data = answered([[1, 0.5, 0.5, 0], [0.5, 0.75, 0.75, 0.5]], "AB", "ABAB", "1122")
    found = own_family_bias(data, seed=0)
    assert found is not None
    assert found.points.difference == pytest.approx(0.5)
    assert found.points.n == 2
    assert not found.claimed  # two scenarios decide nothing
    # 1.96 + 0.84 standard errors of two values 0.75 and 0.25
    assert found.smallest == pytest.approx((1.959964 + 0.841621) * 0.25, rel=1e-5)
    # A alone solves 0.625 problems of A and 0.125 of B, B alone 0.375 and 0.875; half a problem is added
    odds = math.log(1.125 / 0.875) - math.log(0.625 / 1.375)
    assert found.log_odds.difference == pytest.approx(odds)


def test_problems_of_one_family_in_a_scenario_are_averaged() -> None:
    data = answered([[1, 0, 0, 0], [0, 0, 0, 0]], "AB", "AABB", "1111")
    found = own_family_bias(data, seed=0)
    assert found is not None
    assert found.points.difference == pytest.approx(0.5)


def test_scenarios_without_both_sides_or_without_a_verdict_do_not_count() -> None:
    rates = [[1, 0, 1, math.nan, 1], [0, 0, 1, 1, 0]]
    found = own_family_bias(answered(rates, "AB", "ABABA", "11223"), seed=0)
    assert found is not None
    assert (found.points.n, found.points.difference) == (1, 1.0)
    assert own_family_bias(answered([[1], [0]], "AB", "A", "1"), seed=0) is None


def test_a_third_family_has_its_own_row() -> None:
    rates = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    data = answered([row * 8 for row in rates], "ABCD", "ABC" * 8, "".join(letter * 3 for letter in "12345678"))
    assert bias_families(data) == ["A", "B", "C"]  # D wrote nothing
    by_family = bias_by_family(data, seed=0)
    # A: own gain 1; the others' mean gain is (-0.5 + 0 + 0) / 3
    assert by_family["A"].points.difference == pytest.approx(1 + 0.5 / 3)
    assert by_family["C"].points.difference == pytest.approx(0 + (0.5 + 0.5) / 3)
    whole = own_family_bias(data, seed=0)
    assert whole is not None
    assert whole.points.difference == pytest.approx(
        sum(found.points.difference for found in by_family.values()) / len(by_family)
    )
    assert set(bias_by_model(data, seed=0)) == {0, 1, 2}


def test_without_models_of_a_generators_family_there_is_nothing_to_compare() -> None:
    assert bias_families(answered([[1, 0]], "C", "AB", "11")) == []
    assert own_family_bias(answered([[1, 0]], "C", "AB", "11"), seed=0) is None


def shares(setting: Setting, runs: int) -> tuple[float, float]:
    """Return the shares of runs that claim a bias, and that would by points alone."""
    found = list(estimates(setting, runs))
    assert len(found) == runs
    return sum(one.claimed for one in found) / runs, sum(one.points.distinguishable for one in found) / runs


def test_a_favour_is_found_and_unequal_families_are_not_mistaken_for_one() -> None:
    assert shares(BY_NAME["favoured by 5 points"], 12)[0] == 1.0
    claimed, by_points = shares(BY_NAME["no favour, very unequal families"], 30)
    assert claimed <= 0.1
    assert by_points >= 0.3  # the difference of rates alone would mislead
    claimed, by_points = shares(BY_NAME["no favour, problems of unequal spread"], 30)
    assert claimed <= 0.1
    assert by_points >= 0.7


def test_the_smallest_bias_falls_with_the_scenarios() -> None:
    setting = BY_NAME["no favour"]
    few, many = (
        own_family_bias(simulated(setting, np.random.default_rng(3), scenarios), seed=0) for scenarios in (150, 600)
    )
    assert few is not None
    assert many is not None
    assert few.smallest == pytest.approx(2 * many.smallest, rel=0.2)


@pytest.mark.long
def test_power_and_false_claims_over_400_runs() -> None:
    assert shares(BY_NAME["favoured by 5 points"], 400)[0] >= 0.9
    for name in ("no favour", "no favour, unequal families", "no favour, problems of unequal spread"):
        assert shares(BY_NAME[name], 400)[0] <= 0.08, name


def test_a_bias_on_one_scale_against_the_other_is_not_claimed() -> None:
    found = own_family_bias(simulated(BY_NAME["favoured by 5 points"], np.random.default_rng(2)), seed=0)
    assert found is not None
    assert found.claimed
    against = found.log_odds._replace(difference=-found.log_odds.difference)
    assert not found._replace(log_odds=against).claimed
    unknown = found.log_odds._replace(distinguishable=False)
    assert not found._replace(log_odds=unknown).claimed
