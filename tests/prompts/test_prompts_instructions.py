from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.models import ChatPrompt, FillPrompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts import get_strategy, strategies
from caretbench.prompts.instructions import (
    InstructionMode,
    InstructionPlacement,
    instruction_fault,
    instruction_placement,
    with_comment,
)
from caretbench.prompts.question import ChatQuestionStrategy
from caretbench.prompts.strategy import PromptBudget, QuestionStrategy, UnpromptableError
from caretbench.runs.generate import prompt_text
from tests.support.fakes import FakeClient
from tests.support.instructed import instructed_problems
from tests.support.make_problem import make_problem

UNLIMITED = PromptBudget(None, len)
LOOP = "Use a loop."


def caret(prefix: str, suffix: str = "", language: str = "python", instruction: str = LOOP) -> Caret:
    return Caret(language=language, prefix=prefix, suffix=suffix, instruction=instruction)


@pytest.mark.parametrize(
    ("prefix", "suffix", "shown"),
    [
        # In the indentation of the caret's line, which stays below the comment.
        ("def f(x):\n    ", "\n", "def f(x):\n    # Use a loop.\n    "),
        # Inside a line: above it.
        ("def f(x):\n    return ", "\n", "def f(x):\n    # Use a loop.\n    return "),
        ("x = ", "", "# Use a loop.\nx = "),
        # At the start of a line nothing of it is shown: one level more than the line that opens the block …
        ("def f(x):\n", "", "def f(x):\n    # Use a loop.\n"),
        ("class A:\n  a = 1\n\n  def f(x):\n", "", "class A:\n  a = 1\n\n  def f(x):\n    # Use a loop.\n"),
        # … or as the line below it, or as the lines around.
        ("def f(x):\n", "  return y\n", "def f(x):\n  # Use a loop.\n"),
        ("def f(x):\n    y = 1\n", "\n    return y\n", "def f(x):\n    y = 1\n    # Use a loop.\n"),
        ("x = 1\n", "y = 2\n", "x = 1\n# Use a loop.\n"),
        ("", "", "# Use a loop.\n"),
        ("def f(x):\r\n\ty = 1\r\n\t", "\r\n", "def f(x):\r\n\ty = 1\r\n\t# Use a loop.\r\n\t"),
    ],
)
def test_the_comment_is_above_the_line_of_the_caret(prefix: str, suffix: str, shown: str) -> None:
    assert with_comment(caret(prefix, suffix), LOOP) == shown


def test_the_comment_has_the_mark_of_the_language_on_every_line() -> None:
    place = caret("function f(x) {\n  ", "\n}\n", "javascript", "Use recursion.\n\nNo loop.")
    assert with_comment(place, place.instruction or "") == (
        "function f(x) {\n  // Use recursion.\n  //\n  // No loop.\n  "
    )
    with pytest.raises(UnpromptableError, match="cobol"):
        with_comment(caret("x", language="cobol"), LOOP)


@given(prefix=st.text(alphabet=" \t\nab:#{", max_size=40), suffix=st.text(alphabet=" \nab", max_size=20))
def test_only_comment_lines_are_added_to_the_prefix(prefix: str, suffix: str) -> None:
    shown = with_comment(caret(prefix, suffix), "one\ntwo")
    lines = shown.splitlines(keepends=True)
    added = [number for number, line in enumerate(lines) if line.strip() in ("# one", "# two")]
    assert len(added) == 2
    assert "".join(line for number, line in enumerate(lines) if number not in added) == prefix
    assert shown.rpartition("\n")[2] == prefix.rpartition("\n")[2]


def test_the_modes_change_the_shown_caret_alone() -> None:
    place = caret("def f(x):\n    ", "\n")
    assert InstructionPlacement("none")(place) == place.model_copy(update={"instruction": None})
    moved = InstructionPlacement("comment")(place)
    assert (moved.instruction, moved.suffix) == (None, "\n")
    assert moved.prefix == "def f(x):\n    # Use a loop.\n    "
    bare = place.model_copy(update={"instruction": None})
    assert all(InstructionPlacement(mode)(bare) is bare for mode in get_args(InstructionMode))
    assert instruction_placement("shown") is instruction_placement(None) is None
    assert (InstructionPlacement("none").key, InstructionPlacement("comment").key) == ("none@1", "comment@1")


