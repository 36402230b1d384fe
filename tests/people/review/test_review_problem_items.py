"""Items of problems: what is shown of each kind, and the problems that a protocol is for."""

from __future__ import annotations

import pytest

from caretbench.build.validation.reviewed import problem_hash
from caretbench.files import DataError
from caretbench.people.review.protocol import load_protocol
from caretbench.people.review.review_items import problem_items
from caretbench.problem import Problem, Question
from caretbench.suites import load_problems, load_suite


def starters(suite: str, number: int = 6) -> list[Problem]:
    return list(load_problems(load_suite(suite), "starter").problems[:number])


@pytest.mark.parametrize(("suite", "protocol"), [
    ("devbench", "devbench-instance"), ("simcopilot", "simcopilot-block"), ("c3bench", "c3-instruction"),
    ("codevbench", "reference-check"),
])  # fmt: skip
def test_the_reference_stands_in_its_place(suite: str, protocol: str) -> None:
    problems = starters(suite)
    items = [item for item in problem_items(problems, load_protocol(protocol)) if item.kind == "item"]
    for problem, item in zip(problems, items, strict=True):
        shown = item.shown
        assert (shown.before, shown.span, shown.after) == (
            problem.caret.prefix, problem.reference, problem.caret.suffix,
        )  # fmt: skip
        assert shown.instruction == (problem.caret.instruction or "")
        assert item.problem_hash == problem_hash(problem)
        assert bool(shown.tests) == ("tests" in load_protocol(protocol).shows)


def test_people_who_answer_a_question_see_no_answer() -> None:
    problems = starters("efcb", 600)
    items = problem_items(problems, load_protocol("efcb-choice"))
    assert items
    for item in items:
        assert not item.shown.span
        assert len(item.shown.choices) == 4
        assert item.hidden.expect["choice"][0] in range(4)


def test_problems_that_a_protocol_is_not_for() -> None:
    with pytest.raises(DataError, match=r"of efcb.*devbench"):
        problem_items(starters("devbench"), load_protocol("efcb-choice"))
    with pytest.raises(DataError, match=r"about answers .*--run"):
        problem_items(starters("devbench"), load_protocol("completion-quality"))
    [problem, *_] = [one for one in starters("efcb", 600) if isinstance(one.shown, Question) and one.shown.choices]
    many = problem.shown.model_copy(update={"choices": tuple(str(number) for number in range(12))})
    with pytest.raises(DataError, match="12 choices"):
        problem_items([problem.model_copy(update={"shown": many})], load_protocol("efcb-choice"))
