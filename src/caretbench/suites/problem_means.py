"""Means over problems with their intervals, each problem the mean over its samples: cells of the suites' tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval, mean_interval
from caretbench.metrics.paired import Comparison
from caretbench.metrics.weighted import weighted_mean
from caretbench.problem import Problem

ScoreRow = Mapping[str, Any]
"""One completion under one policy and profile."""
Value = Callable[[ScoreRow], float | None]

NO_VALUE: Final = "–"
"""Text of a number that is not known."""


def column(name: str) -> Value:
    """Return the function that reads a column of a row; None without a number."""
    return lambda row: None if row.get(name) is None else float(row[name])


class RateEstimate(NamedTuple):
    """Mean over problems with its interval."""

    value: float
    interval: Interval
    problems: int

    @property
    def percent(self) -> str:
        """Percentage with its interval as a note."""
        low, high = self.interval.low, self.interval.high
        note = f"\n{100 * low:.1f} to {100 * high:.1f}" if math.isfinite(low) and low < high else ""
        return f"{100 * self.value:.1f}{note}"


class ProblemMeans(NamedTuple):
    """Values by problem, each the mean over its samples."""

    problems: tuple[Problem, ...]
    values: tuple[float, ...]
    seed: int

    def mean(self) -> RateEstimate | None:
        """Return the mean over problems; None without any."""
        if not self.values:
            return None
        interval = mean_interval(self.values, seed=self.seed, **self._labels())
        return RateEstimate(sum(self.values) / len(self.values), interval, len(self.values))

    def weighted(self, group: Callable[[Problem], str | None], weights: Mapping[str, float]) -> RateEstimate | None:
        """Return the weighted mean over groups of problems; None if none is in a group with a weight."""
        groups = [group(problem) for problem in self.problems]
        mean = weighted_mean(self.values, groups, weights, seed=self.seed, **self._labels())
        return None if mean is None else RateEstimate(mean.value, mean.interval, mean.problems)

    def _labels(self) -> dict[str, Any]:
        return {
            "clusters": [problem.cluster for problem in self.problems],
            "overlap_groups": [problem.overlap_group for problem in self.problems],
        }


def problem_means(rows: Iterable[ScoreRow], problems: Mapping[str, Problem], value: Value, seed: int) -> ProblemMeans:
    """Return the means of a value by problem, in order of their ids; rows without a number do not count."""
    # Samples of one problem depend on each other; the problem is the unit of the interval.
    by_problem = grouped(
        (row["problem_id"], number) for row in rows if (number := value(row)) is not None and math.isfinite(number)
    )
    names = sorted(by_problem)
    values = tuple(sum(by_problem[name]) / len(by_problem[name]) for name in names)
    return ProblemMeans(tuple(problems[name] for name in names), values, seed)


def percent(estimate: RateEstimate | None) -> str:
    """Return an estimate as text; :data:`NO_VALUE` without one."""
    return NO_VALUE if estimate is None else estimate.percent


def difference_points(comparison: Comparison) -> str:
    """Return a difference in points with its interval as a note; :data:`NO_VALUE` without one."""
    if not math.isfinite(comparison.difference):
        return NO_VALUE
    low, high = 100 * comparison.interval.low, 100 * comparison.interval.high
    note = f"\n{low:+.1f} to {high:+.1f}" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{100 * comparison.difference:+.1f}{note}"
