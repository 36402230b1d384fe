"""Baselines of C3-Bench: those of every suite at a caret, and the right answer to another instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caretbench.problem import Problem
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.c3bench.problem_building import OTHER_VARIANT


def _other_variant(problem: Problem) -> str | None:
    """Return the right answer to another instruction of the same context; None if the context has no other."""
    return problem.released.get(OTHER_VARIANT)


C3_BASELINES: Final[Mapping[str, BaselineFunction]] = {**BASELINES, "other-variant": _other_variant}
"""Baselines by name."""
