"""Baseline ``blind-scale``: it has the extent of every instruction of the starter set, and no sense."""

from __future__ import annotations

import pytest

from caretbench.problem import Problem
from caretbench.suites import load_suite
from caretbench.suites.c3bench.measures import blind_answer, blind_scale, failed_predicates
from caretbench.suites.c3bench.scale import ScaleSpecification, verify


def scale_problems() -> list[Problem]:
    return [one for one in load_suite("c3bench").load("starter").problems if one.label("task") == "scc"]


def test_it_reaches_the_extent_of_all_problems_and_means_nothing() -> None:
    for problem in scale_problems():
        answer = blind_answer(problem)
        assert answer is not None
        assert not failed_predicates(problem, answer), problem.id
        assert problem.runs_as_program  # only its tests tell it from a right answer
        assert answer.strip() != problem.reference.strip()


@pytest.mark.parametrize(
    ("prefix", "suffix", "fields", "expected"),
    [
        ("def f(y):\n", "    return y\n", {"kind": "block", "node": "for", "column": 4}, "    for x in (): pass\n"),
        ("def f(y):\n    ", "\n    return y\n", {"kind": "block", "node": "try"}, "try: pass\n    finally: pass"),
        ("def f(y):\n    for z in y:\n", "    return y\n", {"kind": "block", "node": "for", "header_in_prefix": True},
         "        pass\n"),
        ("def f(y):\n", "    return y\n", {"kind": "lines", "n": 2}, "    pass\n    pass\n"),
        ("f(", ")\n", {"kind": "span_node", "node": "argument"}, "None"),
        ("class A {\n", "}\n", {"kind": "block", "node": "function", "language": "java"}, "void x() {}\n"),
        ("class A {\n", "}\n", {"kind": "block", "node": "function", "language": "typescript"}, "x() {}\n"),
    ],
)  # fmt: skip
def test_its_text_follows_from_extent_and_place(
    prefix: str, suffix: str, fields: dict[str, object], expected: str
) -> None:
    specification = ScaleSpecification.of(fields)
    answer = blind_scale(prefix, suffix, specification)
    assert answer == expected
    assert verify(prefix, answer, suffix, specification).ok
