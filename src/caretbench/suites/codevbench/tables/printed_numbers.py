"""The paper's printed numbers: its tables, and shares of usage as weights of Pass@1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from caretbench.files import published_rows
from caretbench.problem import Problem
from caretbench.suites.codevbench.scenario_names import CLASSES, SCENARIOS, USAGE_GROUPS, label
from caretbench.suites.codevbench.tables.result_rows import ProblemMeans, RateEstimate
from caretbench.suites.suite_types import Table


@cache
def _rows() -> tuple[Mapping[str, str], ...]:
    return tuple(published_rows("codevbench"))


def _subset(row: Mapping[str, str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["subset"].split(";"))


_OTHER_PROBLEMS: Final = (
    "Printed: the paper's problems of ten Python repositories, which are not public. A run has other problems, so that "
    "its rates are no comparison of models."
)


def printed_tables() -> tuple[Table, ...]:
    """Return Tables 3 to 7 and the correlations, as printed."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in _rows():
        parts = _subset(row)
        if "scenario" in parts and row["table"] != "table_2":
            scenario, block = [*SCENARIOS.values()][int(parts["scenario"]) - 1], parts.get("block", "all")
            # A table of one scenario has its classes as columns, with the average as the last one.
            by_class = row["table"] not in ("table_3", "appendix_c")
            head = CLASSES.get(block, "Average") if by_class else scenario
            title = f"{row['table'].replace('_', ' ').capitalize()} as printed" + (
                f" (scenario {scenario})" if by_class else ""
            )
            found.setdefault(title, {}).setdefault(row["model"] or "Pearson's r", {})[head] = row["value"]
    return tuple(
        Table(f"codevbench-printed-{place}", title, ("Model", *next(iter(rows.values()))),
              tuple((model, *cells.values()) for model, cells in rows.items()), (_OTHER_PROBLEMS,))
        for place, (title, rows) in enumerate(found.items(), 3)
    )  # fmt: skip


@cache
def usage_shares(subject: str) -> Mapping[str, float]:
    """Return the printed shares of usage in percent: of kinds of ``block``, of ``lines``, or of text ``typed``."""
    found = {}
    for row in _rows():
        if row["metric"] == "usage_share" and subject in (part := _subset(row)):
            found[part[subject]] = float(row["value"])
    return found


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
