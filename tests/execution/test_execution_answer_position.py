"""Lines of an answer in its program: an exit behind them is the program's own end."""

from __future__ import annotations

import pytest

from caretbench.execution.scan.answer_position import answer_lines


@pytest.mark.parametrize(
    ("before", "answer", "lines"),
    [
        ("", "x", (1, 1)),
        ("", "", (1, 1)),
        ("a\nb\n", "c\n", (3, 3)),
        ("a\nb\n", "c\nd", (3, 4)),
        ("a\nb = ", "", (2, 2)),
        ("a\nb = ", "1\n", (2, 2)),
        ("a\r\n", "b\rc\r\n\n", (2, 4)),
    ],
)
def test_lines_are_counted_from_one_and_a_closing_end_begins_none(
    before: str, answer: str, lines: tuple[int, int]
) -> None:
    assert answer_lines(before, answer, "python") == lines
    assert answer_lines(before, answer, "javascript") == lines
    assert answer_lines(before, answer, "typescript") == lines


def test_each_language_has_its_own_line_ends() -> None:
    assert answer_lines("", "a\u2028b", "javascript") == (1, 2)
    assert answer_lines("", "a\u2028b", "python") == (1, 1)


@pytest.mark.parametrize("language", ["java", "cpp", "csharp", "go", "rust"])
def test_languages_without_lines_have_no_end_by_an_exit(language: str) -> None:
    assert answer_lines("", "x", language) is None
