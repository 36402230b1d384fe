"""The page about prompts shows what is sent."""

from __future__ import annotations

import re
from pathlib import Path

from caretbench.models import ChatPrompt, TextPrompt
from caretbench.prompts import strategy
from caretbench.prompts.registry import BUILT_IN_STRATEGIES
from tests.support.prompt_samples import CARETS, EVERYTHING

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "prompts.md").read_text("utf-8")


def test_the_examples_of_the_page_are_what_is_sent() -> None:
    shown = re.findall(r"~~~text\n(.*?)\n~~~", PAGE, re.DOTALL)
    sent = []
    for name in ("chat", "natural", "left-to-right", "devbench-paper"):
        prompt = strategy(name).render(CARETS["javascript"], EVERYTHING)
        if isinstance(prompt, ChatPrompt):
            sent += [message.text for message in prompt.messages][name == "devbench-paper" :]
        elif isinstance(prompt, TextPrompt):
            sent.append(prompt.text)
    assert shown == sent


def test_every_strategy_of_ours_is_on_the_page() -> None:
    for entry in BUILT_IN_STRATEGIES:
        assert f"| `{entry.name}` | {entry.kind} |" in PAGE
