"""Trees of programs with another text in the same place: parsed incrementally, they are those of the whole program."""

from __future__ import annotations

from functools import cache
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.suites import load_suite
from caretbench.syntax import bounded_parsing as spliced
from caretbench.syntax.parser import LONG_RUN

FURTHER = {
    "go": ("package main\n\nfunc total(n int) int {\n\ts := 0\n", "\tfor i := 0; i < n; i++ {\n\t\ts += i\n\t}\n",
           "\treturn s\n}\n"),
    "rust": ("fn total(n: i32) -> i32 {\n    let mut s = 0;\n", "    for i in 0..n {\n        s += i;\n    }\n",
             "    s\n}\n"),
    "ruby": ("def total(n)\n  s = 0\n", "  n.times do |i|\n    s += i\n  end\n", "  s\nend\n"),
}  # fmt: skip
LANGUAGES = ("python", "java", "javascript", "typescript", "cpp", "csharp", *FURTHER)

PARTS = attrgetter("tokens", "comments", "statements", "calls", "misaligned", "caret_column")


@cache
def _places(language: str) -> list[tuple[CaretPlace, str]]:
    if language in FURTHER:
        before, due, after = FURTHER[language]
        return [(CaretPlace(before, after, language), due)]
    problems = load_suite("devbench").load("starter").problems
    return [
        (CaretPlace(one.caret.prefix, one.caret.suffix, language), one.reference)
        for one in problems
        if one.caret.language == language
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data())
def test_incremental_and_whole_measurement_agree(language: str, data: st.DataObject) -> None:
    place, due = data.draw(st.sampled_from(_places(language)))
    lines = [*due.splitlines(keepends=True), *place.prefix.splitlines(keepends=True)[-8:], "\n", "    ", "é", "// x\n"]
    pieces = st.sampled_from([*lines, "}", "{", "(", ")", ";", '"', "# x\n", "return 1", "f(a, b)"])
    text = data.draw(st.one_of(st.just(due), st.lists(pieces, max_size=6).map("".join)))
    cut = data.draw(st.integers(0, len(text)))
    near = spliced.spliced_tree(place.prefix, due, place.suffix, language)
    for answer in (text, text[:cut]):
        whole = structure_of(place.prefix, answer, place.suffix, language)
        found = structure_of(place.prefix, answer, place.suffix, language, near)
        assert whole is not None
        assert found is not None
        assert PARTS(found) == PARTS(whole)
        assert (found.errors, found.layout_faults) == (whole.errors, whole.layout_faults)
        assert str(found.spliced.tree.root_node) == str(whole.spliced.tree.root_node)


def test_only_faultless_programs_are_parsed_incrementally() -> None:
    near = spliced.spliced_tree("def f():\n    ", "return 1", "\n", "python")
    assert near is not None
    assert near.with_text(b"def f():\n    return 22\n", len("def f():\n    return 22")) is not None
    assert near.with_text(b"def f():\n    return (\n", len("def f():\n    return (")) is None
    comments = b"def f():\n    return 1" + b"\n# x" * LONG_RUN
    assert near.with_text(comments + b"\n", len(comments)) is None
    faulty = spliced.spliced_tree("def f():\n    ", "return (", "\n", "python")
    assert faulty is not None
    assert faulty.with_text(b"def f():\n    return 22\n", len("def f():\n    return 22")) is None
