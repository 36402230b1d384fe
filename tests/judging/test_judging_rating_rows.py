"""Rules of every rating sheet: raters are named, nobody rates a text twice, and alpha among people."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from caretbench.errors import DataError
from caretbench.judging.rating_rows import alpha_of_people, checked_ratings
from caretbench.metrics.agreement.coefficients import krippendorff_alpha


class Rated(NamedTuple):
    problem_id: str
    rater: str
    text: str


def checked(*rows: Rated) -> list[Rated]:
    return checked_ratings(Path("sheet.jsonl"), rows, lambda row: row.text)


def test_people_rate_several_texts_and_problems_in_order() -> None:
    rows = [Rated("a", "x", "1"), Rated("a", "x", "2"), Rated("a", "y", "1"), Rated("b", "x", "1")]
    assert checked(*rows) == rows
    assert checked() == []


def test_a_row_without_rater_names_the_sheet_and_the_problem() -> None:
    with pytest.raises(DataError, match=r"^sheet\.jsonl: a rating of a does not name its rater$"):
        checked(Rated("b", "x", "1"), Rated("a", "", "1"))


def test_a_text_rated_twice_names_the_person() -> None:
    with pytest.raises(DataError, match=r"^sheet\.jsonl: x rated one text of a twice$"):
        checked(Rated("a", "x", "1"), Rated("a", "y", "1"), Rated("a", "x", "1"))


def test_alpha_is_that_of_a_table_with_a_row_for_each_person() -> None:
    values = {
        "t": {"x": 1.0, "y": 1.0},
        "u": {"x": 0.0, "y": 1.0, "z": 0.0},
        "v": {"z": 1.0},
        "w": {"y": 0.0, "z": 0.0},
    }
    table = [[1.0, 0.0, None, None], [1.0, 1.0, None, 0.0], [None, 0.0, 1.0, 0.0]]
    assert alpha_of_people(values) == pytest.approx(krippendorff_alpha(table))
    assert alpha_of_people({"t": {"x": 1.0, "y": 0.0}, "u": {"x": 0.0, "y": 1.0}}) == pytest.approx(-0.5)
    assert alpha_of_people({"t": {"x": 1.0}, "u": {"y": 0.0}}) is None