@pytest.mark.parametrize(
    "name", [name for name in strategies() if not isinstance(get_strategy(name), QuestionStrategy)]
)
def test_every_prompt_takes_none_and_comment(name: str) -> None:
    place = caret("def f(x):\n    ", "\n    return y\n").model_copy(update={"path": "f.py"})
    chosen = get_strategy(name)
    silent = prompt_text(chosen.render(InstructionPlacement("none")(place), UNLIMITED))
    assert LOOP not in silent
    said = chosen.render(InstructionPlacement("comment")(place), UNLIMITED)
    assert prompt_text(said).count("    # Use a loop.\n   ") == 1
    assert prompt_text(said).replace("    # Use a loop.\n", "", 1) == silent
    if chosen.takes_instructions:
        assert LOOP in prompt_text(chosen.render(place, UNLIMITED))
    else:
        with pytest.raises(UnpromptableError, match=r"place for .*instruction"):
            chosen.render(place, UNLIMITED)


def test_fim_and_the_paper_prompt_have_no_place_for_an_instruction() -> None:
    refusing = {name for name in strategies() if not get_strategy(name).takes_instructions}
    assert refusing == {"devbench-paper", *(name for name in strategies() if name.startswith("fim/"))}


def test_the_error_of_a_fim_format_names_the_remedy() -> None:
    with pytest.raises(UnpromptableError, match="--instruction none asks without it, and --instruction comment"):
        get_strategy("fim/starcoder").render(caret("x = "), UNLIMITED)


def test_what_cannot_be_asked_is_known_before() -> None:
    instructed, plain = instructed_problems(2), [make_problem()]
    fim, chat, fill = get_strategy("fim/starcoder"), get_strategy("chat"), get_strategy("fill")
    client = FakeClient(name="fake/q")
    default: tuple[InstructionMode | None, ...] = (None, "shown")
    for mode in default:
        fault = instruction_fault(fim, client, mode, [*instructed, *plain])
        assert fault is not None
        assert "fim/starcoder has no place for an instruction, and 4 of 5 problems have one" in fault
        assert "--instruction none" in fault
        assert "--instruction comment" in fault
        assert instruction_fault(fim, client, mode, plain) is None
        assert instruction_fault(chat, client, mode, instructed) is None
        assert instruction_fault(fill, client, mode, instructed) is None
    for mode in ("none", "comment"):
        assert instruction_fault(fim, client, mode, instructed) is None
    client.takes_instructions = False  # type: ignore[attr-defined]  # an endpoint without a field for it
    fault = instruction_fault(fill, client, None, instructed)
    assert fault is not None
    assert "by fill," in fault


def test_an_endpoint_that_fills_gets_the_comment_in_its_prefix() -> None:
    place = caret("def f(x):\n    return ", "\n")
    shown = get_strategy("fill").render(place, UNLIMITED)
    moved = get_strategy("fill").render(InstructionPlacement("comment")(place), UNLIMITED)
    assert isinstance(shown, FillPrompt)
    assert isinstance(moved, FillPrompt)
    assert (shown.prefix, shown.instruction) == ("def f(x):\n    return ", LOOP)
    assert (moved.prefix, moved.instruction) == ("def f(x):\n    # Use a loop.\n    return ", None)


def test_left_to_right_shows_the_instruction_at_the_top_and_the_comment_at_the_caret() -> None:
    place = caret("def f(x):\n    ")
    top = get_strategy("left-to-right").render(place, UNLIMITED)
    near = get_strategy("left-to-right").render(InstructionPlacement("comment")(place), UNLIMITED)
    assert isinstance(top, TextPrompt)
    assert isinstance(near, TextPrompt)
    assert top.text == "# Use a loop.\ndef f(x):\n   "
    assert near.text == "def f(x):\n    # Use a loop.\n   "


def test_the_comment_stays_where_the_budget_cuts_the_prefix() -> None:
    place = caret("".join(f"line_{number} = 1\n" for number in range(100)) + "def f(x):\n    ")
    prompt = get_strategy("fim/starcoder").render(InstructionPlacement("comment")(place), PromptBudget(120, len))
    assert "def f(x):\n    # Use a loop.\n    " in prompt_text(prompt)
    assert "line_0 " not in prompt_text(prompt)


def test_a_chat_has_the_instruction_in_its_request_and_a_question_has_none() -> None:
    shown = get_strategy("natural").render(caret("def f(x):\n    "), UNLIMITED)
    assert isinstance(shown, ChatPrompt)
    assert LOOP in shown.messages[-1].text
    assert ChatQuestionStrategy().takes_instructions
