"""Conversations: known bytes, and what holds for every text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.extraction import get_policy
from caretbench.languages import get_language, languages
from caretbench.problem import Caret, ContextFile, InlineSplice
from caretbench.prompts import get_strategy
from caretbench.prompts.registry import PAPER_MARKER, ChatStrategy, DevBenchPaperStrategy, NaturalLanguageStrategy
from caretbench.prompts.strategy import PromptBudget, UnpromptableError
from caretbench.prompts.templating import (
    caret_marker,
    code_fence,
    describe_position,
    describe_suffix,
    unique_tags,
    worked_examples,
)
from caretbench.suites import load_suite
from caretbench.syntax.parser import is_well_formed_text
from tests.support.prompt_samples import CARETS, EVERYTHING, as_text

KNOWN_BYTES = Path(__file__).parent / "known_bytes"
PIECES = [*"ab(){}[]#/*`<>-_ \n\r\t\"'", "é", "\u2028", "/*[CARET]*/", "#[CARET]", "```", "<prefix>"]
CHATTY = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
LANGUAGES = st.sampled_from(list(languages()))


@pytest.mark.parametrize("name", CARETS)
@pytest.mark.parametrize("strategy_name", ["chat", "natural", "devbench-paper"])
def test_what_is_sent_is_pinned_byte_by_byte(strategy_name: str, name: str) -> None:
    # What is sent is part of a strategy's version: if this fails, raise the version and write the files anew.
    prompt = get_strategy(strategy_name).render(CARETS[name], EVERYTHING)
    assert prompt.kind == "chat"
    assert as_text(prompt) == (KNOWN_BYTES / f"{strategy_name}-{name}.txt").read_bytes().decode()


@pytest.mark.parametrize("name", languages())
def test_the_worked_examples_are_right(name: str) -> None:
    example = worked_examples()[name]
    assert is_well_formed_text(example.prefix + example.middle + example.suffix, name)
    first, second = example.middle.split("\n")
    assert first == first.strip()
    statement = example.prefix.rpartition("\n")[2]
    margin = len(statement) - len(statement.lstrip())
    assert len(second) - len(second.lstrip()) == margin > 0


def test_the_python_example_computes_what_it_says() -> None:
    example = worked_examples()["python"]
    done = subprocess.run(
        [sys.executable, "-c", example.prefix + example.middle + example.suffix],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "300\n"  # 61 minutes beyond the free half hour: two hours begun


@given(LANGUAGES, CHATTY, CHATTY)
def test_chat_shows_prefix_and_suffix_as_they_are_with_one_marker(name: str, prefix: str, suffix: str) -> None:
    caret = Caret(language=name, prefix=prefix, suffix=suffix)
    system, user = ChatStrategy().render(caret, EVERYTHING).messages
    mark = caret_marker(caret, get_language(name))
    assert user.text.count(mark) == 1
    assert f"\n{prefix}{mark}{suffix}" in user.text
    before, _, after = user.text.partition(mark)
    assert before.endswith(prefix)
    assert after.startswith(suffix)
    assert f"marker {mark} stands" in system.text


@given(LANGUAGES, CHATTY, CHATTY)
def test_natural_shows_prefix_and_suffix_as_they_are_between_tags(name: str, prefix: str, suffix: str) -> None:
    [_, user] = (
        NaturalLanguageStrategy().render(Caret(language=name, prefix=prefix, suffix=suffix), EVERYTHING).messages
    )
    found = unique_tags(("prefix", "suffix"), (prefix, suffix))
    for tag, shown in ((found["prefix"], prefix), (found["suffix"], suffix)):
        assert user.text.count(tag.open) == user.text.count(tag.close) == 1
        assert f"{tag.open}{shown}{tag.close}" in user.text


@given(CHATTY, CHATTY)
def test_no_text_ends_the_fence_it_stands_in(prefix: str, suffix: str) -> None:
    caret = Caret(language="python", prefix=prefix, suffix=suffix)
    ticks = code_fence((prefix, suffix))
    assert len(ticks) >= 3
    assert ticks not in prefix + "|" + suffix
    [_, user] = ChatStrategy().render(caret, EVERYTHING).messages
    assert user.text.endswith(f"\n{ticks}")


@pytest.mark.parametrize(
    ("prefix", "suffix", "mark"),
    [
        ("", "", "/*[CARET]*/"),
        ("/*[CARET]*/", "", "/*[CARET-2]*/"),
        ("", "/*[CARET]*/ /*[CARET-2]*/", "/*[CARET-3]*/"),
        ("/*[CARET]*", "", "/*[CARET-2]*/"),  # the marker's own first character would complete another one
    ],
)
def test_the_marker_is_new_to_the_text(prefix: str, suffix: str, mark: str) -> None:
    caret = Caret(language="java", prefix=prefix, suffix=suffix)
    assert caret_marker(caret, get_language("java")) == mark


def test_the_marker_is_new_to_other_files_and_the_instruction_too() -> None:
    caret = Caret(
        language="python", prefix="a", suffix="b", instruction="replace #[CARET]",
        context=(ContextFile(path="x.py", text="#[CARET-2]"),),
    )  # fmt: skip
    assert caret_marker(caret, get_language("python")) == "#[CARET-3]"


@pytest.mark.parametrize(
    ("prefix", "suffix", "where", "then"),
    [
        ("", "x = 1\n", "line start", "next line"),
        ("a\n", "\nb", "line start", "line end"),
        ("a\n    ", "b\n", "indentation", "same line"),
        ("a\n\t", "  \r\nb", "indentation", "line end"),
        ("if ", ":\n", "inside", "same line"),
        ("f(", "", "inside", "nothing"),
        ("f(", " \n\n", "inside", "nothing"),
    ],
)
def test_where_the_caret_stands(prefix: str, suffix: str, where: str, then: str) -> None:
    assert (describe_position(prefix), describe_suffix(prefix, suffix)) == (where, then)


def test_chat_says_what_is_known_of_the_caret() -> None:
    caret = Caret(
        language="python", prefix="import util\nx = ", suffix="\nprint(x)\n", path="src/main.py",
        instruction="Call util.", context=(ContextFile(path="src/util.ts", text="let a = `b`"),),
    )  # fmt: skip
    [_, user] = ChatStrategy().render(caret, EVERYTHING).messages
    assert user.text == (
        "Another file of the project, src/util.ts:\n\n```typescript\nlet a = `b`\n```\n\n"
        "Complete src/main.py at the marker. The marker stands inside a line. Its line ends there.\n\n"
        "Follow this instruction: Call util.\n\n"
        "```python\nimport util\nx = #[CARET]\nprint(x)\n```"
    )


def test_natural_says_what_is_known_of_the_caret() -> None:
    caret = Caret(
        language="python", prefix="x = ", path="main.py", instruction="Call util.",
        context=(ContextFile(path="util.py", text="a = 1\n"),),
    )  # fmt: skip
    [_, user] = NaturalLanguageStrategy().render(caret, EVERYTHING).messages
    assert user.text == (
        "<file>util.py\na = 1\n</file>\n\n<path>main.py</path>\n<prefix>x = </prefix>\n<suffix></suffix>\n\n"
        "No code follows the caret.\n\nFollow this instruction: Call util.\n\nThe middle:"
    )


@pytest.mark.parametrize("name", ["chat", "natural"])
def test_text_that_looks_like_a_template_is_only_text(name: str) -> None:
    caret = Caret(language="python", prefix="t = '{{ marker }}{% for a in b %}'", suffix="{# x #}")
    prompt = get_strategy(name).render(caret, EVERYTHING)
    assert prompt.kind == "chat"
    assert "'{{ marker }}{% for a in b %}'" in prompt.messages[1].text
    assert "{# x #}" in prompt.messages[1].text


@pytest.mark.parametrize("name", ["chat", "natural", "devbench-paper"])
def test_a_cut_prompt_fits_and_keeps_what_is_near_the_caret(name: str) -> None:
    lines = [f"line_{number} = {number}\n" for number in range(200)]
    caret = Caret(language="python", prefix="".join(lines), suffix="".join(reversed(lines)))
    whole = get_strategy(name).render(caret, EVERYTHING)
    assert whole.kind == "chat"
    size = sum(len(message.text) for message in whole.messages) - 2000
    prompt = get_strategy(name).render(caret, PromptBudget(size, len))
    assert prompt.kind == "chat"
    assert sum(len(message.text) + 1 for message in prompt.messages) - 1 <= size
    assert "line_199 = 199\n" in prompt.messages[1].text
    assert "line_0 = 0\n" not in prompt.messages[1].text.partition("line_199")[0]


@given(LANGUAGES, CHATTY, CHATTY, st.integers(min_value=1500, max_value=3500))
def test_a_prompt_never_exceeds_its_budget(name: str, prefix: str, suffix: str, tokens: int) -> None:
    caret = Caret(language=name, prefix=prefix * 20, suffix=suffix * 20)
    for entry in (ChatStrategy(), NaturalLanguageStrategy()):
        try:
            system, user = entry.render(caret, PromptBudget(tokens, len)).messages
        except UnpromptableError:
            continue
        assert len(system.text) + len(user.text) < tokens
        mark = caret_marker(caret, get_language(name)) if entry.name == "chat" else "</prefix"
        assert user.text[: user.text.rindex(mark)].endswith(caret.prefix[-1:])


@pytest.mark.parametrize("name", ["chat", "natural", "left-to-right", "fill", "devbench-paper"])
def test_hidden_text_is_in_no_prompt(name: str) -> None:
    hiding = 0
    for problem in load_suite("devbench").load("starter").problems:
        assert isinstance(problem.splice, InlineSplice)
        before = problem.splice.before.removesuffix(problem.caret.prefix).strip()
        after = problem.splice.after.removeprefix(problem.caret.suffix).strip()
        hiding += bool(before or after)
        prompt = get_strategy(name).render(problem.caret, EVERYTHING).model_dump_json()
        for hidden in (before, after, problem.reference.strip()):
            assert not hidden or json.dumps(hidden, ensure_ascii=False)[1:-1] not in prompt
    assert hiding >= 60


def test_a_cut_prompt_says_so() -> None:
    lines = "".join(f"line_{number} = {number}\n" for number in range(200))
    [system, user] = ChatStrategy().render(Caret(language="python", prefix=lines, suffix=lines), EVERYTHING).messages
    assert "left out" not in user.text
    size = len(system.text) + 400
    [_, user] = (
        ChatStrategy().render(Caret(language="python", prefix=lines, suffix=lines), PromptBudget(size, len)).messages
    )
    assert "The beginning of the file is left out." in user.text
    with pytest.raises(UnpromptableError, match="no text at the caret fits"):
        ChatStrategy().render(Caret(language="python", prefix=lines), PromptBudget(100, len))


@pytest.mark.parametrize("name", ["chat", "natural"])
def test_an_unknown_language_cannot_be_asked_about(name: str) -> None:
    with pytest.raises(UnpromptableError, match="'cobol'; known: python"):
        get_strategy(name).render(Caret(language="cobol", prefix="ADD 1 TO "), EVERYTHING)


@pytest.mark.parametrize("name", CARETS)
def test_the_released_prompt_speaks_python_to_all(name: str) -> None:
    caret = CARETS[name]
    system, user = DevBenchPaperStrategy().render(caret, EVERYTHING).messages
    assert user.text == f"```python\n{caret.prefix}#TODO: You Code Here{caret.suffix}\n```"
    assert system.text.count("```python") == 6


@pytest.mark.parametrize(
    "caret",
    [
        Caret(language="python", prefix="a = ", instruction="Use b."),
        Caret(language="python", prefix="a = ", context=(ContextFile(path="b.py", text="b = 1"),)),
        Caret(language="python", prefix=f"a = 1  {PAPER_MARKER}\n"),
    ],
)
def test_the_released_prompt_refuses_what_it_cannot_say(caret: Caret) -> None:
    with pytest.raises(UnpromptableError):
        DevBenchPaperStrategy().render(caret, EVERYTHING)


@pytest.mark.parametrize("name", languages())
def test_an_answer_in_the_form_of_the_example_is_extracted_as_it_is(name: str) -> None:
    example = worked_examples()[name]
    caret = Caret(language=name, prefix=example.prefix, suffix=example.suffix)
    answer = f"```{get_language(name).fence}\n{example.middle}\n```"
    assert get_policy("syntax").apply(answer, caret).text == example.middle
