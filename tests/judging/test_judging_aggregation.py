from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.judging.aggregation import judge_agreement, scores_by_judge, separation
from caretbench.problem import Judgement

TOTALS = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=12)


def judged(
    problem: str, answer: str, relevance: float, helpfulness: float, *, judge: str = "g", repeat: int = 0
) -> Judgement:
    return Judgement(
        problem_id=problem, answer=answer, judge=judge, parameters="p", criterion="c@1", repeat=repeat,
        values={"relevance": relevance, "helpfulness": helpfulness},
    )  # fmt: skip


def test_repeats_and_judges() -> None:
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
    first = judges["g", "p"]
    assert first["one", "a"].means == {"relevance": 4.5, "helpfulness": 4.0, "total": 8.5}
    assert first["one", "a"].sums == (10.0, 7.0)
    assert ("two", "b") not in first


def totals(rows: list[Judgement]) -> list[dict[tuple[str, str], float]]:
    judges = scores_by_judge(rows, "c@1").values()
    return [{text: scores.total for text, scores in texts.items()} for texts in judges]


def test_judges_that_agree_and_one_that_does_not() -> None:
    rows = [judged(str(n), "a", n / 2, n / 2, judge=name) for n in range(11) for name in "gh"]
    same = judge_agreement(totals(rows))
    assert same.alpha == pytest.approx(1.0)
    assert same.texts == 11
    assert same.pairs[0][2:] == (pytest.approx(1.0), pytest.approx(1.0), 11)
    reversed_rows = [judged(str(n), "a", 5 - n / 2, 5 - n / 2, judge="i") for n in range(11)]
    three = judge_agreement(totals(rows + reversed_rows))
    assert three.alpha is not None
    assert three.alpha < 0.1
    assert [(pair.first, pair.second) for pair in three.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert three.pairs[1].spearman == pytest.approx(-1.0)


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
