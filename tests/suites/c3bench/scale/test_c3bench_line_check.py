"""Verdicts about whole lines and statements, by unit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.c3bench.scale import ScaleVerdict, verify

PREFIX = "def f(a, b):\n"
SUFFIX = "    return a\n"


def lines(
    middle: str, n: int, unit: str = "code_line", prefix: str = PREFIX, suffix: str = SUFFIX, **more: Any
) -> ScaleVerdict:
    return verify(prefix, middle, suffix, {"kind": "lines", "n": n, "unit": unit, **more})


TEXT = '    x = 1\n\n    # add\n    y = (\n        a +\n        # both\n        b\n    )\n    z = """\n\nend"""\n'


@pytest.mark.parametrize(
    ("middle", "code", "statements"),
    [
        ("    x = 1\n", 1, 1),
        ("    x = 1\n    y = 2\n    z = 3\n", 3, 3),
        ("    x = 1; y = 2\n", 1, 2),
        (TEXT, 8, 3),
        ("    for i in b:\n        a += i\n        a -= 1\n", 3, 1),
        ("    @g\n    def h():\n        pass\n", 3, 1),
        ("    if a:\n        pass\n    elif b:\n        pass\n    else:\n        pass\n", 6, 1),
        ("    x = 1 + \\\n        2\n", 2, 1),
        ("    x = 1\r\n    y = 2\r\n", 2, 2),
        ("    x = 1\n\x0c\n    y = 'ä' + 'ö'\n", 2, 2),
        ("    x = 1\n    # done\n", 1, 1),
        ('    """Text.\n\n    More.\n    """\n', 4, 1),
    ],
)
def test_counts_by_unit(middle: str, code: int, statements: int) -> None:
    for unit, count in (("code_line", code), ("statement", statements)):
        verdict = lines(middle, count, unit)
        assert verdict.ok, (unit, verdict)
        assert verdict.count == count
        assert not lines(middle, count + 1, unit).ok
        if count > 1:
            assert not lines(middle, count - 1, unit).ok


def test_a_partial_first_line_counts() -> None:
    assert lines("1\n    y = 2\n", 2, prefix=PREFIX + "    x = ").ok
    assert lines("1\n    y = 2", 2, prefix=PREFIX + "    x = ", suffix="\n" + SUFFIX).ok


OPEN = "open after the last line"


def test_the_last_line_must_be_whole() -> None:
    assert lines("    x = 1\n    y = ", 2, suffix="a\n" + SUFFIX).reason == "the last line continues in the suffix"
    assert OPEN in lines("    x = 1\n    y = (\n", 2, suffix="    a)\n" + SUFFIX).reason
    assert OPEN in lines('    x = 1\n    y = """a\n', 2, suffix='b"""\n' + SUFFIX).reason


def test_a_header_may_end_the_lines() -> None:
    suffix = "        a += i\n" + SUFFIX
    assert lines("    x = 1\n    for i in (b):\n", 2, suffix=suffix).ok
    assert lines("    x = 1\n    if (a and b):  # why: both\n", 2, suffix=suffix).ok
    assert lines("    x = 1\n    def g(p: int, q=(1,)) -> int:\n", 2, suffix=suffix).ok
    assert OPEN in lines("    x = 1\n    for i in (b,\n", 2, suffix="        a):\n        pass\n" + SUFFIX).reason


def test_statements_outside_of_the_suite_leak() -> None:
    prefix = "def f(a, b):\n    if a:\n"
    assert lines("        x = 1\n        y = 2\n", 2, "statement", prefix).ok
    assert not lines("        x = 1\n    y = 2\n", 1, "statement", prefix).ok
    assert not lines("        x = 1\n    else:\n        y = 2\n", 1, "statement", prefix).ok


def test_text_that_does_not_parse_fails() -> None:
    assert lines("    x = = 1\n", 1).reason == "the completed file does not parse"


@pytest.mark.parametrize("level", ["strict", "lenient"])
def test_levels(level: str) -> None:
    fenced = "```python\nx = 1\ny = 2\n```\n"
    lenient = level == "lenient"
    assert lines(fenced, 2, level=level, column=4).ok is lenient
    assert lines("x = 1\ny = 2\n", 2, level=level, column=4).ok is lenient
    assert lines("x = 1\n    y = 2\n", 2, prefix=PREFIX + "    ", level=level).ok
    assert lines("    x = 1\n    y = 2\n", 2, prefix=PREFIX + "    ", level=level).ok is lenient


@pytest.mark.parametrize(
    ("language", "prefix", "suffix", "middle", "code", "statements"),
    [
        (
            "javascript",
            "function f(a) {\n",
            "  return a;\n}\n",
            "  // one\n  const x = `a\n\nb`;\n  g(\n    x,\n  );\n",
            6,
            2,
        ),
        (
            "typescript",
            "function f(a: number) {\n",
            "  return a;\n}\n",
            "  if (a) {\n    a = 1;\n  }\n  /* x\n y */\n",
            3,
            1,
        ),
        (
            "java",
            "class A { int f(int a) {\n",
            "    return a;\n} }\n",
            "    int x = 1; // one\n\n    x++;\n    f(x);\n",
            3,
            3,
        ),
    ],
)
def test_counts_in_languages_with_braces(
    language: str, prefix: str, suffix: str, middle: str, code: int, statements: int
) -> None:
    for unit, count in (("code_line", code), ("statement", statements)):
        verdict = lines(middle, count, unit, prefix, suffix, language=language)
        assert verdict.ok, (unit, verdict)
        assert not lines(middle, count + 1, unit, prefix, suffix, language=language).ok
    assert OPEN in lines("  g(\n", 1, prefix=prefix, suffix="  );\n" + suffix, language=language).reason


@given(
    st.lists(
        st.sampled_from(["x = 1", "g(a, b)", "", "# note", "if a: b = 2", "y = 'ü'", "del a"]), min_size=1, max_size=8
    )
)
def test_code_lines_are_the_lines_with_code(parts: list[str]) -> None:
    middle = "".join(f"    {part}\n" if part else "\n" for part in parts)
    count = sum(bool(part) and not part.startswith("#") for part in parts)
    if count:
        verdict = lines(middle, count)
        assert verdict.ok, verdict
        assert not lines(middle + "    x = 1\n", count).ok
