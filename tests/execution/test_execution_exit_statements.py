"""Conditions whose text decides them."""

from __future__ import annotations

import pytest

from caretbench.execution.scan.exit_statements import is_always_false, is_always_true


@pytest.mark.parametrize(
    "text", ["true", "(1)", "x == x", "(a.b === a.b)", "1 < 2", "not False", "!0", "x.equals(x)", "x <= x", "7"]
)
def test_what_always_holds(text: str) -> None:
    assert is_always_true(text)
    assert not is_always_false(text)


@pytest.mark.parametrize("text", ["False", "((0))", "x != x", "2 < 1", "x is not x", "null", '""', "x < x"])
def test_what_never_holds(text: str) -> None:
    assert is_always_false(text)
    assert not is_always_true(text)


@pytest.mark.parametrize("text", ["x", "x == y", "f() == f()", "x == x or y", "a && 1 == 1", "", "(x) == (y)", "x < 2"])
def test_what_the_text_does_not_decide(text: str) -> None:
    assert not is_always_true(text)
    assert not is_always_false(text)
