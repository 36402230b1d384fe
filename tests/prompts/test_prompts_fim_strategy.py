"""The strategies ``fim/FAMILY``: what they are called, what they send, and that it fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.models import ChatPrompt, TextPrompt
from caretbench.problem import Caret, ContextFile
from caretbench.prompts.fim.families import FimStrategy, fim_formats, fim_strategies
from caretbench.prompts.strategy import PromptBudget, UnpromptableError

UNLIMITED = PromptBudget(None, len)


def named(name: str) -> FimStrategy:
    return fim_strategies()[name]


def text_of(prompt: object) -> str:
    if isinstance(prompt, ChatPrompt):
        return "".join(message.text for message in prompt.messages)
    assert isinstance(prompt, TextPrompt)
    return prompt.text


def test_there_is_one_for_every_family_and_every_other_order() -> None:
    assert set(fim_strategies()) == {f"fim/{name}" for name in fim_formats()} | {
        "fim/santacoder:spm", "fim/starcoder:spm", "fim/starcoder2:spm", "fim/codellama:spm", "fim/codegemma:spm",
    }  # fmt: skip
    assert all(name == strategy.name for name, strategy in fim_strategies().items())


def test_the_key_holds_the_version_of_the_familys_entry() -> None:
    assert named("fim/starcoder").key == "fim/starcoder@1"
    assert named("fim/starcoder:spm").key == "fim/starcoder:spm@1"
    newer = fim_formats()["starcoder"].model_copy(update={"version": 7})
    assert FimStrategy(newer).key == "fim/starcoder@7"


def test_raw_text_with_its_stops() -> None:
    caret = Caret(language="python", prefix="a = ", suffix="\nb\n")
    assert named("fim/codellama:spm").render(caret, UNLIMITED) == TextPrompt(
        text="<PRE> <SUF>\nb\n <MID> a = ", stop=("<EOT>",)
    )
    assert named("fim/starcoder").render(caret, UNLIMITED) == TextPrompt(
        text="<fim_prefix>a = <fim_suffix>\nb\n<fim_middle>", stop=("<|endoftext|>",)
    )


def test_a_family_that_wants_a_conversation() -> None:
    strategy = named("fim/qwen3-coder")
    prompt = strategy.render(Caret(language="python", prefix="a = ", suffix="\nb\n"), UNLIMITED)
    assert strategy.kind == prompt.kind == "chat"
    assert isinstance(prompt, ChatPrompt)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert prompt.messages[1].text == "<|fim_prefix|>a = <|fim_suffix|>\nb\n<|fim_middle|>"
    assert "<|im_end|>" in prompt.stop
    assert {entry.kind for name, entry in fim_strategies().items() if name != strategy.name} == {"text"}


def test_path_and_context_reach_the_prompt() -> None:
    caret = Caret(
        language="python", prefix="P", suffix="S", path="main.py", context=(ContextFile(path="a.py", text="A\n"),)
    )
    prompt = named("fim/mellum").render(caret, UNLIMITED)
    assert text_of(prompt) == "<filename>a.py\nA\n<filename>main.py\n<fim_suffix>S<fim_prefix>P<fim_middle>"


def test_an_instruction_is_refused() -> None:
    caret = Caret(language="python", prefix="", instruction="use a loop")
    with pytest.raises(UnpromptableError, match=r"fim/starcoder .*instruction"):
        named("fim/starcoder").render(caret, UNLIMITED)


def test_what_does_not_fit_goes_in_its_order() -> None:
    files = (ContextFile(path="far.py", text="f" * 50), ContextFile(path="near.py", text="n" * 50))
    caret = Caret(language="python", prefix="p234\n" * 20, suffix="s234\n" * 20, path="main.py", context=files)
    strategy = named("fim/qwen2.5-coder")
    whole = text_of(strategy.render(caret, UNLIMITED))
    assert text_of(strategy.render(caret, PromptBudget(len(whole), len))) == whole
    without_far = text_of(strategy.render(caret, PromptBudget(len(whole) - 1, len)))
    assert without_far == whole.replace(f"<|file_sep|>far.py\n{'f' * 50}\n", "")
    alone = text_of(strategy.render(caret, PromptBudget(len(without_far) - 1, len)))
    assert alone == f"<|fim_prefix|>{caret.prefix}<|fim_suffix|>{caret.suffix}<|fim_middle|>"
    shorter = text_of(strategy.render(caret, PromptBudget(len(alone) - 1, len)))
    assert shorter.startswith("<|fim_prefix|>p234\n")
    assert shorter.endswith("s234\n<|fim_middle|>")


lines = st.lists(st.text(alphabet="ab ", max_size=8), max_size=12).map("\n".join)
contexts = st.lists(st.builds(ContextFile, path=st.sampled_from(["a.py", "b.py"]), text=lines), max_size=3).map(tuple)


@given(
    caret=st.builds(
        Caret, language=st.just("python"), prefix=lines, suffix=lines, path=st.sampled_from([None, "m.py"]),
        context=contexts, instruction=st.none(),
    ),
    name=st.sampled_from(sorted(fim_strategies())),
    tokens=st.integers(0, 400),
)  # fmt: skip
def test_every_prompt_fits_its_budget(caret: Caret, name: str, tokens: int) -> None:
    strategy = named(name)
    whole = text_of(strategy.render(caret, UNLIMITED))
    try:
        text = text_of(strategy.render(caret, PromptBudget(tokens, len)))
    except UnpromptableError:
        assert len(whole) > tokens
        return
    assert len(text) <= tokens
    assert (text == whole) == (len(whole) <= tokens)


@pytest.mark.parametrize(
    ("family", "begin"),
    [
        ("starcoder2", "<repo_name>wayfarer<file_sep>lib/a.py\n"),
        ("qwen2.5-coder", "<|repo_name|>wayfarer\n<|file_sep|>lib/a.py\n"),
        ("codestral", "[SUFFIX]"),
    ],
)
def test_the_projects_name_stands_where_the_family_has_a_place_and_other_files_are_shown(
    family: str, begin: str
) -> None:
    files = (ContextFile(path="lib/a.py", text="A = 1\n"),)
    alone = Caret(language="python", prefix="a = ", path="b.py", repository="wayfarer")
    text = text_of(named(f"fim/{family}").render(alone.model_copy(update={"context": files}), UNLIMITED))
    assert text.startswith(begin)
    assert ("wayfarer" in text) is (family != "codestral")
    assert "wayfarer" not in text_of(named(f"fim/{family}").render(alone, UNLIMITED))


def test_a_project_that_is_not_known_changes_no_hash_of_a_problem() -> None:
    caret = Caret(language="python", prefix="a = ")
    assert "repository" not in caret.model_dump_json()
    assert Caret.model_validate_json(alone := caret.model_copy(update={"repository": "r"}).model_dump_json()).repository
    assert '"repository":"r"' in alone
