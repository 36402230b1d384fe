"""The registry, and which prompt a model gets."""

from __future__ import annotations

import re

import pytest

from caretbench import prompts
from caretbench.errors import UsageError
from caretbench.models import PromptKind
from caretbench.prompts import choose, get_strategy, strategies
from tests.support.fakes import FakeClient

STARCODER = frozenset({"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<|endoftext|>"})
PLAIN = frozenset({"<|im_start|>", "<|im_end|>", "<|endoftext|>"})


@pytest.mark.parametrize(
    ("accepts", "special", "name", "chosen"),
    [
        (["chat"], None, "openai/gpt-4o-mini", "chat@1"),
        (["chat"], STARCODER, "openai/starcoder", "chat@1"),
        (["fill"], None, "fim/mistral/codestral-latest", "fill@1"),
        (["chat", "fill"], None, "command/my-completer", "fill@1"),
        (["text"], STARCODER, "gguf/some-model.gguf", "fim/starcoder@1"),
        (["text", "chat"], STARCODER, "gguf/some-model.gguf", "fim/starcoder@1"),
        (["text", "chat"], PLAIN, "gguf/smollm2.gguf", "left-to-right@3"),
        (["text"], PLAIN, "gguf/starcoder.gguf", "left-to-right@3"),  # named so, but without the tokens
        (["text"], None, "openai-api-completions/host/starcoder2-7b", "fim/starcoder2@1"),
        (["text"], None, "vllm/Qwen/Qwen2.5-Coder-7B", "fim/qwen2.5-coder@1"),
        (["text", "fill"], None, "fim/openai/unheard-of", "fill@1"),
        (["text", "fill", "chat"], PLAIN, "gguf/smollm2.gguf", "left-to-right@3"),
    ],
)
@pytest.mark.parametrize("wanted", [None, "auto"])
def test_what_a_model_accepts_and_knows_decides(
    accepts: list[PromptKind], special: frozenset[str] | None, name: str, chosen: str, wanted: str | None
) -> None:
    assert choose(FakeClient(name=name, accepts=accepts, special=special), wanted).key == chosen


def test_an_unknown_format_is_refused_with_what_to_give_instead() -> None:
    client = FakeClient(name="openai-api-completions/host/unheard-of", accepts=["text", "chat"])
    with pytest.raises(ValueError, match=r"fill-in-the-middle .*unheard-of") as caught:
        choose(client, None)
    message = str(caught.value)
    assert message.endswith("give --prompt chat, natural, left-to-right, devbench-paper, fim/FAMILY")
    assert "starcoder" in message
    assert "\n" not in message


def test_a_family_that_cannot_fill_in_is_refused_where_its_tokens_are_not_known() -> None:
    with pytest.raises(ValueError, match=r"Yi-Coder.*left-to-right, fim/FAMILY"):
        choose(FakeClient(name="host/Yi-Coder-9B", accepts=["text"]), "auto")


def test_a_format_that_the_endpoint_cannot_send_is_refused() -> None:
    name = "host/Qwen3-Coder-30B-A3B-Instruct"  # fills in within a conversation
    assert choose(FakeClient(name=name, accepts=["text", "chat"]), None).name == "fim/qwen3-coder"
    with pytest.raises(ValueError, match=r"text prompts.*fim/qwen3-coder .*--prompt"):
        choose(FakeClient(name=name, accepts=["text"]), None)


@pytest.mark.parametrize(
    ("wanted", "key"),
    [
        ("natural", "natural@1"),
        ("left-to-right@3", "left-to-right@3"),
        ("fim/starcoder:spm", "fim/starcoder:spm@1"),
        ("fim/mellum:spm", "fim/mellum@1"),  # its only order
    ],
)
def test_what_is_wanted_is_taken(wanted: str, key: str) -> None:
    assert choose(FakeClient(special=PLAIN), wanted).key == key


@pytest.mark.parametrize(
    ("accepts", "wanted", "message"),
    [
        (["text"], "chat", "takes text prompts, and chat makes chat prompts; give --prompt left-to-right, fim/FAMILY"),
        (["chat"], "fim/starcoder", "give --prompt chat, natural, devbench-paper"),
        (["fill"], "left-to-right", "give --prompt fill"),
    ],
)
def test_a_prompt_of_a_kind_that_the_model_does_not_take_is_refused(
    accepts: list[PromptKind], wanted: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        choose(FakeClient(accepts=accepts), wanted)


@pytest.mark.parametrize("wanted", ["", "chats", "chat@2", "fim/unheard-of", "fim/mellum:psm", "auto@1", "CHAT"])
def test_an_unknown_prompt_is_named(wanted: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(wanted))):
        choose(FakeClient(), wanted)


def test_every_name_gives_its_strategy() -> None:
    names = strategies()
    assert names[:5] == ("chat", "natural", "left-to-right", "fill", "devbench-paper")
    assert len(set(names)) == len(names) > 20
    for name in names:
        found = get_strategy(name)
        assert found.name == name
        assert found.key == f"{name}@{found.version}"
        assert get_strategy(found.key).key == found.key


def test_the_package_has_the_names_that_others_build_on() -> None:
    assert set(prompts.__all__) >= {"choose", "get_strategy", "preprocessor", "strategies"}
