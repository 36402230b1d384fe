from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.files import DataError, write_rows
from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance
from caretbench.suites.c3bench.variants.rating_sheet import (
    VariantRating,
    decision_lines,
    read_sheet,
    sheet_decisions,
    sheet_rows,
)
from caretbench.suites.c3bench.variants.variant_build import apply_rating_sheet


def problem(name: str, prefix: str = "p", instruction: str = "Do.") -> Problem:
    return Problem(
        id=name,
        suite="c3bench",
        shown=Caret(language="python", prefix=prefix, instruction=instruction),
        splice=InlineSplice(before=prefix, after=""),
        reference="r",
        checks=(ProgramCheck(),),
        labels={"category": "parameter"},
        cluster=name,
        provenance=Provenance(source="s"),
    )


PROBLEMS = [problem("a"), problem("b", instruction="Other."), problem("c", prefix="q")]


def rated(name: str, rater: str, context: int | None, instruction: int | None) -> VariantRating:
    row = next(row for row in sheet_rows(PROBLEMS) if row.problem_id == name)
    return row.model_copy(update={"rater": rater, "values": {"context": context, "instruction": instruction}})


def test_a_sheet_shows_what_is_rated() -> None:
    rows = list(sheet_rows(PROBLEMS))
    assert [(row.problem_id, row.prefix, row.middle, row.instruction) for row in rows] == [
        ("a", "p", "r", "Do."),
        ("b", "p", "r", "Other."),
        ("c", "q", "r", "Do."),
    ]
    assert not any(row.is_filled for row in rows)
    assert rows[0].values == {"context": None, "instruction": None}


def test_a_majority_decides() -> None:
    five = [rated("a", str(person), None, int(person < 2)) for person in range(5)]
    tie = [rated("c", "x", 1, 1), rated("c", "y", 1, 0)]
    found = sheet_decisions([*five, *tie], PROBLEMS)
    assert found.dropped == {"a": "instruction: 3 of 5 answers are no"}
    assert (found.rated, found.raters, found.other_text) == (2, ("0", "1", "2", "3", "4", "x", "y"), 0)


def test_a_context_is_dropped_with_all_its_problems() -> None:
    found = sheet_decisions([rated("a", "x", 0, 1)], PROBLEMS)
    assert found.dropped == dict.fromkeys(("a", "b"), "context: 1 of 1 answers are no")


def test_ratings_of_another_text_do_not_count() -> None:
    rows = [rated("a", "x", 1, 0)]
    found = sheet_decisions(rows, [problem("a", instruction="Changed.")])
    assert (found.dropped, found.other_text) == ({}, 1)
    assert "1 ratings are of other texts" in decision_lines(Path("sheet"), found)[1]


def test_agreement_is_that_of_people() -> None:
    same = [rated(name, person, 1, int(name != "b")) for name in "abc" for person in "xyz"]
    found = sheet_decisions(same, PROBLEMS).agreement
    assert (found["instruction"].items, found["instruction"].alpha, found["instruction"].equal) == (3, 1.0, 1.0)
    assert (found["context"].alpha, found["context"].equal) == (None, 1.0)
    split = [rated("a", "x", 1, 1), rated("a", "y", 1, 0), rated("b", "x", 1, 1), rated("b", "y", 1, 1)]
    found = sheet_decisions(split, PROBLEMS).agreement
    assert found["instruction"].equal == 0.5
    assert found["instruction"].alpha == pytest.approx(0.0)  # 1 of 2 pairs differs, as by chance
    lines = decision_lines(Path("s"), sheet_decisions(split, PROBLEMS))
    assert lines[-1] == "instruction: 50.0% equal answers, alpha 0.00 (2 problems)"


def test_a_sheet_is_written_once_and_then_applied(tmp_path: Path) -> None:
    path = tmp_path / "sheets" / "sheet.jsonl"
    first = apply_rating_sheet(path, PROBLEMS)
    assert first.problems == tuple(PROBLEMS)
    assert "3 problems to rate" in first.lines[0]
    before = path.read_bytes()
    assert apply_rating_sheet(path, PROBLEMS).problems == tuple(PROBLEMS)
    assert path.read_bytes() == before
    write_rows(path, [*sheet_rows(PROBLEMS), rated("c", "x", 1, 0)])
    applied = apply_rating_sheet(path, PROBLEMS)
    assert [one.id for one in applied.problems] == ["a", "b"]
    assert applied.lines[0] == f"{path}: 1 people rated 1 problems; 1 are dropped"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rater": ""}, "a rating of a does not name its rater"),
        ({"values": {"instruction": 2}}, "instruction is 2; 1 .keep. or 0 .drop."),
        ({"values": {"beauty": 1}}, "no question 'beauty'"),
    ],
)
def test_a_malformed_sheet_is_an_error(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    path = tmp_path / "sheet.jsonl"
    write_rows(path, [rated("a", "x", 1, 1).model_copy(update=changed)])
    with pytest.raises(DataError, match=message):
        read_sheet(path)


def test_nobody_rates_a_problem_twice(tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    write_rows(path, [rated("a", "x", 1, 1), rated("a", "x", 0, 1)])
    with pytest.raises(DataError, match="x rated one text of a twice"):
        read_sheet(path)
