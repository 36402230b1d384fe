from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.devbench.build.construction.candidates import GeneratedInstance, moved_instances
from caretbench.suites.devbench.build.construction.scenario_grid import BOUNDARY_WORDS
from caretbench.syntax.analysis_types import CaretBoundary
from caretbench.syntax.caret_boundary import caret_boundary


def instance(prefix: str, reference: str, suffix: str) -> GeneratedInstance:
    return GeneratedInstance(name="x", prefix=prefix, reference=reference, suffix=suffix, justification="y")


@pytest.mark.parametrize(
    ("boundary", "prefix", "reference"),
    [
        ("operator", "x = 1\n    total =", " sum(values)"),
        ("word", "x = 1\n    t", "otal = sum(values)"),
        ("line", "x = 1\n    total", " = sum(values)"),
        ("call", "x = 1\n    total = sum(", "values)"),
    ],
)
def test_the_nearest_place_of_each_boundary_comes_first(boundary: CaretBoundary, prefix: str, reference: str) -> None:
    found = next(moved_instances(instance("x = 1\n    ", "total = sum(values)\nreturn max(total, 0)", "\n"), boundary))
    assert (found.prefix, found.reference) == (prefix, f"{reference}\nreturn max(total, 0)")


def test_a_caret_at_the_boundary_stays() -> None:
    assert not [*moved_instances(instance("x = 1\n    ", "total = sum(values)", "\n"), "new_line")]


def test_a_caret_within_a_line_moves_to_its_beginning() -> None:
    found = next(moved_instances(instance("def f(a):\n    b = ", "a + 1", "\n"), "declaration"))
    assert (found.prefix, found.reference) == ("def f(a):\n    ", "b = a + 1")


def test_a_gap_without_such_a_place_has_none() -> None:
    assert not [*moved_instances(instance("x = 1\n", "total\nf(x)", "\n"), "call")]
    assert not [*moved_instances(instance("x = 1\n", "total = sum(values)", "\n"), "call")]  # too late
    assert not [*moved_instances(instance("x = 1\n", "total", "\n"), "declaration")]


_TEXT = st.text("ab( =\n:", min_size=1, max_size=30)


@given(_TEXT, _TEXT, st.text("a\n)", max_size=5), st.sampled_from([*BOUNDARY_WORDS]))
def test_a_move_keeps_the_program_and_leaves_a_gap(
    prefix: str, reference: str, suffix: str, boundary: CaretBoundary
) -> None:
    found = [*moved_instances(instance(prefix, reference, suffix), boundary)]
    assert len({len(one.prefix) for one in found}) == len(found)
    for one in found:
        assert one.prefix + one.reference == prefix + reference
        assert one.reference
        assert caret_boundary(one.prefix, one.reference, suffix) == boundary
