"""Codev-Bench's published cut of answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.extraction.policies import get_policy
from caretbench.problem import Caret

CARET = Caret(language="python", prefix="def f():\n    ", suffix="\n    return x\n", path="a.py")


def cut(name: str, text: str) -> str:
    return get_policy(name).apply(text, CARET).text


@pytest.mark.parametrize("name", ["codevbench/answer", "codevbench/chat"])
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Sure:\n```python\nx = 1\n```\nDone.", "x = 1"),
        ("```\nx = 1\n```\nor\n```py\ny = 2\nz = 3\n```", "y = 2\nz = 3"),
        ("```\nx = 1\n```\nand\n```\nnot closed", "x = 1"),
        ("```python\nnever closed", ""),
        ("```\n\n```", ""),
        ("```x = 1```", ""),
        ("```python\n    a<br>b\n```", "    a<br>b"),
    ],
)
def test_the_last_closed_block_is_the_answer_and_nothing_without_one(name: str, text: str, left: str) -> None:
    assert cut(name, text) == left


def test_an_answer_without_a_fence_is_kept_up_to_an_end_token_and_empty_for_chat_models() -> None:
    assert cut("codevbench/answer", "x = 1\n") == "x = 1\n"
    assert cut("codevbench/answer", "x = 1<|endoftext|>\ny") == "x = 1"
    assert cut("codevbench/answer", "x<|file_separator|>y<|endoftext|>z") == "x"
    assert cut("codevbench/answer", "x = 1<|im_end|>") == "x = 1"
    assert cut("codevbench/chat", "x = 1\n") == ""


PIECES = st.lists(st.sampled_from(["```", "\n", "x", "``", "`", "python", " ", "\r"]), max_size=24).map("".join)


@given(PIECES)
def test_blocks_are_those_of_the_published_expression(text: str) -> None:
    blocks = re.findall(r"```.*?\n(.*?)\n```", text, re.DOTALL)
    assert cut("codevbench/chat", text) == (blocks[-1] if blocks else "")
