"""Error kinds that only completions in an editor have: names, literals, broken words."""

from __future__ import annotations

import pytest

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.edit_kinds import EDIT_KINDS, edit_kinds
from caretbench.metrics.error_kinds.kind_table import (
    edit_kind_names,
    error_kind_names,
    error_kind_table,
    error_kind_title,
)

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
