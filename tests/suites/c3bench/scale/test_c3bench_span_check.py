"""Verdicts about spans within a line."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.suites.c3bench.scale import ScaleVerdict, verify


def rest(middle: str, prefix: str = "x = ", suffix: str = "\ny = 1\n", **fields: Any) -> ScaleVerdict:
    return verify(prefix, middle, suffix, {"kind": "span_rest_of_line", **fields})


@pytest.mark.parametrize(
    ("middle", "ok"),
    [
        ("f(a, b)", True),
        ("f(a)  # why", True),
        ("'ä' if a else b", True),
        ("", False),
        (" ", False),
        ("f(a)\n", False),
        ("f(a)\ny = 1", False),
        ("f(a); z = 1", False),
        ("f(", False),
        ("1 \\", False),
        ("'''a", False),
        ("f(a) This calls f.", False),
    ],
)
def test_the_rest_of_a_line(middle: str, ok: bool) -> None:
    verdict = rest(middle)
    assert verdict.ok is ok, verdict
    assert bool(verdict.reason) is not ok


def test_one_final_line_end_is_lenient() -> None:
    assert rest("f(a)\n", level="lenient").ok
    assert rest("```python\nf(a)\n```", level="lenient").ok
    assert not rest("f(a)\nz = 1\n", level="lenient").ok


def test_no_bracket_stays_open() -> None:
    assert not rest("b,", "x = f(a,\n  ", "\n  c)\n").ok


def test_a_statement_may_begin_at_the_first_character_alone() -> None:
    assert rest("return x", "def f(x):\n    ", "\n").ok
    assert rest("g(x)", "if a: ", "\n").ok
    assert not rest("a: g(x)", "if ", "\n").ok


@pytest.mark.parametrize(
    ("node", "prefix", "suffix", "good", "bad"),
    [
        (
            "argument",
            "f(",
            ")\n",
            ["a", "a, b", "a, k=b", "*a", "(a)", "g(1)", " a "],
            ["", "a) + g(b", "a,", "a)", "a\n"],
        ),
        ("argument", "f(a, ", ", c)\n", ["b", "b, d"], ["b,", "*"]),
        ("condition", "if ", ":\n    pass\n", ["a", "a and b", "(a)", "(n := f()) > 1"], ["", "a: pass\nif b", "a:"]),
        ("condition", "while (", "):\n    pass\n", ["a", "a or b"], ["a) or (b"]),
        ("value", "x = ", "  # why\n", ["a", "a + b", "[q for q in a]", "{\n 1: 2}"], ["a; y = b", "a #", "y = = 1"]),
        ("target", "", " = 1\n", ["x", "x.y", "x, y"], ["x = y", "1"]),
    ],
)
def test_one_node_in_python(node: str, prefix: str, suffix: str, good: list[str], bad: list[str]) -> None:
    for middle in good:
        verdict = verify(prefix, middle, suffix, {"kind": "span_node", "node": node})
        assert verdict.ok, (middle, verdict)
    for middle in bad:
        assert not verify(prefix, middle, suffix, {"kind": "span_node", "node": node}).ok, middle


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [("javascript", "", ""), ("typescript", "", ""), ("java", "class A { void m() { ", "\n} }")],
)
def test_one_node_in_languages_with_braces(language: str, before: str, after: str) -> None:
    for node, prefix, suffix, good, bad in [
        ("argument", "f(", ");", "a, g(b)", "a); g(b"),
        ("condition", "if (", ") { f(); }", "a && b", "a) { g(); } if (b"),
        ("condition", "while (", ") { f(); }", "a", "a) || (b"),
        ("value", "x = ", ";", "a + f(b)", "a; f(b)"),
    ]:
        specification = {"kind": "span_node", "node": node, "language": language}
        verdict = verify(before + prefix, good, suffix + after, specification)
        assert verdict.ok, (node, verdict)
        assert not verify(before + prefix, bad, suffix + after, specification).ok, node
    specification = {"kind": "span_rest_of_line", "language": language}
    assert verify(before + "x = ", "f(a);", "\ng();" + after, specification).ok
    assert not verify(before + "x = ", "f(a); h();", "\ng();" + after, specification).ok
    assert not verify(before + "x = ", "f(a,", "\nb);" + after, specification).ok
