"""Boundaries of carets in several languages."""

from __future__ import annotations

import pytest

from caretbench.syntax.caret_boundary import caret_boundary


@pytest.mark.parametrize(
    ("prefix", "text", "suffix", "boundary"),
    [
        ("x = 1\n", "y = 2", "\n", "new_line"),
        ("", "import os", "", "new_line"),
        ("def f(a):\n    ", "return a", "\n", "declaration"),
        ("class A:\n", "    x = 1", "", "declaration"),
        ("func add(a, b int) int {\n\t", "return a + b", "\n}", "declaration"),
        ("public int size() {\n    ", "return n;", "\n}", "declaration"),
        ("const add = (a, b) => {\n  ", "return a + b;", "\n};", "declaration"),
        ("int f(int a) {\n  ", "return a;", "\n}", "declaration"),
        ("if (a) {\n  ", "b();", "\n}", "new_line"),
        ("for x in y:\n    ", "print(x)", "\n", "new_line"),
        ("} else if (f(a)) {\n  ", "b();", "\n}", "new_line"),
        ("total = ", "a + b", "\n", "operator"),
        ("total = a +", " b", "\n", "operator"),
        ("if a and ", "b", ":\n", "operator"),
        ("items.", "append(1)", "\n", "operator"),
        ("return ", "x", "\n", "operator"),
        ("total = {'a':", " 1", "}\n", "operator"),
        ("def f(a): ", "return a", "\n", "declaration"),
        ("def f(a)", ":", "\n", "line"),
        ("print(", "x", ")\n", "call"),
        ("f(a, ", "b", ")\n", "call"),
        ("res", "ult = 1", "\n", "word"),
        ("res", "", "ult = 1", "word"),
        ("value", " = 1", "\n", "line"),
        ("f(x)", "", "\n", "line"),
    ],
)
def test_boundaries(prefix: str, text: str, suffix: str, boundary: str) -> None:
    assert caret_boundary(prefix, text, suffix) == boundary
