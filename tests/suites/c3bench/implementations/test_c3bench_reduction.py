"""Reduction of answers: which shorter answers are tried, and what a decoy loses."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from caretbench.suites.c3bench.implementations.reduction import reduced_text

PREFIX, SUFFIX = "def f(a):\n", "    return t\n"


def reduced(text: str, passes: Callable[[str], bool], prefix: str = PREFIX) -> tuple[str | None, list[str]]:
    """Return what is left of a text, and the texts that were tried."""
    steps, tried, answer = reduced_text(prefix, text, SUFFIX), [], None
    while True:
        try:
            shorter = steps.send(answer)
        except StopIteration as end:
            return end.value, tried
        tried.append(shorter)
        answer = passes(shorter)


def needs(*parts: str) -> Callable[[str], bool]:
    return lambda text: all(part in text for part in parts)


@pytest.mark.parametrize(
    ("text", "needed", "left"),
    [
        ("    t = 0\n    state = {}\n    state['n'] = 1\n    for x in a:\n        t += x\n", ("t = 0", "t += x", "for"),
         "    t = 0\n    for x in a:\n        t += x\n"),
        ("    while True:\n        t = sum(a)\n        break\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    if a:\n        t = sum(a)\n    else:\n        t = 0\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    t = sum(sorted(list(a)))\n", ("sum(",), "    t = sum(a)\n"),
        ("    t = sum(a) if a else sum([])\n", ("sum(a)",), "    t = sum(a)\n"),
        ("    t = sum(a)\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    for t in a:\n        if t:\n            break\n", ("for", "if"),
         "    for t in a:\n        if t:\n            break\n"),
    ],
)  # fmt: skip
def test_what_no_test_needs_is_gone(text: str, needed: tuple[str, ...], left: str) -> None:
    found, tried = reduced(text, needs(*needed))
    assert found == left
    for one in tried:
        ast.parse(PREFIX + one + SUFFIX)
    assert len(tried) == len(set(tried))


def test_a_caret_behind_the_indentation_keeps_its_column() -> None:
    found, tried = reduced("t = 1\n    b = t\n    t = sum(a)\n", needs("sum(a)"), PREFIX + "    ")
    assert found == "t = sum(a)\n"
    for one in tried:
        ast.parse(PREFIX + "    " + one + SUFFIX)


def test_a_loop_that_could_not_end_is_not_run() -> None:
    _, tried = reduced("    i = 0\n    while i < 9:\n        t = i\n        i += 1\n", needs("while"))
    assert all("i += 1" in one for one in tried if "while" in one)


@pytest.mark.parametrize(
    ("prefix", "text"), [(PREFIX + "    t = ", "sum(a)\n"), (PREFIX, "    else:\n        t = 1\n")]
)
def test_what_is_no_list_of_statements_is_not_reduced(prefix: str, text: str) -> None:
    assert reduced(text, needs(), prefix) == (None, [])
