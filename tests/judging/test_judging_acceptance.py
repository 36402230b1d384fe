"""Whether a judge may enter a score: what it must get right, how often a good one is refused, and a bad one not."""

from __future__ import annotations

import random
from math import comb

import pytest

from caretbench.judging.controls import control_names
from caretbench.judging.criteria import Criterion, get_criterion
from caretbench.reports.judged.trust import (
    BAD_JUDGE_ACCURACY,
    GOOD_JUDGE_ACCURACY,
    MAX_FALSE_ACCEPTANCE,
    MAX_FALSE_REJECTION,
    Acceptance,
    Calibration,
    ControlRating,
    acceptance_of,
    min_control_problems,
    min_correct_controls,
)

DESCRIPTION, CLAIMS = get_criterion("efcb-description"), get_criterion("efcb-claims")
SCORED, SAID = ("reference", "other-reference", "empty"), ("reference", "false-claim", "other-reference")
ENOUGH = min_control_problems(3)


def rated(problems: int, *right: float, names: tuple[str, ...] = SCORED, effect: float | None = None) -> Calibration:
    """A calibration with these shares of controls that were judged right."""
    return Calibration(
        {
            name: ControlRating(5.0, problems, share, order_effect=effect, order_error=0.01)
            for name, share in zip(names, right, strict=True)
        },
        0,
    )


def judge_acceptance(calibration: Calibration, criterion: Criterion) -> Acceptance:
    return acceptance_of(calibration, control_names(criterion))


def at_least(problems: int, count: int, share: float) -> float:
    return sum(comb(problems, k) * share**k * (1 - share) ** (problems - k) for k in range(count, problems + 1))


@pytest.mark.parametrize("problems", [1, 3, 10, 32, 33, 60, 120, 500])
def test_a_good_judge_is_refused_as_seldom_as_is_said(problems: int) -> None:
    refused = 1 - at_least(problems, min_correct_controls(problems, 3), GOOD_JUDGE_ACCURACY)
    assert refused <= MAX_FALSE_REJECTION / 3
    # And the bound is the tightest one that keeps this.
    assert 1 - at_least(problems, min_correct_controls(problems, 3) + 1, GOOD_JUDGE_ACCURACY) > MAX_FALSE_REJECTION / 3


def test_from_how_many_controls_on_a_bad_judge_is_told_from_a_good_one() -> None:
    assert ENOUGH == 33
    for problems in range(ENOUGH, 200):
        assert at_least(problems, min_correct_controls(problems, 3), BAD_JUDGE_ACCURACY) <= MAX_FALSE_ACCEPTANCE
    assert at_least(ENOUGH - 1, min_correct_controls(ENOUGH - 1, 3), BAD_JUDGE_ACCURACY) > MAX_FALSE_ACCEPTANCE


@pytest.mark.parametrize("problems", [ENOUGH, 120])
def test_good_judges_pass_and_judges_that_guess_at_one_control_do_not(problems: int) -> None:
    draw = random.Random(7)  # noqa: S311 - a simulation

    def share(probability: float) -> float:
        return sum(draw.random() < probability for _ in range(problems)) / problems

    times = 2000
    good = sum(
        judge_acceptance(rated(problems, *(share(GOOD_JUDGE_ACCURACY) for _ in SCORED)), DESCRIPTION).accepted
        for _ in range(times)
    )
    assert good >= times * (1 - MAX_FALSE_REJECTION) - 3 * (times * MAX_FALSE_REJECTION) ** 0.5
    for place in range(3):
        chances = [0.99 if place != other else BAD_JUDGE_ACCURACY for other in range(3)]
        bad = sum(judge_acceptance(rated(problems, *map(share, chances)), DESCRIPTION).accepted for _ in range(times))
        assert bad <= times * MAX_FALSE_ACCEPTANCE + 3 * (times * MAX_FALSE_ACCEPTANCE) ** 0.5


def test_the_reason_says_what_was_wrong() -> None:
    verdict = judge_acceptance(rated(120, 1.0, 0.25, 0.0), DESCRIPTION)
    assert verdict.state == "failed"
    assert verdict.reason == "other-reference judged correctly in 30 of 120; empty judged correctly in 0 of 120"
    assert judge_acceptance(rated(120, 1.0, 1.0, 1.0), DESCRIPTION) == ("accepted", "")
    assert judge_acceptance(rated(120, 1.0, 1.0, 1.0, names=SAID), CLAIMS).accepted
    missing = judge_acceptance(rated(120, 1.0, 1.0, 1.0, names=SAID), DESCRIPTION)
    assert (missing.state, missing.reason) == ("too_few", "too few controls (0; 33 are needed)")


def test_a_few_controls_prove_a_fault_and_no_virtue() -> None:
    assert judge_acceptance(rated(4, 0.0, 1.0, 1.0), DESCRIPTION).state == "failed"
    few = judge_acceptance(rated(ENOUGH - 1, 1.0, 1.0, 1.0), DESCRIPTION)
    assert (few.state, few.reason) == ("too_few", "too few controls (32; 33 are needed)")
    assert judge_acceptance(rated(ENOUGH, 1.0, 1.0, 1.0), DESCRIPTION).accepted
    none = judge_acceptance(Calibration({}, 0), DESCRIPTION)
    assert (none.state, none.reason) == ("unknown", "no controls were judged")


def test_who_likes_what_is_shown_first_is_refused() -> None:
    verdict = judge_acceptance(rated(40, 1.0, 1.0, 1.0, effect=0.4), DESCRIPTION)
    assert verdict.state == "failed"
    assert "reference gains 40%" in verdict.reason
    worse = judge_acceptance(rated(40, 1.0, 1.0, 1.0, effect=-0.4), DESCRIPTION)
    assert "reference loses 40%" in worse.reason
    assert judge_acceptance(rated(9, 1.0, 1.0, 1.0, effect=0.4), DESCRIPTION).state == "too_few"
    assert judge_acceptance(rated(40, 1.0, 1.0, 1.0, effect=0.2), DESCRIPTION).accepted
