"""Long texts: which are probed, and which are refused before they take the machine's memory."""

from __future__ import annotations

import random
import resource
from collections.abc import Sequence

import pytest

from caretbench.extraction.policies import POLICIES
from caretbench.problem import Caret
from caretbench.syntax import bounded_parsing
from caretbench.syntax.bounded_parsing import PROBED_CHARACTERS, can_be_parsed

EXPLOSIVE = [("java", "x=>"), ("java", None), ("javascript", "->"), ("typescript", "->"), ("csharp", "a<")]
"""Texts that take more than 1 GB: one word again and again, or (None) names that do not repeat."""


def names(end: str, characters: int) -> str:
    """Names that do not repeat, each with the same end."""
    seeded = random.Random(1)  # noqa: S311  names, no secrets
    parts = ("".join(seeded.choices("abcdefghij", k=seeded.randrange(2, 9))) + end for _ in range(characters))
    return "".join(parts)[:characters]


def test_short_texts_are_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def can_be_parsed(texts: Sequence[str], _language: str) -> bool:
        asked.append(len(texts[0]))
        return True

    monkeypatch.setattr(bounded_parsing, "can_be_parsed", can_be_parsed)
    for length in (PROBED_CHARACTERS - 1, PROBED_CHARACTERS):
        text = names(" ", length)
        assert not bounded_parsing.takes_too_much(text, (text,), "python")
    assert asked == [PROBED_CHARACTERS]


def test_the_answers_before_and_after_a_refusal_are_the_same() -> None:
    good, bad = names("()\n", 3_000), names("=>", 20_000)
    assert [can_be_parsed((text,), "java") for text in (good, bad, good + "a", bad + "a", good + "b")] == [
        True, False, True, False, True,
    ]  # fmt: skip


def test_a_probe_that_was_killed_is_started_again() -> None:
    assert can_be_parsed(("before = 1",), "python")
    process = bounded_parsing._probes()._process
    assert process is not None
    process.kill()
    process.wait()
    assert can_be_parsed(("after = 1",), "python")


def test_what_no_grammar_parses_is_not_probed() -> None:
    assert can_be_parsed(("x" * 5_000,), "no such language")


def test_an_answer_behind_its_reasoning_is_probed() -> None:
    caret = Caret(language="java", prefix="class A {\n", suffix="\n}\n")
    text = f"<think>{names(' ', 120_000)}</think>\n{names('=>', 20_000)}"
    for key in ("clean", "block"):
        found = POLICIES[key].apply(text, caret)
        assert found.refusal is not None
        assert "to parse the answer takes more than" in found.refusal
    assert POLICIES["clean"].apply(text[:120_000] + "</think>\nint a;", caret).text == "int a;"


@pytest.mark.long
@pytest.mark.parametrize(("language", "end"), EXPLOSIVE)
def test_texts_that_take_too_much_are_refused_by_every_policy(language: str, end: str | None) -> None:
    caret = Caret(language=language, prefix="class A {\n", suffix="\n}\n")
    text = names("=>", 40_000) if end is None else (end * 40_000)[:40_000]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for policy in POLICIES.values():
        found = policy.apply(text, caret)
        assert found.text == ""
        assert found.refusal is not None
        assert "to parse the answer takes more than 1,000 MB or 10 s" in found.refusal
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kilobytes"


def test_ordinary_repetition_is_parsed() -> None:
    assert can_be_parsed(("x = 1\n" * 2_000,), "python")
    caret = Caret(language="python", prefix="", suffix="")
    assert POLICIES["clean"].apply("x = 1\n" * 2_000, caret).text == "x = 1\n" * 2_000
