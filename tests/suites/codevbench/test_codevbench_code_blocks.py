"""Blocks by the paper's kinds: which are found, with which bytes, and which are refused."""

from __future__ import annotations

import pytest

from caretbench.suites.codevbench.build.code_blocks import BlockFinder
from caretbench.suites.codevbench.similar_functions import block_rules
from caretbench.syntax import Span
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile

PYTHON = '''\
import os

LIMIT = compute(3)


def total(orders, limit):
    """Add orders up."""
    found = 0
    for order in orders:
        if order > limit:
            found += round(order * 9, 2)
        else:
            found += order
    while found > limit:
        found -= 1
    try:
        return found / len(orders)
    except ZeroDivisionError:
        log.warning("empty")
        return 0
    with lock:
        pass
'''
JAVA = """\
class Shop {
    int total(int[] orders) {
        int found = 0;
        for (int order : orders) { found += order; }
        do { found--; } while (found > 9);
        try { check(found, 1); } catch (RuntimeException error) { found = -1; }
        if (found > 3) return found;
        return 0;
    }
}
"""


def finder(path: str, text: str) -> BlockFinder:
    source = SourceFile(path, text.encode())
    return BlockFinder(analyse([source])[path])


def found(path: str, text: str) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    for block in sorted(finder(path, text).blocks(), key=lambda one: one.span):
        blocks.setdefault(block.kind, []).append(text.encode()[block.span.start : block.span.end].decode())
    return blocks


def test_python_blocks_have_their_kinds() -> None:
    blocks = found("shop.py", PYTHON)
    assert blocks["method"][0].startswith("found = 0\n")
    assert blocks["method"][0].endswith("pass")
    [loop] = blocks["for"]
    assert loop.startswith("for order in orders:")
    assert loop.endswith("found += order")
    assert [text.splitlines()[0] for text in blocks["if"]] == ["if order > limit:"]
    assert [text.splitlines()[0] for text in blocks["while"]] == ["while found > limit:"]
    assert [text.splitlines()[0] for text in blocks["try"]] == ["try:"]
    assert blocks["catch"] == ['log.warning("empty")\n        return 0']
    assert "found = 0" in blocks["statement"]
    assert not [text for text in blocks["statement"] if text.startswith(('"""', "with", "pass", "import", "for"))]
    assert "order * 9, 2" in blocks["argument_list"]
    assert '"empty"' in blocks["argument_list"]


def test_java_blocks_have_the_same_kinds() -> None:
    blocks = found("Shop.java", JAVA)
    assert blocks["for"] == ["for (int order : orders) { found += order; }"]
    assert blocks["while"] == ["do { found--; } while (found > 9);"]
    assert blocks["catch"] == ["found = -1;"]
    assert blocks["if"] == ["if (found > 3) return found;"]
    assert blocks["try"][0].startswith("try {")
    assert "found, 1" in blocks["argument_list"]
    assert "return 0;" in blocks["statement"]


def test_the_statements_of_a_block_are_its_own() -> None:
    [loop] = [block for block in finder("shop.py", PYTHON).blocks() if block.kind == "for"]
    [inner] = loop.statements
    assert PYTHON[inner.start :].startswith("if order > limit")


def test_statements_that_leave_the_block_are_marked() -> None:
    leaving = {
        PYTHON[block.span.start : block.span.end]
        for block in finder("shop.py", PYTHON).blocks()
        if block.kind == "statement" and block.leaves
    }
    assert leaving == {"return found / len(orders)", "return 0"}


@pytest.mark.parametrize(
    ("text", "fault"), [("compute(3)", "outside_functions"), ("found", "too_short"), ("found += order", "")]
)
def test_refused_spans(text: str, fault: str) -> None:
    start = PYTHON.index(text)
    assert finder("shop.py", PYTHON).fault(Span(start, start + len(text))) == fault


def test_repeated_code_is_refused() -> None:
    body = "    value = first(a, b) + second(c, d) * third(e, f)\n    return value\n"
    text = f"def one(a, b, c, d, e, f):\n{body}\n\ndef two(a, b, c, d, e, f):\n{body}"
    start = text.index("value = ")
    end = text.index("\n    return")
    assert finder("twice.py", text).fault(Span(start, end)) == "shown_elsewhere"


def test_test_code_is_refused() -> None:
    text = "def test_sum():\n    assert sum([1, 2]) == 3\n"
    start = text.index("assert")
    assert finder("tests/test_sum.py", text).fault(Span(start, len(text) - 1)) == "test_code"


def test_tokens_tell_operators() -> None:
    text = "def f(a):\n    b = a + g(1, 'x y')\n    return b\n"
    start = text.index("b = ")
    tokens = finder("a.py", text).tokens(Span(start, text.index("\n    return")))
    assert [text[span.start : span.end] for span, _ in tokens] == ["b", "=", "a", "+", "g", "(", "1", ",", "'x y'", ")"]
    assert [text[span.start : span.end] for span, operator in tokens if operator] == ["=", "+"]


def test_every_kind_has_a_class() -> None:
    assert set(block_rules().classes.values()) == {"function", "if", "for", "try", "statement", "other"}


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("if a:\n        return 1\n    else:\n        return 2", True),
        ("if a:\n        return 1\n    elif b:\n        raise E\n    else:\n        return 2", True),
        ("if a:\n        return 1\n    elif b:\n        return 2", False),
        ("if a:\n        return 1", False),
        ("if a:\n        return 1\n    else:\n        b = 2", False),
        ("try:\n        return f(a)\n    except E:\n        return 2", True),
        ("try:\n        return f(a)\n    except E:\n        pass", False),
        ("with a:\n        return 1", True),
        ("for a in b:\n        return 1", False),
    ],
)
def test_a_block_leaves_if_each_branch_does(body: str, leaves: bool) -> None:
    text = f"def f(a, b):\n    {body}\n"
    [method] = [block for block in finder("a.py", text).blocks() if block.kind == "method"]
    assert method.leaves is leaves


def test_branches_of_java_leave_too() -> None:
    text = "class A { int f(int a) { if (a > 1) { return 1; } else if (a > 0) { throw e; } else return 2; } }"
    [method] = [block for block in finder("A.java", text).blocks() if block.kind == "method"]
    assert method.leaves


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.cpp", "int f(int a) { if (a > 1) { return 1; } else { return g(a); } }"),
        ("a.rs", "fn f(a: i32) -> i32 { if a > 1 { return 1; } else { return g(a); } }"),
        ("a.js", "function f(a) { if (a > 1) { return 1 } else { throw g(a) } }"),
        ("a.cs", "class A { int F(int a) { if (a > 1) { return 1; } else { return G(a); } } }"),
    ],
)
def test_branches_leave_in_every_mined_language(path: str, text: str) -> None:
    [method] = [block for block in finder(path, text).blocks() if block.kind == "method"]
    assert method.leaves
