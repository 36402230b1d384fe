"""Verdicts by the paper's words: kind of node, and number of lines."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.suites.c3bench.scale import verify, verify_published

PREFIX, SUFFIX = "def f(xs):\n    total = 0\n", "    return total\n"
LOOP = "    for x in xs:\n        total += x\n"
FOR = {"kind": "block", "node": "for"}
BODY = {"kind": "block", "node": "for", "header_in_prefix": True}


@pytest.mark.parametrize(
    ("middle", "specification", "ok", "default"),
    [
        (LOOP, FOR, True, True),
        (LOOP + "    total += 1\n", FOR, True, False),
        (LOOP + LOOP, FOR, True, False),
        ("    if xs:\n    " + LOOP.replace("\n", "\n    ").rstrip(" "), FOR, True, False),
        ("    for x in xs: total +=\n", FOR, True, False),
        ("    while xs:\n        total += xs.pop()\n", FOR, False, False),
        ("    [x for x in xs]\n", FOR, False, False),
        ("", FOR, False, False),
        ("    x = 1\n    y = 2\n", {"kind": "lines", "n": 2}, True, True),
        ("    x = 1\n    y = 2\n    z = 3\n", {"kind": "lines", "n": 2}, False, False),
        ("    x = 1\n\n    # two\n    y = 2\n", {"kind": "lines", "n": 2}, True, True),
        ("    x = 1\n    y = (\n", {"kind": "lines", "n": 2}, True, False),
    ],
)
def test_verdicts_beside_those_of_the_whole_specification(
    middle: str, specification: dict[str, Any], ok: bool, default: bool
) -> None:
    assert verify_published(PREFIX, middle, SUFFIX, specification).ok is ok
    assert verify(PREFIX, middle, SUFFIX, specification).ok is default


def test_a_body_is_in_a_node_of_its_kind_that_begins_in_the_prefix() -> None:
    header = PREFIX + "    for x in xs:\n"
    assert verify_published(header, "        total += x\n", SUFFIX, BODY).ok
    assert verify_published(header, "        total += x\n    total += 1\n", SUFFIX, BODY).ok
    assert not verify_published(header, "        total += x\n", SUFFIX, {**BODY, "node": "while"}).ok
    assert not verify_published(header, "        total += x\n", SUFFIX, {**BODY, "n": 2}).ok


def test_a_span_has_one_line() -> None:
    rest = {"kind": "span_rest_of_line"}
    assert verify_published("x = ", "f(a); g()", "\n", rest).ok
    assert not verify_published("x = ", "f(a)\ny = 1", "\n", rest).ok
    assert verify_published("f(", "a) + g(b", ")\n", {"kind": "span_node", "node": "argument"}).ok


@pytest.mark.parametrize(("language", "tail"), [("javascript", ""), ("typescript", ""), ("java", "\n} }")])
def test_other_languages(language: str, tail: str) -> None:
    prefix = "class A { void f() {\n" if language == "java" else "function f() {\n"
    suffix = "\n} }" if language == "java" else "\n}"
    specification = {"kind": "block", "node": "while", "language": language}
    assert verify_published(prefix, "while (a) { b(); }\nc();", suffix, specification).ok
    assert not verify_published(prefix, "do { b(); } while (a);", suffix, specification).ok
