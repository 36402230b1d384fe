"""Verdicts about statement blocks: whole statements, and bodies whose header is in the prefix."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.suites.c3bench.scale import ScaleVerdict, verify

FOR = {"kind": "block", "node": "for", "column": 4}
PREFIX = "def f(xs):\n    total = 0\n"
SUFFIX = "    return total\n"
GOOD = "    for x in xs:\n        total += x\n"


def block(middle: str, prefix: str = PREFIX, suffix: str = SUFFIX, **fields: Any) -> ScaleVerdict:
    return verify(prefix, middle, suffix, {**FOR, **fields})


def body(middle: str, prefix: str, suffix: str, **fields: Any) -> ScaleVerdict:
    return verify(prefix, middle, suffix, {"kind": "block", "header_in_prefix": True, **fields})


@pytest.mark.parametrize(
    "middle",
    [
        GOOD,
        GOOD.rstrip("\n") + "  # the sum\n",
        "    # add all\n" + GOOD,
        "\n" + GOOD + "\n",
        "    for x in xs: total += x\n",
        "    for x in xs:\n        for y in x:\n            total += y\n",
        "    for x in xs:\n        pass\n    else:\n        total = 1\n",
        "    for x in xs:\r\n        total += x\r\n",
        "    for x in xs:\n        total += len('größer')\n",
        "    for x in xs:\n        if (n := x) > 1:\n            total += n\n",
    ],
)
def test_one_statement_of_the_kind_is_ok(middle: str) -> None:
    verdict = block(middle)
    assert verdict.ok, verdict


@pytest.mark.parametrize(
    ("middle", "reason"),
    [
        ("", "empty"),
        ("    \n", "empty"),
        (GOOD + "    return total\n", "more statement"),
        (GOOD + GOOD, "more statement"),
        ("    while xs:\n        total += xs.pop()\n", "kind while"),
        ("    total = sum(x for x in xs)\n", "kind simple"),
        ("    [total for x in xs]\n", "kind simple"),
        (GOOD + "This adds the numbers.\n", "does not parse"),
        ("    for x in xs:\n", "does not parse"),
        ("    # nothing\n", "no statement"),
        ("    x = 1\n" + GOOD, "kind simple"),
    ],
)
def test_another_scale_fails_with_its_reason(middle: str, reason: str) -> None:
    verdict = block(middle)
    assert not verdict.ok
    assert reason in verdict.reason


def test_another_nesting_level_fails() -> None:
    # The text parses: the loop leaves the function, and the function has no return statement any more.
    verdict = block("for x in [1]:\n    print(x)\n", suffix="")
    assert not verdict.ok
    assert "column 0, not 4" in verdict.reason


def test_a_statement_that_takes_in_the_suffix_is_unfinished() -> None:
    verdict = block("    for x in xs:\n        total += x\n", suffix="        print(x)\n    return total\n")
    assert "continues in the suffix" in verdict.reason


def test_an_elif_of_the_prefix_is_no_if_block() -> None:
    prefix = "if a:\n    b()\n"
    verdict = verify(prefix, "elif c:\n    d()\n", "e()\n", {"kind": "block", "node": "if"})
    assert not verdict.ok
    assert "elif" in verdict.reason
    assert not verify(prefix, "else:\n    if c:\n        d()\n", "e()\n", {"kind": "block", "node": "if"}).ok
    assert verify(
        prefix, "if c:\n    d()\nelif q:\n    r()\nelse:\n    s()\n", "e()\n", {"kind": "block", "node": "if"}
    ).ok


def test_a_full_try_has_its_clauses() -> None:
    specification = {"kind": "block", "node": "try"}
    assert verify("", "try:\n    a()\nexcept E:\n    b()\nfinally:\n    c()\n", "d()\n", specification).ok
    cut = verify("", "try:\n    a()\n", "finally:\n    c()\n", specification)
    assert "continues in" in cut.reason


def test_an_asynchronous_loop_is_no_for_statement() -> None:
    prefix, middle = "async def f(xs):\n", "    async for x in xs:\n        g(x)\n"
    assert not verify(prefix, middle, "", {"kind": "block", "node": "for"}).ok


def test_a_decorated_function_is_one_block() -> None:
    specification = {"kind": "block", "node": "function"}
    assert verify("", "@a\n@b(1)\ndef f():\n    pass\n", "x = 1\n", specification).ok
    assert verify("@a\n", "def f():\n    pass\n", "x = 1\n", specification).ok
    assert verify("", "async def f():\n    pass\n", "x = 1\n", specification).ok


def test_tabs_form_feeds_and_a_missing_final_line_end() -> None:
    assert block("\tfor x in xs:\n\t\ttotal += x\n", "def f(xs):\n\ttotal = 0\n", "\treturn total\n", column=1).ok
    assert block("    for x in xs:\n        total += x\n\x0c\n").ok
    assert block("    for x in xs:\n        total += x", suffix="").ok
    assert block("    for x in xs:\n        total += x", suffix="\n    return total").ok


def test_the_caret_may_be_behind_the_indentation() -> None:
    assert block("for x in xs:\n        total += x\n", PREFIX + "    ").ok
    assert not block(GOOD, PREFIX + "    ").ok
    assert block(GOOD, PREFIX + "    ", level="lenient").ok


HEADER = "def f(xs):\n    total = 0\n    for x in xs:\n"


@pytest.mark.parametrize(
    ("middle", "ok"),
    [
        ("        total += x\n", True),
        ("        # add\n\n        y = x\n        total += y\n", True),
        ("        total += x; total += 1\n", True),
        ("        pass\n", True),
        ("        if x:\n            total += x\n        else:\n            break\n", True),
        ("        total += x\n    total += 1\n", False),
        ("        total += x\n    else:\n        total = 1\n", False),
        ("        for x in xs:\n            total += x\n    x = 1\n", False),
        ("    for x in xs:\n        total += x\n", False),
        ("        total += x\n    return total\n", False),
        ("\n", False),
    ],
)
def test_the_body_of_a_loop_whose_header_is_in_the_prefix(middle: str, ok: bool) -> None:
    assert body(middle, HEADER, SUFFIX, node="for").ok is ok


def test_a_body_that_takes_in_the_suffix_is_unfinished() -> None:
    verdict = body("        total += x\n", HEADER, "        print(x)\n    return total\n", node="for")
    assert "continues in" in verdict.reason


def test_clauses_of_the_suffix_are_no_part_of_a_body() -> None:
    prefix, suffix = "if a:\n", "else:\n    c()\n"
    assert body("    b()\n", prefix, suffix, node="if").ok
    assert body("    b()\n", "if q:\n    r()\nelif a:\n", suffix, node="if").ok


def test_a_body_on_the_line_of_its_header() -> None:
    assert body(" print(x)\n", "for x in y:", "z()\n", node="for").ok
    assert not body(" print(x)\nz()\n", "for x in y:", "z()\n", node="for").ok


def test_the_header_decides_the_kind_of_a_body() -> None:
    verdict = body("        total += x\n", HEADER, SUFFIX, node="while")
    assert verdict.reason == "the header is of kind for, not while"


def test_a_body_of_cases() -> None:
    assert body("    case 1:\n        b()\n    case _:\n        c()\n", "match a:\n", "d()\n", node="match").ok


JS_PREFIX = "function f(xs) {\n  let total = 0;\n"
JS_SUFFIX = "  return total;\n}\n"


@pytest.mark.parametrize(
    ("language", "prefix", "suffix", "good", "bad"),
    [
        (
            "javascript",
            JS_PREFIX,
            JS_SUFFIX,
            "  for (const x of xs) {\n    total += x;\n  }\n",
            ["  while (xs.length) { total += xs.pop(); }\n", "  for (const x of xs) {\n    total += x;\n  }\n  g();\n"],
        ),
        (
            "typescript",
            JS_PREFIX.replace("xs", "xs: number[]"),
            JS_SUFFIX,
            "  for (let i = 0; i < 3; i++) total += i;\n",
            ["  xs.forEach((x) => { total += x; });\n", "  for (const x of xs) { total += x; }\n  return 1;\n"],
        ),
        (
            "java",
            "class A { int f(int[] xs) {\n    int total = 0;\n",
            "    return total;\n} }\n",
            "    for (int x : xs) { total += x; }\n",
            ["    while (true) { break; }\n", "    for (int x : xs) { total += x; }\n    total++;\n", "    total++;\n"],
        ),
    ],
)
def test_blocks_in_languages_with_braces(language: str, prefix: str, suffix: str, good: str, bad: list[str]) -> None:
    specification = {"kind": "block", "node": "for", "language": language}
    assert verify(prefix, good, suffix, specification).ok, verify(prefix, good, suffix, specification)
    assert verify(prefix, "  // all\n" + good, suffix, specification).ok
    for middle in [*bad, good + good, good.rstrip()[:-1], "", good + "\nThat is the loop."]:
        assert not verify(prefix, middle, suffix, specification).ok, middle


@pytest.mark.parametrize(
    ("middle", "ok"),
    [
        ("    total += x;\n", True),
        ("    // add\n    total += x;\n    g(x);\n", True),
        ("    total += x;\n  }\n", False),
        ("    total += x;\n  }\n  for (;;) {\n    g();\n", False),
        ("", False),
    ],
)
def test_bodies_between_braces(middle: str, ok: bool) -> None:
    prefix = JS_PREFIX + "  for (const x of xs) {\n"
    verdict = body(middle, prefix, "  }\n" + JS_SUFFIX, node="for", language="javascript")
    assert verdict.ok is ok, verdict


def test_a_body_with_its_braces() -> None:
    prefix = JS_PREFIX + "  for (const x of xs)"
    assert body(" {\n    total += x;\n  }\n", prefix, JS_SUFFIX, node="for", language="javascript").ok
    assert body(" total += x;\n", prefix, JS_SUFFIX, node="for", language="javascript").ok
    assert not body(" { total += x; }\n  g();\n", prefix, JS_SUFFIX, node="for", language="javascript").ok


def test_an_else_if_of_the_prefix_is_no_if_block() -> None:
    for language, prefix, suffix in (
        ("javascript", "if (a) {\n  b();\n}\n", "e();\n"),
        ("java", "class A { void f() {\nif (a) {\n  b();\n}\n", "e();\n} }\n"),
    ):
        specification = {"kind": "block", "node": "if", "language": language}
        assert not verify(prefix, "else if (c) {\n  d();\n}\n", suffix, specification).ok
        assert not verify(prefix, "else {\n  d();\n}\n", suffix, specification).ok
        assert verify(prefix, "if (c) {\n  d();\n} else if (q) { r(); } else {\n  d();\n}\n", suffix, specification).ok
