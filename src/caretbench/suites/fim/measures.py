"""Measures of answers to conventional benchmarks: exact matches, and the released metrics as columns."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.problem import Problem
from caretbench.suites.suite_types import Measurement


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


def exact_match(rule: str, problem: Problem, answer: str, *, compares_callee: bool) -> bool:
    """Return whether an answer equals the reference by a rule of the descriptions."""
    return _stripped_lines(answer) == _stripped_lines(problem.reference)


def released_measures(names: Sequence[str], problem: Problem, answer: str) -> list[Measurement]:
    """Return the released metrics of these names."""
    return []
