"""Failures of completions in an editor, with and without the text that was due."""

from __future__ import annotations

import pytest

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.people.telemetry.event_features import failures_of

BODY = "def area(width, height):\n    "


def found(
    completion: str, due: str | None, prefix: str = BODY, suffix: str = "\n", language: str = "python"
) -> set[str]:
    return {*failures_of(completion, due, CaretPlace(prefix, suffix, language), None)}


@pytest.mark.parametrize(
    ("completion", "due", "kind"),
    [
        ("return width * width", "return width * height", "wrong_name"),
        ("return width * 2", "return width * 3", "wrong_literal"),
        ("return scale(width)", "return stretch(width)", "wrong_call"),
        ("return width *", "return width * height", "incomplete"),
        ("return width * height\n\n\ndef more():\n    pass", "return width * height", "over_generation"),
        ("for a in width:\n        pass", "if width:\n        pass", "wrong_block_kind"),
    ],
)
def test_kinds_next_to_the_text_that_was_due(completion: str, due: str, kind: str) -> None:
    assert kind in found(completion, due)
    assert not found(due, due)


def test_a_text_within_a_word() -> None:
    prefix = "total_width = 1\nprint(total_"
    assert "broken_word" in found("height", "width", prefix, ")\n")
    assert "broken_word" in found("total_width", "width", prefix, ")\n")
    assert "broken_word" in found("total_width", None, prefix, ")\n")
    assert "broken_word" not in found("width", "width", prefix, ")\n")


def test_the_text_alone_decides_where_nothing_is_known() -> None:
    assert not found("return width * height", None)
    assert "over_generation" in found("return width\n\n\ndef more(a):\n    return a\n", None)
    repeated = "    return width * height\n    print(width, height)\n"
    assert "repeats_surroundings" in found("width += 1\n" + repeated, None, suffix="\n" + repeated + "    print(1)\n")
    assert not found("MOVE A TO B.", None, "", "", "cobol")


def test_a_fence_alone_is_no_failure() -> None:
    assert found("```python\nreturn width * height\n```", None) == set()


def test_added_faults_are_syntax() -> None:
    place = CaretPlace(BODY, "\n", "python")
    assert "syntax" in failures_of("return width )", "return width", place, 1)
    assert "syntax" not in failures_of("return width", "return width", place, 0)
