"""Kinds of blocks of texts that were due, and places of carets in blocks."""

from __future__ import annotations

import pytest

from caretbench.suites import load_suite
from caretbench.telemetry.features.due_block import DueBlock, due_block

BODY = 'def f(a):\n    """Docs."""\n    '


@pytest.mark.parametrize(
    ("language", "prefix", "due", "suffix", "found"),
    [
        ("python", BODY, "b = a\n    return b", "\n", ("method", "block", False)),
        ("python", BODY, "b = a", "\n    return b\n", ("statement", "block", False)),
        ("python", BODY + "b = a\n    ", "return b", "\n", ("statement", "statement", False)),
        ("python", BODY, "if a:\n        return 1", "\n    return 2\n", ("if", "block", False)),
        ("python", BODY + "b = 1\n    ", "for c in a:\n        b += c", "\n", ("for", "statement", False)),
        ("python", BODY, "while a:\n        a -= 1", "\n    return a\n", ("while", "block", False)),
        ("python", BODY, "try:\n        g()\n    except E:\n        pass", "\n    return\n", ("try", "block", False)),
        ("python", "try:\n    f()\nexcept E:\n    ", "log()\n    raise", "\n", ("catch", "block", False)),
        ("python", "a = 1\n", "# a comment", "\nb = 2\n", ("comment", "block", False)),
        ("python", "print(", "a, b", ")\n", ("argument_list", "token", True)),
        ("python", "total = ", "a + b", "\n", ("partial_line", "operator", True)),
        ("python", "total", " = a + b", "\n", ("partial_line", "token", True)),
        ("python", "def f():\n    a = 1\n    ", "", "\n", ("statement", "empty", False)),
        ("java", "class A { int f(int a) {\n    ", "return a;", "\n} }", ("method", "block", False)),
        ("java", "class A { void f() {\n do {", " g();", "\n} while (a); } }", ("partial_line", "token", True)),
        ("go", "package a\nfunc f() int {\n\tx := 1\n\t", "return x", "\n}\n", ("statement", "statement", False)),
        ("typescript", "function f() {\n  ", "while (a) { b(); }", "\n  c();\n}\n", ("while", "block", False)),
        ("cpp", "int f() {\n  try { g(); } catch (...) {\n  ", "h();", "\n} }", ("catch", "block", False)),
        ("cobol", "MOVE A ", "TO B.", "\n", ("partial_line", "token", True)),
        ("cobol", "", "MOVE A TO B.", "\n", ("statement", "block", False)),
    ],
)
def test_kinds(language: str, prefix: str, due: str, suffix: str, found: tuple[str, str, bool]) -> None:
    assert due_block(prefix, due, suffix, language) == DueBlock(*found)  # type: ignore[arg-type] # names as text


def test_bodies_of_functions_of_the_starter_set_are_methods() -> None:
    problems = [
        one for one in load_suite("simcopilot").load("starter").problems if one.label("block") == "function_body"
    ]
    assert len(problems) > 20
    for problem in problems:
        caret = problem.caret
        whole = due_block(caret.prefix, problem.reference, caret.suffix, caret.language)
        assert (whole.kind, whole.cut) == ("method", "block"), problem.id
