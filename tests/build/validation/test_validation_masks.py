"""Masks of blocks, answers with code that is not due, and mutants of values."""

from __future__ import annotations

import pytest

from caretbench.build.validation.mutants import added_code, masks, removed_constructs, value_mutants
from caretbench.problem import Caret, InlineSplice, Problem, Provenance, TestsCheck

PYTHON = """\
def f(a):
    if a:
        a += 1
    b = a
    return g(b, 2)
"""


def problem(before: str, reference: str, after: str, language: str = "python") -> Problem:
    return Problem(
        id="p", suite="codevbench", shown=Caret(language=language, prefix=before, suffix=after, path="a.py"),
        splice=InlineSplice(before=before, after=after), reference=reference, checks=(TestsCheck(command=("true",)),),
        cluster="p", provenance=Provenance(source="p"),
    )  # fmt: skip


def masked(text: str, *, throw: bool = False, program: str = PYTHON, language: str = "python") -> dict[str, str]:
    start = program.index(text)
    found = masks(problem("", "", "", language), program.encode(), (start, start + len(text)), throw=throw)
    return {mask.name: mask.text for mask in found}


def test_a_statement_among_others_is_deleted() -> None:
    assert masked("b = a") == {"deletion": ""}


def test_the_only_statement_of_a_body_becomes_pass() -> None:
    assert masked("a += 1") == {"pass": "pass"}


def test_a_body_is_replaced_and_throws() -> None:
    start = PYTHON.index("if a")
    found = masked(PYTHON[start:].rstrip("\n"), throw=True)
    assert set(found) == {"pass", "throw"}
    assert found["throw"].startswith('raise RuntimeError("mutant")\n    if a:')


def test_part_of_a_line_has_a_mask_only_if_the_rest_parses() -> None:
    assert masked("b, 2") == {"deletion": ""}
    assert masked("= a") == {"deletion": ""}
    assert masked("+= 1") == {"deletion": ""}
    assert masked("a:") == {}


def test_a_java_body_throws() -> None:
    program = "class A {\n    int f(int a) {\n        return a + 1;\n    }\n}\n"
    found = masked("return a + 1;", throw=True, program=program, language="java")
    assert set(found) == {"deletion", "throw"}
    assert "throw" in found["throw"]


def test_answers_where_nothing_is_due() -> None:
    start = PYTHON.index("\n    b = a")
    answers = [(one.name, one.text) for one in added_code(problem(PYTHON[:start], "", PYTHON[start:]))]
    assert ("repeated", "\n    if a:\n        a += 1") in answers
    assert ("repeated", "\n        a += 1") in answers
    assert ("repeated", "\n    b = a") in answers
    assert ("added return", "\n    return") in answers
    assert answers[-1][0] == "added throw"
    names = [name for name, _ in answers]
    assert names == sorted(names, key=["repeated", "added return", "added throw"].index)


def test_repetitions_of_braces_stay_statements() -> None:
    text = "class A {\n    void f(int a) {\n        a++;\n        g(a);\n    }\n}\n"
    start = text.index("\n        g")
    answers = [one.text for one in added_code(problem(text[:start], "", text[start:], "java"))]
    assert answers[:2] == ["\n        a++;", "\n        g(a);"]


@pytest.mark.parametrize(
    ("before", "reference", "after", "expected"),
    [
        ("def f(a):\n    return g(", "a, 2", ")\n", ["None, 2", "a, None"]),
        ("def f(a):\n    b =", " a", "\n    return b\n", [" None"]),
        ("def f(a):\n    return a.", "b", "\n", []),
    ],
)
def test_values_are_replaced(before: str, reference: str, after: str, expected: list[str]) -> None:
    assert [one.text for one in value_mutants(problem(before, reference, after))] == expected


def test_added_code_stays_in_the_function_of_the_caret() -> None:
    text = "def f(a):\n    a = g(a)\n    h(a)\n\n\nf(1)\n"
    start = text.index("\n\n\nf(1)")
    answers = [one.text for one in added_code(problem(text[:start], "", text[start:]))]
    assert answers
    assert all(answer.startswith("\n    ") for answer in answers)


@pytest.mark.parametrize(
    ("language", "before", "reference", "after", "expected"),
    [
        ("python", "def f(x):\n    ", "if x:\n        g()", "\n", ["if True or (x):\n        g()"]),
        ("python", "def f(x):\n    ", "for a in x:\n        g(a)", "\n", ["for a in x:\n        g(a)\n        break"]),
        ("python", "def f(x):\n    ", "try:\n        g()\n    except E:\n        x = 1", "\n",
         ["try:\n        g()\n    except E:\n        raise\n        x = 1"]),
        ("javascript", "function f(x) { ", "try { g(); } catch (e) { x = 1; }", " }",
         ["try { g(); } catch (e) { throw e; x = 1; }"]),
        ("java", "class A { void f(int[] x) { ", "for (int a : x) { g(a); }", " } }",
         ["for (int a : x) { g(a); if (true) break; }"]),
        ("go", "package a\nfunc f(x int) { ", "if x > 1 { g() }", " }", ["if true || (x > 1) { g() }"]),
        ("ruby", "def f(x)\n  ", "while x do\n    g\n  end", "\nend\n", ["while x do\n    g\n    break\n  end"]),
        ("python", "def f(x):\n    ", "return g(x)", "\n", []),
    ],
)  # fmt: skip
def test_constructs_are_removed(language: str, before: str, reference: str, after: str, expected: list[str]) -> None:
    found = removed_constructs(problem(before, reference, after, language))
    assert [one.text for one in found] == expected
