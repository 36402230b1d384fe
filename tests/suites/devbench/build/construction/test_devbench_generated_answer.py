from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.devbench.build.construction.candidates import GeneratedInstance, UnusableAnswer, read_answer
from caretbench.suites.devbench.starter import split_program

GOOD = {
    "name": "Tide Gate", "prefix": "a = ", "reference": "1", "suffix": "\nprint(a)\n", "tests": "assert a == 1\n",
    "library": "", "justification": "It tests a.",
}  # fmt: skip


def test_an_answer_is_read_plain_and_fenced() -> None:
    for text in (json.dumps(GOOD), f"```json\n{json.dumps(GOOD)}\n```", f"<think>hm</think>{json.dumps(GOOD)}"):
        found = read_answer(text, "stop")
        assert isinstance(found, GeneratedInstance)
        assert found.stem == "tide-gate"
        assert found.file_text == "a = ⟦1⟧\nprint(a)\n⟦tests⟧\nassert a == 1\n"


@pytest.mark.parametrize(
    ("text", "finish", "fault"),
    [
        ("", "stop", "empty"),
        (" \n", None, "empty"),
        (json.dumps(GOOD)[:50], "length", "cut_off"),
        (json.dumps(GOOD)[:50], "max_tokens", "cut_off"),
        ("I'm sorry, but I can't help with that.", "stop", "refused"),
        ("I cannot assist with this request.", "stop", "refused"),
        ("Here you are: a = 1", "stop", "malformed"),
        (json.dumps([GOOD]), "stop", "malformed"),
        (json.dumps(GOOD | {"reference": ""}), "stop", "malformed"),
        (json.dumps({name: GOOD[name] for name in GOOD if name != "justification"}), "stop", "malformed"),
        (json.dumps(GOOD | {"mood": "good"}), "stop", "malformed"),
        (json.dumps(GOOD | {"suffix": "⟦tests⟧"}), "stop", "malformed"),
        (json.dumps(GOOD | {"prefix": "a\x00"}), "stop", "malformed"),
        (json.dumps(GOOD | {"tests": "// a\rfor"}), "stop", "malformed"),
        (json.dumps(GOOD | {"prefix": "\ufeffa"}), "stop", "malformed"),
        (json.dumps(GOOD | {"justification": "x \x1b[31m"}), "stop", "malformed"),
        (json.dumps(GOOD | {"justification": "ghp_" + "a1B2" * 9}), "stop", "malformed"),
        (json.dumps(GOOD | {"library": "x" * 121}), "stop", "malformed"),
        (json.dumps(GOOD | {"prefix": "a\n", "reference": "tests", "suffix": "\nb\n"}), "stop", "malformed"),
        (json.dumps(GOOD | {"suffix": "\n" * 601}), "stop", "malformed"),
        (f'{{"name": {"[" * 700}{"]" * 700}}}', "stop", "malformed"),
        (f'{{"name": {"[" * 5000}{"]" * 5000}}}', "stop", "malformed"),
    ],
)
def test_an_unusable_answer_says_why(text: str, finish: str | None, fault: str) -> None:
    found = read_answer(text, finish)
    assert isinstance(found, UnusableAnswer)
    assert found.fault == fault
    assert found.diagnosis
    assert "\n" not in found.diagnosis


@pytest.mark.parametrize("mark", ["\u061c", "\u200b", "\u200e", "\u200f", "\u202e", "\u2060", "\U000e0041", "a\u200db"])
def test_marks_that_nobody_sees_are_refused(mark: str) -> None:
    found = read_answer(json.dumps(GOOD | {"justification": f"It tests{mark} a."}), "stop")
    assert isinstance(found, UnusableAnswer)
    assert "hidden marks" in found.diagnosis


def test_the_joiner_of_an_emoji_is_allowed() -> None:
    text = "print('\U0001f469\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525')\n"
    assert isinstance(read_answer(json.dumps(GOOD | {"prefix": text}), "stop"), GeneratedInstance)


_TEXTS = st.text(st.characters(exclude_characters="⟦⟧\r\x00", exclude_categories=["Cs"]))


@given(_TEXTS.filter(bool), _TEXTS.filter(bool), _TEXTS, _TEXTS)
def test_a_file_holds_the_texts_of_its_instance(prefix: str, reference: str, suffix: str, tests: str) -> None:
    found = GeneratedInstance(
        name="x", prefix=prefix, reference=reference, suffix=suffix, tests=tests, justification="y"
    )
    parts = split_program(found.file_text, "here")
    assert parts[:2] == (prefix, reference)
    assert parts[2] in {suffix, suffix + "\n"}
    assert parts[3] == tests


@given(st.text(min_size=1))
def test_a_name_of_a_file_is_plain(name: str) -> None:
    stem = GeneratedInstance(name=name, prefix="a", reference="b", suffix="", justification="c").stem
    assert stem
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(stem) <= 48


def test_an_endless_answer_is_not_read() -> None:
    found = read_answer(json.dumps(GOOD | {"tests": "a" * 60_000}), "stop")
    assert isinstance(found, UnusableAnswer)
    assert "most 40000" in found.diagnosis
