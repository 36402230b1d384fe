from __future__ import annotations

import pytest

from caretbench.suites import load_suite
from caretbench.suites.efcb.masked_answers import WHOLE_PATCH_TIER
from tests.support.questions import CHANGES, question_problem

LINES = CHANGES["cache"][2]


def seen(task: str, text: str, profile: str = "default") -> str:
    return load_suite("efcb").judged_text(question_problem(task, "cache"), text, profile)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        LINES,
        f"<think>hm</think>\n```go\n{LINES}\n```\nThat is all.",
        "".join(f"+{line}\n" for line in LINES.split("\n")),
    ],
)
def test_of_masked_lines_the_lines_alone(answer: str) -> None:
    assert seen("mpr-gen", answer) == LINES
    assert seen("mpr-gen", answer, "paper") == answer


def test_a_patch_that_is_given_back_unfilled_is_the_empty_text() -> None:
    shown = question_problem("mpr-gen", "cache").shown.context[0].text
    assert seen("mpr-gen", shown) == ""
    assert seen("mpr-gen", "") == ""
    assert seen("mpr-gen", shown, "paper") == shown


def test_where_the_whole_patch_is_asked_for_the_whole_answer_is_judged() -> None:
    problem = question_problem("mpr-gen", "cache")
    whole = problem.model_copy(update={"labels": {**problem.labels, "tier": WHOLE_PATCH_TIER}})
    assert load_suite("efcb").judged_text(whole, " a patch", "default") == " a patch"  # type: ignore[attr-defined]


@pytest.mark.parametrize("task", ["reverse-qa", "reverse-qa-hallu"])
def test_descriptions_in_one_form(task: str) -> None:
    text = CHANGES["cache"][0]
    for answer in (text, f"<think>no</think>{text}\n", text.replace("Title:", "**Title:**")):
        assert seen(task, answer) == text
    assert seen(task, "a title\n\nand a body") == "Title: a title\n\nBody: and a body"
    assert seen(task, "a title") == "Title: a title\n\nBody:"
    for nothing in ("", "  \n", "<think>never ends"):
        assert seen(task, nothing) == ""
    assert seen(task, "<think>never ends", "paper") == "<think>never ends"
