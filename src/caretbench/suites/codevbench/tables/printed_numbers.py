"""The paper's printed numbers: rates of Tables 3 to 7, correlations, and shares of usage as weights of Pass@1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from caretbench.files import published_rows
from caretbench.problem import Problem
from caretbench.suites.codevbench.scenario_names import CLASSES, SCENARIOS, USAGE_GROUPS, label
from caretbench.suites.codevbench.tables.result_rows import ProblemMeans, RateEstimate

SAMPLES: Final[Mapping[str, tuple[int, ...]]] = {
    "table_4": (26, 77, 63, 46, 100), "table_5": (40, 139, 126, 46, 179), "table_6": (52, 154, 126, 92, 196),
    "table_7": (26, 77, 63, 46, 100),
}  # fmt: skip
"""Numbers of samples by table, in the order of :data:`CLASSES`. The paper's Table 2 has them by repository; its columns
of scenarios 2 and 3 are interchanged."""

OTHER_SAMPLES: Final[Mapping[str, tuple[int, ...]]] = {
    "table_5": (18, 92, 86, 13, 109), "table_6": (42, 106, 86, 48, 118),
}  # fmt: skip
"""Numbers of samples that fit rows whose averages do not follow from :data:`SAMPLES`: 318 and 400 in all."""

_ALL: Final = "all"
_DIGIT: Final = 0.01
"""A unit of the last printed digit, in percent."""
_SLACK: Final = 1e-9


class PrintedRates(NamedTuple):
    """Row of one of Tables 4 to 7 as printed: rates by class of blocks, and their average, in percent."""

    table: str
    model: str
    cells: tuple[str, ...]
    average: str
    doubtful: bool

    def mean(self, samples: Sequence[int]) -> float:
        """Return the average of the cells by numbers of samples."""
        return sum(float(cell) * count for cell, count in zip(self.cells, samples, strict=True)) / sum(samples)

    def follows(self, samples: Sequence[int]) -> bool:
        """Return whether the printed average is that of the cells, to one unit of its last digit."""
        return abs(round(self.mean(samples), 2) - float(self.average)) <= _DIGIT + _SLACK

    def is_counted(self, samples: Sequence[int]) -> bool:
        """Return whether each cell is a whole number of its samples, and the average their sum, as rounded."""
        counts = [round(float(cell) * count / 100) for cell, count in zip(self.cells, samples, strict=True)]
        shares = [100 * passed / count for passed, count in zip(counts, samples, strict=True)]
        whole = 100 * sum(counts) / sum(samples)
        return all(_is_rounded(*pair) for pair in zip((*self.cells, self.average), (*shares, whole), strict=True))


def _is_rounded(printed: str, value: float) -> bool:
    return abs(float(printed) - value) <= 0.5 * 10.0 ** -len(printed.partition(".")[2]) + _SLACK


@cache
def _rows() -> tuple[Mapping[str, str], ...]:
    return tuple(published_rows("codevbench"))


def _subset(row: Mapping[str, str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["subset"].split(";"))


def scenario_of(number: str) -> str:
    """Return the label of a printed scenario, ``1`` to ``4``."""
    return [*SCENARIOS][int(number) - 1]


@cache
def printed_rates() -> tuple[PrintedRates, ...]:
    """Return the rows of Tables 4 to 7 in printed order."""
    return tuple(_printed_rates())


def _printed_rates() -> Iterator[PrintedRates]:
    cells: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in _rows():
        if row["table"] in SAMPLES:
            cells.setdefault((row["table"], row["model"]), {})[_subset(row)["block"]] = row
    for (table, model), found in cells.items():
        yield PrintedRates(
            table, model, tuple(found[name]["value"] for name in CLASSES), found[_ALL]["value"],
            any(row["status"] == "doubtful" for row in found.values()),
        )  # fmt: skip


@cache
def printed_averages() -> Mapping[str, Mapping[str, str]]:
    """Return the rates of Table 3: by model, then by scenario."""
    found: dict[str, dict[str, str]] = {}
    for row in _rows():
        if row["table"] == "table_3":
            found.setdefault(row["model"], {})[scenario_of(_subset(row)["scenario"])] = row["value"]
    return found


@cache
def printed_sizes() -> Mapping[tuple[str, str], str]:
    """Return Table 2, by scenario and class of blocks; the columns are in the paper's order, as printed."""
    found = {}
    for row in _rows():
        if row["table"] == "table_2":
            part = _subset(row)
            found[scenario_of(part["scenario"]), part["block"]] = row["value"]
    return found


@cache
def printed_correlations() -> Mapping[str, float]:
    """Return the printed correlations of Pass@1 and edit similarity over models, by scenario."""
    return {
        scenario_of(_subset(row)["scenario"]): float(row["value"]) for row in _rows() if row["table"] == "appendix_c"
    }


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
