"""The alternative annotator test: who may replace a person."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from caretbench.metrics.agreement import ReplacementTest, replacement_test

ITEMS = 150
RNG = np.random.default_rng(11)
TRUTH = RNG.uniform(0, 10, ITEMS)
LENGTHS = RNG.integers(1, 60, ITEMS)


def named(values: Iterable[float]) -> dict[str, float | str]:
    return {f"item-{place}": float(value) for place, value in enumerate(values)}


PEOPLE = {f"person-{number}": named(np.clip(np.rint(TRUTH + RNG.normal(0, 1, ITEMS)), 0, 10)) for number in range(3)}


def judged_by(values: Iterable[float], **options: float) -> ReplacementTest:
    return replacement_test(named(values), PEOPLE, **options)


def test_a_judge_that_is_right_passes() -> None:
    found = judged_by(np.rint(TRUTH))
    assert found.passes
    assert found.winning_rate == 1.0
    assert [test.person for test in found.people] == ["person-0", "person-1", "person-2"]
    assert all(test.items == ITEMS for test in found.people)


def test_judges_that_are_random_or_prefer_long_answers_fail() -> None:
    for values in (RNG.integers(0, 11, ITEMS), LENGTHS / 6):
        found = judged_by(values)
        assert found.passes is False
        assert found.winning_rate == 0
        assert found.advantage is not None
        assert found.advantage < 0.5


def test_names_are_compared_by_equality() -> None:
    people = {name: {item: "yes" if float(value) > 5 else "no" for item, value in given.items()}
              for name, given in PEOPLE.items()}  # fmt: skip
    right: dict[str, float | str] = {f"item-{place}": "yes" if value > 5 else "no" for place, value in enumerate(TRUTH)}
    wrong: dict[str, float | str] = {item: "no" if value == "yes" else "yes" for item, value in right.items()}
    assert replacement_test(right, people).passes
    assert replacement_test(wrong, people).passes is False


def test_a_known_value_by_hand() -> None:
    # Of 40 items the judge is nearer at 30 and the person at 10: the mean difference is -0.5, its deviation 0.877.
    judge = {str(number): 5.0 for number in range(40)}
    left = {str(number): 6.0 for number in range(40)}
    others = {str(number): 5.0 if number < 30 else 6.0 for number in range(40)}
    found = replacement_test(judge, {"left": left, "second": others, "third": others})
    [test] = [one for one in found.people if one.person == "left"]
    assert test.advantage == 0.75
    # t = (-0.5 - 0.15) / (0.8771 / sqrt(40)) = -4.687 with 39 degrees of freedom
    assert test.p_value == pytest.approx(1.67e-5, rel=0.01)


def test_a_greater_advantage_helps() -> None:
    like_a_person = np.clip(np.rint(TRUTH + np.random.default_rng(2).normal(0, 1.3, ITEMS)), 0, 10)
    strict, lenient = (judged_by(like_a_person, epsilon=epsilon) for epsilon in (0.0, 0.4))
    assert strict.winning_rate is not None
    assert lenient.winning_rate is not None
    assert strict.winning_rate < lenient.winning_rate


def test_reasons_for_which_there_is_no_test() -> None:
    two = dict(list(PEOPLE.items())[:2])
    assert replacement_test(named(TRUTH), two).passes is None
    assert "3 people" in replacement_test(named(TRUTH), two).reason
    assert "10 items" in replacement_test(named(TRUTH[:5]), PEOPLE).reason
