"""Distance between implementations, and faults of style."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.c3bench.implementations.quality import quality_reject, style_faults, tree_distance

LOOP = "    total = 0\n    for x in a:\n        total += x\n    return total\n"
SUM = "    return sum(a)\n"
PREFIX = 'def f(a):\n    """Text."""\n'


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [
        (
            LOOP,
            "    # all\n    total = (0)\n    for x in a:\n\n        total += x  # one\n    return total\n",
            "python",
        ),
        ("x = 'a'\n", '"""Text."""\nx = "a"', "python"),
        ("x = 0x10", "x = 16", "python"),
        ("int x = (1 + y);", "int x = 1 + y; // sum", "java"),
        ("for (const x of y) { f(x); }", "for (const x of y) {\n  /* all */\n  f(x);\n}", "javascript"),
    ],
)
def test_layout_comments_and_brackets_are_no_distance(first: str, second: str, language: str) -> None:
    assert tree_distance(first, second, language) == 0


def test_distance_of_trees_has_known_values() -> None:
    # Marks of a name: 2. `x`: Expr, Name, and their ends: 8 of both texts, 2 of them different.
    assert tree_distance("x", "y") == 2 / 8
    assert 0 < tree_distance(LOOP, LOOP.replace("total", "t")) < tree_distance(LOOP, SUM) < 1
    assert tree_distance("", SUM) == 1
    assert tree_distance("if a:\n    b()\nelse:\n    c()", "if a:\n    b()\n    c()") > 0


def test_text_that_does_not_parse_is_compared_by_its_tokens() -> None:
    assert 0 < tree_distance("for x in (", "for y in (") < 1
    assert tree_distance("for x in (", "for x  in (") == 0


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["python", "java", "cpp"]))
def test_distance_is_symmetric_and_bounded(first: str, second: str, language: str) -> None:
    distance = tree_distance(first, second, language)
    assert 0 <= distance <= 1
    assert distance == tree_distance(second, first, language)
    assert tree_distance(first, first, language) == 0


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("def f(a):\n    return a\n", []),
        ("def f(a,b):\n    return a\n", ["E231"]),
        ("f = lambda: 1\n", ["E731"]),
        ("if a == None: b()\n", ["E701", "E711"]),
        ("def f(a):\n    x = 1\n    def g():\n        pass\n", ["E306"]),
        (f"x = {'1' * 120}\n", ["E501"]),
        ("x = 1\x0c\r\ny=2\r\n", ["E225"]),
        ("x = '\u2028'\ny = (\n", []),
    ],
)
def test_faults_of_style_in_python(text: str, codes: list[str]) -> None:
    assert sorted(one.code for one in style_faults(text)) == codes


def test_only_lines_of_the_span_count() -> None:
    prefix, suffix = "def f( a ):\n", "    x=1\n"
    middle = "    y=2\n"
    span = (len(prefix), len(prefix + middle))
    assert [(one.line, one.code) for one in style_faults(prefix + middle + suffix, span=span)] == [(2, "E225")]
    helper = "    def g():\n        pass\n"
    assert style_faults(prefix + "    y = 2\n" + helper, span=(len(prefix) + 10, 100)) == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("int x = 1;\n", []),
        ("  \tint x = 1;\n", ["E101"]),
        ("int x = 1; \n\n\n\nint y;\n", ["W291", "E303"]),
        ("// " + "x" * 100, ["E501"]),
    ],
)
def test_faults_of_layout_in_other_languages(text: str, codes: list[str]) -> None:
    assert [one.code for one in style_faults(text, "java")] == codes


def test_a_reject_has_its_reason() -> None:
    assert quality_reject(PREFIX, LOOP, "", [SUM]) == ""
    assert quality_reject(PREFIX, LOOP, "", [SUM, "\n" + LOOP]).startswith("too_similar: tree distance 0.000")
    assert quality_reject(PREFIX, LOOP.replace(" += ", "+="), "", [SUM]) == (
        "style: line 5: E225 missing whitespace around operator"
    )
    renamed = LOOP.replace("total", "running")
    assert quality_reject(PREFIX, renamed, "", [LOOP]) == ""
