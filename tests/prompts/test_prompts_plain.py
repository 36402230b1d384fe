"""Left to right and fill: the text as it is."""

from __future__ import annotations

import pytest

from caretbench.models import FillPrompt, TextPrompt
from caretbench.problem import Caret, ContextFile
from caretbench.prompts.registry import FillStrategy, LeftToRightStrategy
from caretbench.prompts.strategy import PromptBudget, UnpromptableError
from tests.support.prompt_samples import EVERYTHING

LINES = "".join(f"line_{number} = {number}\n" for number in range(50))


@pytest.mark.parametrize("prefix", ["x =", "  ", "\n", "\n    ", "print('<|endoftext|>')"])
@pytest.mark.parametrize("name", ["python", "cobol"])
def test_left_to_right_sends_the_prefix_and_nothing_else(prefix: str, name: str) -> None:
    prompt = LeftToRightStrategy().render(Caret(language=name, prefix=prefix, suffix="secret", path="a.py"), EVERYTHING)
    assert prompt == TextPrompt(text=prefix, stop=())


@pytest.mark.parametrize(
    ("prefix", "shown", "answers"),
    [
        ("b =  ", "b =", {"  f(a)": "f(a)", " f(a)": "f(a)", "   f(a)": " f(a)", "\tf(a)": "\tf(a)", "": ""}),
        ("if a:\n    ", "if a:\n   ", {" f(a)": "f(a)", "     f(a)": "    f(a)", "f(a)": "f(a)", "\n": "\n"}),
        ("if a:\n\t\t", "if a:\n\t", {"\tf(a)": "f(a)"}),
        ("if a:\r\n    ", "if a:\r\n   ", {" f(a)": "f(a)"}),
        ("if a:\n", "if a:", {"\n    f(a)": "    f(a)", "\n\n    f(a)": "\n    f(a)", "  # no\n": "  # no\n"}),
        ("if a:\r\n", "if a:", {"\n    f(a)": "    f(a)", "\r\n    f(a)": "    f(a)"}),
        ("a = 1\n\n", "a = 1", {"\n\nb = 2": "b = 2", "\nb = 2": "b = 2"}),
        ("a = 1\n    \n", "a = 1", {"\n    \nb": "b", "\nb = 2": "b = 2"}),
    ],
)  # fmt: skip
def test_left_to_right_leaves_to_the_model_what_tokens_join(prefix: str, shown: str, answers: dict[str, str]) -> None:
    prompt = LeftToRightStrategy().render(Caret(language="python", prefix=prefix), EVERYTHING)
    assert (prompt.text, prompt.text + prompt.blanks) == (shown, prefix)
    assert "blanks" not in prompt.model_dump(), "stored requests keep their hash"
    assert {answer: prompt.at_caret(answer) for answer in answers} == answers


def test_left_to_right_puts_files_and_the_instruction_before_the_prefix() -> None:
    caret = Caret(
        language="java", prefix="class A {", path="src/A.java", instruction="Keep it\nshort.",
        context=(ContextFile(path="src/B.java", text="class B {}"), ContextFile(path="C.java", text="class C {}\n")),
    )  # fmt: skip
    assert LeftToRightStrategy().render(caret, EVERYTHING).text == (
        "// src/B.java\nclass B {}\n\n// C.java\nclass C {}\n\n// src/A.java\n// Keep it\n// short.\nclass A {"
    )


def test_left_to_right_cuts_at_a_line_start() -> None:
    text = LeftToRightStrategy().render(Caret(language="python", prefix=LINES + "last = "), PromptBudget(100, len)).text
    assert len(text) <= 100
    assert text.endswith("line_49 = 49\nlast =")
    assert text.startswith("line_")
    assert (LINES + "last =").endswith("\n" + text)


def test_left_to_right_drops_files_first() -> None:
    caret = Caret(language="python", prefix=LINES, context=(ContextFile(path="b.py", text=LINES),))
    assert LeftToRightStrategy().render(caret, PromptBudget(len(LINES) + 20, len)).text == LINES.rstrip()


@pytest.mark.parametrize(
    ("caret", "why"),
    [
        (Caret(language="python", prefix="", suffix="x"), "nothing to continue"),
        (Caret(language="cobol", prefix="ADD", instruction="Add."), "unknown language 'cobol'"),
    ],
)
def test_left_to_right_refuses(caret: Caret, why: str) -> None:
    with pytest.raises(UnpromptableError, match=why):
        LeftToRightStrategy().render(caret, EVERYTHING)


def test_fill_sends_all_parts_apart() -> None:
    files = (ContextFile(path="b.py", text="b = 1\n"),)
    caret = Caret(language="cobol", prefix="a = ", suffix="\n", path="a.py", instruction="Use b.", context=files)
    assert FillStrategy().render(caret, EVERYTHING) == FillPrompt(
        prefix="a = ", suffix="\n", language="cobol", path="a.py", instruction="Use b.", files=files
    )


def test_fill_cuts_at_line_starts() -> None:
    caret = Caret(language="python", prefix=LINES, suffix=LINES, context=(ContextFile(path="b.py", text="b = 1\n"),))
    prompt = FillStrategy().render(caret, PromptBudget(200, len))
    assert prompt.files == ()
    assert len(prompt.prefix) + len(prompt.suffix) <= 200
    assert LINES.endswith("\n" + prompt.prefix)
    assert LINES.startswith(prompt.suffix)
    assert prompt.suffix.endswith("\n")
