from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.judging.aggregation import (
    controls_in_order,
    instance_scores,
    judge_agreement,
    mean_over_judges,
    repeat_spread,
    scores_by_judge,
    separation,
)
from caretbench.problem import Judgement

TOTALS = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=12)


def judged(
    problem: str, answer: str, relevance: float, helpfulness: float, *, judge: str = "g", repeat: int = 0
) -> Judgement:
    return Judgement(
        problem_id=problem, answer=answer, judge=judge, parameters="p", criterion="c@1", repeat=repeat,
        values={"relevance": relevance, "helpfulness": helpfulness},
    )  # fmt: skip


def test_repeats_then_judges_then_samples() -> None:
    rows = [
        judged("one", "a", 5, 5),
        judged("one", "a", 4, 3, repeat=1),
        judged("one", "b", 0, 1),
        judged("one", "a", 1, 1, judge="h"),
        judged("one", "b", 2, 2, judge="h"),
        judged("two", "a", 3, 3),
        judged("two", "a", 0, 0).model_copy(update={"criterion": "other@1"}),
        judged("two", "b", 0, 0).model_copy(update={"values": {}, "fault": "none"}),
    ]
    judges = scores_by_judge(rows, "c@1")
    assert list(judges) == [("g", "p"), ("h", "p")]
    first, second = judges.values()
    assert first["one", "a"].means == {"relevance": 4.5, "helpfulness": 4.0, "total": 8.5}
    assert first["one", "a"].sums == (10.0, 7.0)
    assert ("two", "b") not in first
    both = mean_over_judges([first, second])
    assert {text: scores.total for text, scores in both.items()} == {("one", "a"): 5.25, ("one", "b"): 2.5}
    assert mean_over_judges([first]) == first
    # Three samples, two of them the same text; the text that was not judged does not count.
    samples = [("one", "a"), ("one", "a"), ("one", "b"), ("two", "b"), ("two", "a")]
    assert instance_scores(samples, first) == {"one": (8.5 + 8.5 + 1.0) / 3, "two": 6.0}
    assert instance_scores(samples, both, "relevance") == {"one": (2.75 * 2 + 1.0) / 3}


def test_judges_that_agree_and_one_that_does_not() -> None:
    rows = [judged(str(n), "a", n / 2, n / 2, judge=name) for n in range(11) for name in "gh"]
    same = judge_agreement(list(scores_by_judge(rows, "c@1").values()))
    assert same.alpha == pytest.approx(1.0)
    assert same.texts == 11
    assert same.pairs[0][2:] == (pytest.approx(1.0), pytest.approx(1.0), 11)
    reversed_rows = [judged(str(n), "a", 5 - n / 2, 5 - n / 2, judge="i") for n in range(11)]
    three = judge_agreement(list(scores_by_judge(rows + reversed_rows, "c@1").values()))
    assert three.alpha is not None
    assert three.alpha < 0.1
    assert [(pair.first, pair.second) for pair in three.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert three.pairs[1].spearman == pytest.approx(-1.0)


def test_the_spread_of_repeats() -> None:
    steady = scores_by_judge([judged("one", "a", 2, 2), judged("two", "a", 1, 1)], "c@1")
    assert repeat_spread(steady["g", "p"]) is None
    rows = [judged("one", "a", 2, 2), judged("one", "a", 3, 3, repeat=1), judged("two", "a", 0, 0)]
    assert repeat_spread(scores_by_judge(rows, "c@1")["g", "p"]) == pytest.approx(math.sqrt(2))


def test_separation_by_hand() -> None:
    assert separation([9, 8], [1, 2]) == 1.0
    assert separation([1], [2]) == 0.0
    assert separation([3, 3], [3]) == 0.5
    assert separation([5, 2], [2, 1, 8]) == pytest.approx((2 + 1.5) / 6)
    assert separation([], [1]) is None


@given(TOTALS, TOTALS)
def test_separation_is_the_share_of_pairs(reference: list[float], control: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in reference for b in control]
    assert separation(reference, control) == pytest.approx(sum(pairs) / len(pairs))


def test_the_order_of_the_controls() -> None:
    means = {"reference": 9.0, "reference-twice": 6.0, "other-reference": 1.0, "empty": 2.0}
    assert controls_in_order(means)
    assert not controls_in_order(means | {"empty": 6.5})
    assert not controls_in_order(means | {"reference": 6.0})
