"""Properties of the verifier: generated programs, changed answers, and texts that are no programs."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.c3bench.scale import verify, verify_published
from tests.support.scale_instructions import scale_middles

SIMPLE = st.sampled_from(["x = 1", "g(a, b=[1])", "y += 'ü'", "del a", "pass", "x, *y = g()  # both", "assert a"])
HEADERS = {"for": "for i in (a, b):", "while": "while (n := g()):", "if": "if a and b:", "with": "with g() as h:"}


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, min_size=1, max_size=3).map("".join).map(_indented)
    return st.tuples(st.sampled_from(sorted(HEADERS)), bodies).map(lambda one: f"{HEADERS[one[0]]}\n{one[1]}")


STATEMENTS = st.recursive(SIMPLE.map(lambda line: line + "\n"), _compound, max_leaves=6)
BLOCKS = st.tuples(st.sampled_from(sorted(HEADERS)), st.lists(STATEMENTS, min_size=1, max_size=3).map("".join))


@settings(deadline=None, max_examples=40)
@given(st.lists(STATEMENTS, max_size=2), BLOCKS, st.lists(STATEMENTS, max_size=2), st.sampled_from(sorted(HEADERS)))
def test_a_generated_block_is_its_kind_alone(
    before: list[str], block: tuple[str, str], after: list[str], other: str
) -> None:
    kind, body = block
    prefix = "def f(a, b):\n" + _indented("".join(before))
    middle = _indented(f"{HEADERS[kind]}\n{_indented(body)}")
    suffix = _indented("".join(after) + "return a\n")
    assert verify(prefix, middle, suffix, {"kind": "block", "node": kind}).ok
    assert verify_published(prefix, middle, suffix, {"kind": "block", "node": kind}).ok
    assert verify(prefix, middle, suffix, {"kind": "block", "node": other}).ok is (other == kind)
    assert not verify(prefix, middle + "    z = 1\n", suffix, {"kind": "block", "node": kind}).ok
    assert not verify(prefix, "    z = 1\n" + middle, suffix, {"kind": "block", "node": kind}).ok
    assert not verify(prefix, middle + middle, suffix, {"kind": "block", "node": kind}).ok
    header, _, rest = middle.partition("\n")
    specification = {"kind": "block", "node": kind, "header_in_prefix": True}
    repeats = body.startswith(HEADERS[kind])  # a loop in the same loop: taken for a repeated header
    assert verify(f"{prefix}{header}\n", rest, suffix, specification).ok is not repeats
    assert not verify(f"{prefix}{header}\n", rest + "    z = 1\n", suffix, specification).ok


@settings(deadline=None, max_examples=25)
@given(st.lists(STATEMENTS, min_size=1, max_size=4))
def test_generated_statements_and_lines_are_counted(parts: list[str]) -> None:
    prefix, middle, suffix = "def f(a, b):\n", _indented("".join(parts)), "    return a\n"
    lines = middle.count("\n")
    for unit, count in (("statement", len(parts)), ("code_line", lines)):
        fields: dict[str, Any] = {"kind": "lines", "unit": unit}
        assert verify(prefix, middle, suffix, fields | {"n": count}).ok
        assert not verify(prefix, middle, suffix, fields | {"n": count + 1}).ok
        assert not verify(prefix, middle + "    z = 1\n", suffix, fields | {"n": count}).ok


@settings(deadline=None, max_examples=25)
@given(st.lists(STATEMENTS, min_size=1, max_size=3))
def test_references_of_middles_satisfy_their_specifications(parts: list[str]) -> None:
    text = "def f(a, b):\n" + _indented("".join(parts) + "return a\n")
    for one in scale_middles(text, "python"):
        assert verify(text[: one.start], text[one.start : one.end], text[one.end :], one.specification).ok


TEXTS = st.text(alphabet="ab01 \t\n\r\x0c\0\ud800ü#'\"`\\()[]{}:;,.=+/*@<>forif", max_size=40)
KINDS = st.sampled_from(
    [
        {"kind": "span_rest_of_line"},
        {"kind": "span_node", "node": "argument"},
        {"kind": "lines", "n": 1},
        {"kind": "lines", "n": 1, "unit": "statement"},
        {"kind": "block", "node": "if"},
        {"kind": "block", "node": "for", "header_in_prefix": True},
    ]
)


@settings(deadline=None)
@given(
    TEXTS, TEXTS, TEXTS, KINDS, st.sampled_from(["python", "javascript", "typescript", "java"]),
    st.sampled_from(["strict", "lenient"]),
)  # fmt: skip
def test_any_text_has_a_verdict(
    prefix: str, middle: str, suffix: str, fields: dict[str, Any], language: str, level: str
) -> None:
    specification = fields | {"language": language, "level": level}
    strict = verify(prefix, middle, suffix, fields | {"language": language})
    verdict = verify(prefix, middle, suffix, specification)
    assert verdict.ok or not strict.ok
    assert bool(verdict.reason) is not verdict.ok
    assert verify_published(prefix, middle, suffix, specification).ok in {True, False}


@pytest.mark.long
@pytest.mark.parametrize("language", ["python", "javascript", "java"])
@pytest.mark.parametrize(
    "middle",
    [
        "(" * 20_000,
        "{" * 5_000 + "}" * 5_000,
        "x = 'ä';" * 5_000,
        "```\n" * 5_000,
        "else " * 4_000,
        "x\n" * 20_000,
        "x=>" * 10_000,
        "for i in x:\n" * 90_000,
    ],
    ids=["brackets", "blocks", "one line", "fences", "clauses", "lines", "arrows", "a megabyte"],
)
def test_no_answer_takes_long(language: str, middle: str) -> None:
    prefix, suffix = {
        "python": ("def f(y):\n    ", "\n    return 1\n"),
        "javascript": ("function f() {\n", "\n}\n"),
        "java": ("class A { void f() {\n", "\n} }\n"),
    }[language]
    start = time.process_time()
    verify(prefix, middle, suffix, {"kind": "block", "node": "for", "language": language, "level": "lenient"})
    assert time.process_time() - start < 10
