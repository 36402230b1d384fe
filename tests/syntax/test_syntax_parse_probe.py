"""Repetitive texts: which are probed, and which are refused before they take the machine's memory."""

from __future__ import annotations

import resource

import pytest

from caretbench.extraction.policies import POLICIES
from caretbench.problem import Caret
from caretbench.syntax.parse_probe import PROBED_CHARACTERS, can_be_parsed, is_repetitive

EXPLOSIVE = {"java": "x=>", "javascript": "->", "typescript": "->", "csharp": "a<"}


def test_only_long_repetitive_texts_are_probed() -> None:
    source = "".join(f"def f{n}(a, b{n}):\n    return a * {n * n} + b{n}[{n % 7}]\n\n" for n in range(200))
    assert not is_repetitive(source)
    assert not is_repetitive("a<" * (PROBED_CHARACTERS // 2 - 1))
    assert is_repetitive("a<" * PROBED_CHARACTERS)


@pytest.mark.long
@pytest.mark.parametrize("language", EXPLOSIVE)
def test_texts_that_take_too_much_are_refused_by_every_policy(language: str) -> None:
    caret = Caret(language=language, prefix="class A {\n", suffix="\n}\n")
    text = (EXPLOSIVE[language] * 40_000)[:40_000]
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
