"""The domain: what a row may hold, and how an answer is put into a file."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from caretbench.problem import Completion, FileSplice, Problem, Question
from tests.support.make_problem import make_problem


def changed(**fields: Any) -> Problem:
    return Problem.model_validate(make_problem("p").model_dump() | fields)


def test_an_id_has_at_least_one_character_and_a_problem_at_least_one_check() -> None:
    assert changed(id="1").id == "1"
    for fields in ({"id": ""}, {"checks": ()}, {"unknown": 1}):
        with pytest.raises(ValidationError):
            changed(**fields)


def test_a_models_name_holds_nothing_that_steers_a_terminal() -> None:
    def named(model: str, sample: int = 0) -> Completion:
        return Completion(problem_id="p", model=model, sample=sample, text="x")

    assert named("modèle/7b", (1 << 31) - 1).key == ("p", "modèle/7b", "none", (1 << 31) - 1)
    for model, sample in (("", 0), ("a\nb", 0), ("a\x1b[2J", 0), ("a\x9f", 0), ("m", -1), ("m", 1 << 31)):
        with pytest.raises(ValidationError):
            named(model, sample)


def test_labels_are_texts() -> None:
    problem = changed(labels={"language": "go", "distance": 2.5, "whole": 3.0, "kinds": ["a", "b"]})
    assert [problem.label(name) for name in problem.labels] == ["go", "2.5", "3", "a,b"]
    with pytest.raises(KeyError):
        problem.label("mode")


def test_a_question_has_no_caret() -> None:
    assert make_problem("p").caret.language
    with pytest.raises(TypeError):
        _ = changed(shown=Question(text="Which?", choices=("a",))).caret


def test_an_answer_takes_the_place_of_its_span_with_the_files_line_ends() -> None:
    splice = FileSplice(snapshot="s", path="a.py", start=2, end=4, newline="\r\n")
    assert splice.content(b"a\nbb\nc", "x\ny\r\nz") == b"a\nx\r\ny\r\nz\nc"
    assert splice.model_copy(update={"start": 4}).content(b"a\nbb", "x") == b"a\nbbx"
    with pytest.raises(ValueError, match="ends at 4"):
        splice.content(b"a\nb", "x")
    for start, end in ((4, 3), (-1, 2)):
        with pytest.raises(ValidationError):
            FileSplice(snapshot="s", path="a.py", start=start, end=end)
