"""Results of one model under one policy and profile: means by problem, plain and weighted."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.metrics.intervals import Interval, mean_interval
from caretbench.metrics.weighted import weighted_mean
from caretbench.problem import Problem
from caretbench.suites.baselines import BASELINES
from caretbench.suites.codevbench.measures import ANSWER_LINES, EMPTY_ANSWER, SIMILARITY
from caretbench.suites.codevbench.scenario_names import CLASSES, label

if TYPE_CHECKING:
    import polars as pl

ScoreRow = Mapping[str, Any]
"""One completion under one policy and profile."""
Value = Callable[[ScoreRow], float | None]

NO_VALUE: Final = "–"
"""Text of a number that is not known."""


def column(name: str) -> Value:
    """Return the function that reads a column of a row; None without a number."""

    def read(row: ScoreRow) -> float | None:
        value = row.get(name)
        return None if value is None else float(value)

    return read


passed: Final = column("passed")
similarity: Final = column(SIMILARITY)
answer_lines: Final = column(ANSWER_LINES)
empty_answer: Final = column(EMPTY_ANSWER)


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
        found = weighted_mean(self.values, groups, weights, seed=self.seed, **self._labels())
        return None if found is None else RateEstimate(found.value, found.interval, found.problems)

    def _labels(self) -> dict[str, Any]:
        return {
            "clusters": [problem.cluster for problem in self.problems],
            "overlap_groups": [problem.overlap_group for problem in self.problems],
        }


class ModelScores(NamedTuple):
    """Rows of one model under one policy and profile."""

    title: str
    model: str
    rows: tuple[ScoreRow, ...]
    problems: Mapping[str, Problem]
    seed: int

    @property
    def is_baseline(self) -> bool:
        """True for the answers of a baseline, which no model gave."""
        return self.model in BASELINES

    def select(self, **labels: str) -> ModelScores:
        """Return the rows about problems with these labels."""
        kept = (
            row
            for row in self.rows
            if all(label(self.problems[row["problem_id"]], name) == value for name, value in labels.items())
        )
        return self._replace(rows=tuple(kept))

    def of_paper(self) -> ModelScores:
        """Return the rows about the paper's classes of blocks."""
        kept = (row for row in self.rows if label(self.problems[row["problem_id"]], "block_class") in CLASSES)
        return self._replace(rows=tuple(kept))

    def means(self, value: Value) -> ProblemMeans:
        """Return the means of a value by problem, in order of their ids; rows without a number do not count."""
        by_problem: dict[str, list[float]] = defaultdict(list)
        for row in self.rows:
            number = value(row)
            if number is not None and math.isfinite(number):
                by_problem[row["problem_id"]].append(number)
        names = sorted(by_problem)
        values = tuple(sum(by_problem[name]) / len(by_problem[name]) for name in names)
        return ProblemMeans(tuple(self.problems[name] for name in names), values, self.seed)

    def mean(self, value: Value) -> RateEstimate | None:
        """Return the mean of a value over problems; None without any."""
        return self.means(value).mean()


class ScoredRun(NamedTuple):
    """Results of all models under one policy and profile."""

    profile: str
    policy: str
    models: tuple[ModelScores, ...]

    @property
    def suffix(self) -> str:
        """End of the names of its tables."""
        return f"{self.profile}-{self.policy}"

    @property
    def about(self) -> str:
        """Profile and policy, for titles."""
        return f"{self.profile} profile, policy {self.policy}"


def percent(estimate: RateEstimate | None) -> str:
    """Return an estimate as text; :data:`NO_VALUE` without one."""
    return NO_VALUE if estimate is None else estimate.percent


def few_source_notes(estimates: Sequence[RateEstimate | None]) -> tuple[str, ...]:
    """Return the warnings of intervals, each once."""
    warnings = dict.fromkeys(one.interval.warning for one in estimates if one is not None)
    return tuple(f"Intervals: {warning}." for warning in warnings if warning and "cluster" in warning)[:1]


def scored_runs(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> Iterator[ScoredRun]:
    """Yield the results by profile and policy; rows about problems that are not there do not count."""
    groups: dict[tuple[str, str, str, str], list[ScoreRow]] = {}
    for row in results.iter_rows(named=True):
        if row["problem_id"] in problems:
            title = row.get("model_title") or row["model"]
            groups.setdefault((row["profile"], row["policy"], title, row["model"]), []).append(row)
    ordered = sorted(groups, key=lambda key: key[:2])
    for (profile, policy), keys in groupby(ordered, key=lambda key: key[:2]):
        models = tuple(
            ModelScores(title, model, tuple(groups[profile, policy, title, model]), problems, seed)
            for _, _, title, model in keys
        )
        yield ScoredRun(profile, policy, models)
