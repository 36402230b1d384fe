"""Scores of texts by judge: means over repeats."""

from caretbench.people.review.judge_scores import scores_by_judge
from caretbench.problem import Judgement


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
