"""Error kinds that only completions in an editor have: names, literals, broken words."""

from __future__ import annotations

import random
import re
import time
from functools import cache

import pytest

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.edit_kinds import EDIT_KINDS, edit_kinds
from caretbench.metrics.error_kinds.kind_table import (
    edit_kind_names,
    error_kind_names,
    error_kind_table,
    error_kind_title,
)
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.problem import Problem
from caretbench.suites import load_suite
from caretbench.syntax.parser import encode

PYTHON = CaretPlace("def f(width, height):\n    ", "\n", "python")
JAVA = CaretPlace("class A { int f(int width, int height) {\n    ", "\n} }", "java")
GO = CaretPlace("package a\nfunc f(width, height int) int {\n\t", "\n}\n", "go")


@pytest.mark.parametrize(
    ("place", "answer", "reference", "kinds"),
    [
        (PYTHON, "return width", "return height", {"wrong_name"}),
        (JAVA, "return width;", "return height;", {"wrong_name"}),
        (GO, "return width", "return height", {"wrong_name"}),
        (PYTHON, "return self.width", "return self.height", {"wrong_name"}),
        (PYTHON, "return width + 1", "return width + 2", {"wrong_literal"}),
        (JAVA, 'return g("a");', 'return g("b");', {"wrong_literal"}),
        (GO, "return g(true)", "return g(false)", {"wrong_literal"}),
        (PYTHON, "a = width\n    return a", "b = width\n    return b", set()),  # its own names
        (PYTHON, "return min(width)", "return max(width)", set()),  # a call is a kind of its own
        (PYTHON, "return width + height", "return width", set()),
        (PYTHON, "width", "height", {"wrong_name"}),
        (PYTHON, "print('a')", 'print("a")', set()),  # other quotes
        (PYTHON, "for one in width:\n        height += one", "return f(height, [1, 2, 3])", set()),  # another text
        (PYTHON, "return True", "return False", {"wrong_literal"}),  # the whole text
        (JAVA, "return true;", "return false;", {"wrong_literal"}),
        (GO, "return true", "return false", {"wrong_literal"}),
        (
            CaretPlace("const f = () => {\n  ", "\n};\n", "javascript"),
            "return true;",
            "return false;",
            {"wrong_literal"},
        ),
        (CaretPlace("fn f() -> bool {\n    ", "\n}\n", "rust"), "true", "false", {"wrong_literal"}),
        (PYTHON, "return 1_000", "return 1000", set()),  # the same number
        (CaretPlace("double f() {\n  ", "\n}\n", "cpp"), "return 1.0;", "return 1.;", set()),
        (PYTHON, "return width - height", "return height - width", {"wrong_name"}),  # exchanged
        (JAVA, "return width / height;", "return height / width;", {"wrong_name"}),
        (
            PYTHON,
            "return [one - other for one, other in f()]",
            "return [other - one for one, other in f()]",
            {"wrong_name"},
        ),
        (PYTHON, "return [one - other for one, other in f()]", "return [a - b for a, b in f()]", set()),
        (
            GO,
            "if width > height { return width }; return width",
            "if width > height { return width }; return height",
            {"wrong_name"},
        ),
        (PYTHON, "return width ", "return width", set()),
        (PYTHON, "", "return width", set()),
        (PYTHON, "return width", "", set()),
    ],
)
def test_names_and_literals(place: CaretPlace, answer: str, reference: str, kinds: set[str]) -> None:
    assert {*edit_kinds(answer, reference, place)} == kinds


@pytest.mark.parametrize(
    ("prefix", "answer", "reference", "suffix", "broken"),
    [
        ("retu", "return x", "rn x", "", True),  # begins the word again
        ("cou", "total", "nt", "", True),  # another word
        ("cou", "nt", "nt", "", False),
        ("cou", "nt()", "nt", "", False),  # the word is right
        ("x", " = 1", " = 2", "", False),
        ("x", "y", " = 2", "", True),
        ("a = ", "b", "c", "", False),
        ("a = ", "be", "", "gin()", True),  # runs into the word that follows
        ("a = ", "be.", "", "gin()", False),
        ("a = 1", "5", "0", "", False),  # a number is no word
    ],
)
def test_broken_words(prefix: str, answer: str, reference: str, suffix: str, broken: bool) -> None:
    assert ("broken_word" in edit_kinds(answer, reference, CaretPlace(prefix, suffix, "python"))) is broken


def test_the_table_has_titles_of_all_kinds() -> None:
    assert {*EDIT_KINDS} == {*error_kind_table().edits}
    assert not {*EDIT_KINDS} & {*error_kind_names()}
    titles = [error_kind_title(name) for name in edit_kind_names()]
    assert len(set(titles)) == len(titles)


# --- planted in real programs -------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d]\w*")


@cache
def starter_carets() -> tuple[Problem, ...]:
    found = [one for name in ("devbench", "simcopilot") for one in load_suite(name).load("starter").problems]
    return tuple(random.Random(5).sample(found, 160))  # noqa: S311  a sample, not a secret


def planted(problem: Problem, kind: str, draw: random.Random) -> str | None:
    """The reference with another name of the program, or another literal; None where it has none."""
    caret = problem.caret
    structure = structure_of(caret.prefix, problem.reference, caret.suffix, caret.language)
    assert structure is not None
    start = len(encode(caret.prefix))
    data = encode(problem.reference)
    places = []
    for number, token in enumerate(structure.tokens):
        called = structure.words[number + 1 : number + 2] == ("(",)
        if kind == "wrong_name" and token.type == "identifier" and not called and caret.prefix.count(token.text) > 1:
            places.append(token)
        if kind == "wrong_literal" and any(word in token.type for word in ("integer", "number", "decimal")):
            places.append(token)
    if not places:
        return None
    token = draw.choice(places)
    names = sorted({*_WORD.findall(caret.prefix)} - {*_WORD.findall(problem.reference)})
    other = "7319" if kind == "wrong_literal" else draw.choice(names)
    end = token.start + len(encode(token.text))
    return (data[: token.start - start] + encode(other) + data[end - start :]).decode()


@pytest.mark.parametrize("kind", ["wrong_name", "wrong_literal"])
def test_planted_kinds_are_found(kind: str) -> None:
    draw = random.Random(6)  # noqa: S311  a choice, not a secret
    found = []
    for problem in starter_carets():
        answer = planted(problem, kind, draw)
        if answer is not None:
            place = CaretPlace(problem.caret.prefix, problem.caret.suffix, problem.caret.language)
            assert not edit_kinds(problem.reference, problem.reference, place)
            found.append(kind in edit_kinds(answer, problem.reference, place))
    print(kind, sum(found), len(found))  # noqa: T201 - with -s
    assert len(found) > 40
    assert sum(found) >= 0.9 * len(found)


def test_tokens_that_repeat_in_another_order_are_compared_in_time() -> None:
    answer, reference = ("[" + "a, " * 900 + "]", "[" + "a, a + a, " * 250 + "]")
    started = time.process_time()
    edit_kinds(answer, reference, CaretPlace("x = ", "\n", "python"))
    assert time.process_time() - started < 2
