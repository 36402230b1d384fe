"""Kinds of blocks of texts that were due, and places of carets in blocks."""

from __future__ import annotations

import pytest

from caretbench.languages import get_language
from caretbench.people.telemetry.event_features import DueBlock, due_block
from caretbench.problem import Problem
from caretbench.suites import load_suite
from caretbench.suites.codevbench.build.code_blocks import BlockFinder
from caretbench.suites.codevbench.build.miner import HiddenSpan, hidden_spans
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile

BODY = 'def f(a):\n    """Docs."""\n    '


@pytest.mark.parametrize(
    ("language", "prefix", "due", "suffix", "found"),
    [
        ("python", BODY, "b = a\n    return b", "\n", ("method", "block", False)),
        ("python", BODY, "b = a", "\n    return b\n", ("statement", "block", False)),
        ("python", BODY + "b = a\n    ", "return b", "\n", ("statement", "block", False)),
        ("python", BODY + "b = a\n    ", "c = b\n    return c", "\n", ("method", "statement", False)),
        ("python", BODY, "if a:\n        return 1", "\n    return 2\n", ("if", "block", False)),
        ("python", BODY + "b = 1\n    ", "for c in a:\n        b += c", "\n    return b\n", ("for", "block", False)),
        ("python", BODY + "for c in ", "a:\n        g(c)", "\n    return b\n", ("for", "token", True)),
        ("python", BODY + "b =", " 1\n    c = 2", "\n    return b\n", ("statement", "operator", True)),
        ("python", BODY + "b =", " [\n        a,\n    ]", "\n    return b\n", ("statement", "operator", True)),
        (
            "python",
            BODY + "for c in a:\n        ",
            "g(c)\n        h(c)",
            "\n    return b\n",
            ("for", "statement", False),
        ),
        ("python", BODY, "while a:\n        a -= 1", "\n    return a\n", ("while", "block", False)),
        ("python", BODY, "try:\n        g()\n    except E:\n        pass", "\n    return\n", ("try", "block", False)),
        ("python", "try:\n    f()\nexcept E:\n    ", "log()\n    raise", "\n", ("catch", "block", False)),
        ("python", "a = 1\n", "# a comment", "\nb = 2\n", ("comment", "block", False)),
        ("python", "print(", "a, b", ")\n", ("argument_list", "block", True)),
        ("python", "total = ", "a + b", "\n", ("partial_line", "block", True)),
        ("python", "total", " = a + b", "\n", ("partial_line", "block", True)),
        ("python", BODY + "for c in a:\n        g(c)", "", "\n    return a\n", ("for", "empty", True)),
        ("python", "def f():\n    a = 1\n    ", "", "\n", ("statement", "empty", False)),
        ("java", "class A { int f(int a) {\n    ", "return a;", "\n} }", ("method", "block", False)),
        ("java", "class A { void f() {\n do {", " g();", "\n} while (a); } }", ("partial_line", "block", True)),
        ("go", "package a\nfunc f() int {\n\tx := 1\n\t", "return x", "\n}\n", ("statement", "block", False)),
        ("typescript", "function f() {\n  ", "while (a) { b(); }", "\n  c();\n}\n", ("while", "block", False)),
        ("cpp", "int f() {\n  try { g(); } catch (...) {\n  ", "h();", "\n} }", ("catch", "block", False)),
        ("cobol", "MOVE A ", "TO B.", "\n", ("partial_line", "block", True)),
        ("cobol", "", "MOVE A TO B.", "\n", ("statement", "block", False)),
    ],
)
def test_kinds(language: str, prefix: str, due: str, suffix: str, found: tuple[str, str, bool]) -> None:
    assert due_block(prefix, due, suffix, language) == DueBlock(*found)  # type: ignore[arg-type] # names as text


def spans(problem: Problem) -> list[HiddenSpan]:
    """The spans that a build of Codev-Bench hides in a program; of those with the same bytes the one that it takes."""
    caret = problem.caret
    path = f"a{get_language(caret.language).suffix}"
    source = SourceFile(path, caret.prefix + problem.reference + caret.suffix, caret.language)
    finder = BlockFinder(analyse([source])[path])
    found: dict[tuple[int, int], HiddenSpan] = {}
    for block in finder.blocks():
        for hidden in hidden_spans(block, finder):
            known = found.get(hidden.span)
            if finder.fault(hidden.span) == "" and (known is None or hidden.rank < known.rank):
                found[hidden.span] = hidden
    return list(found.values())


def test_blocks_are_those_of_codev_bench() -> None:
    """The rest of a statement of one line after a cut is the same text as a part of a line: both names are right."""
    right, count = 0, 0
    for problem in load_suite("devbench").load("starter").problems[::3]:
        data = (problem.caret.prefix + problem.reference + problem.caret.suffix).encode()
        for hidden in spans(problem):
            texts = [data[: hidden.span.start], data[hidden.span.start : hidden.span.end], data[hidden.span.end :]]
            before, due, after = (text.decode() for text in texts)
            found = due_block(before, due, after, problem.caret.language)
            expected = (hidden.block.kind, hidden.cut)
            if expected[0] == "statement" and "\n" not in due.strip() and hidden.is_partial_line:
                expected = ("partial_line", "block")
            right += (found.kind, found.cut) == expected
            count += 1
    print(right, count)  # noqa: T201 - with -s
    assert count > 1_000
    assert right >= 0.85 * count


def test_bodies_of_functions_of_the_starter_set_are_methods() -> None:
    problems = [
        one for one in load_suite("simcopilot").load("starter").problems if one.label("block") == "function_body"
    ]
    assert len(problems) > 20
    for problem in problems:
        caret = problem.caret
        whole = due_block(caret.prefix, problem.reference, caret.suffix, caret.language)
        assert (whole.kind, whole.cut) == ("method", "block"), problem.id
