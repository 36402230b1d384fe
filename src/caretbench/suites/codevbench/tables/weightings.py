"""Weightings of Pass@1: by the paper's shares of usage, and equally by kind of block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from caretbench.problem import Problem
from caretbench.suites.codevbench.tables.parts import USAGE_GROUPS, label
from caretbench.suites.codevbench.tables.printed_numbers import usage_shares
from caretbench.suites.codevbench.tables.result_rows import ProblemMeans, RateEstimate


class Weighting(NamedTuple):
    """Weighting of problems: title, group of a problem, and weights of the groups that a set of problems has."""

    title: str
    group: Callable[[Problem], str | None]
    weights: Callable[[ProblemMeans], Mapping[str, float]]

    def mean(self, means: ProblemMeans) -> RateEstimate | None:
        """Return the weighted mean; None if no problem has a weight."""
        return means.weighted(self.group, self.weights(means))


def usage_group(problem: Problem) -> str | None:
    """Return the group of a problem in the paper's usage data; None if it has no printed share."""
    return USAGE_GROUPS.get(label(problem, "block"))


def _kind(problem: Problem) -> str | None:
    return label(problem, "block") or None


USAGE: Final = Weighting("usage", usage_group, lambda _means: usage_shares("block"))
MACRO: Final = Weighting(
    "macro", _kind, lambda means: {kind: 1.0 for kind in map(_kind, means.problems) if kind is not None}
)
WEIGHTINGS: Final = (USAGE, MACRO)

WEIGHTING_NOTE: Final = (
    "Average: all problems of the classes in the paper alike, as printed. usage: kinds of blocks by their shares of "
    "the printed usage data (statements, control logic, functions, comments; argument lists and parts of lines have no "
    "printed share and do not count). macro: each kind of block alike. Kinds without problems are omitted."
)
"""Explanation of the weightings below tables."""
