"""Results of one model under one policy and profile: values by problem, and their means."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.metrics.intervals import mean_interval
from caretbench.problem import Problem
from caretbench.suites.c3bench.measures import FOLLOWED, FOLLOWED_LENIENT

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, Any]
"""One completion under one policy and profile."""

NO_VALUE: Final = "–"
"""Text of a number that is not known."""

SIMILARITY: Final = "indel_similarity"
"""Similarity that the tables show; the paper does not name its variant."""


def passed(row: Row) -> float | None:
    """Return 1 if all tests passed; None without a verdict."""
    return None if row.get("passed") is None else float(row["passed"])


def followed(row: Row) -> float | None:
    """Return 1 if the answer follows its instruction; None without a predicate."""
    return None if row.get(FOLLOWED) is None else float(row[FOLLOWED])


def followed_lenient(row: Row) -> float | None:
    """Return 1 if the answer follows its instruction at the level ``lenient``; None under another profile."""
    return None if row.get(FOLLOWED_LENIENT) is None else float(row[FOLLOWED_LENIENT])


def joint(row: Row) -> float | None:
    """Return 1 if the answer passes the tests and follows its instruction; None where one of both is not known."""
    first, second = passed(row), followed(row)
    return None if first is None or second is None else first * second


def followed_if_passed(row: Row) -> float | None:
    """Return 1 if an answer that passes follows its instruction; None if it does not pass."""
    return followed(row) if passed(row) == 1.0 else None


def similarity(row: Row) -> float | None:
    """Return the similarity to the reference; None without a value."""
    return None if row.get(SIMILARITY) is None else float(row[SIMILARITY])


class Mean(NamedTuple):
    """Mean over problems with its interval, and the number of problems."""

    value: float
    low: float
    high: float
    problems: int

    @property
    def text(self) -> str:
        """Percentage with its interval as a note."""
        note = (
            ""
            if self.low == self.high or not math.isfinite(self.low)
            else f"\n{100 * self.low:.1f} to {100 * self.high:.1f}"
        )
        return f"{100 * self.value:.1f}{note}"


class ModelResults(NamedTuple):
    """Rows of one model under one policy and profile."""

    title: str
    policy: str
    profile: str
    prompt: str
    rows: tuple[Row, ...]
    problems: Mapping[str, Problem]
    seed: int

    @property
    def fim(self) -> str:
        """Mark of a model that was asked by a format of fill-in-the-middle."""
        return NO_VALUE if not self.prompt else "yes" if self.prompt.startswith("fim/") else "no"

    def task(self, task: str, label: str = "", value: str = "") -> ModelResults:
        """Return the results for one task, and for one value of a label."""

        def belongs(row: Row) -> bool:
            problem = self.problems[row["problem_id"]]
            return problem.label("task") == task and (not label or problem.labels.get(label) == value)

        return self._replace(rows=tuple(row for row in self.rows if belongs(row)))

    def mean(self, value: Callable[[Row], float | None]) -> Mean | None:
        """Return the mean over problems of a value, each the mean over its samples; None without any."""
        by_problem: dict[str, list[float]] = defaultdict(list)
        for row in self.rows:
            number = value(row)
            if number is not None:
                by_problem[row["problem_id"]].append(number)
        if not by_problem:
            return None
        names = sorted(by_problem)
        values = [sum(by_problem[name]) / len(by_problem[name]) for name in names]
        interval = mean_interval(
            values, seed=self.seed, clusters=[self.problems[name].cluster for name in names],
            overlap_groups=[self.problems[name].overlap_group for name in names],
        )  # fmt: skip
        return Mean(sum(values) / len(values), interval.low, interval.high, len(values))


def percentage(mean: Mean | None) -> str:
    """Return a mean as text; :data:`NO_VALUE` without one."""
    return NO_VALUE if mean is None else mean.text


def model_results(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> Sequence[ModelResults]:
    """Return the results of all models, policies and profiles."""
    return list(_model_results(results, problems, seed))


def _model_results(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> Iterator[ModelResults]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in results.iter_rows(named=True):
        mode = row.get("instruction") or "shown"
        title = row["model_title"] + ("" if mode == "shown" else f", instruction {mode}")
        key = (title, row["policy"], row["profile"], row.get("prompt") or "")
        groups.setdefault(key, []).append(row)
    for (title, policy, profile, prompt), rows in groups.items():
        yield ModelResults(title, policy, profile, prompt, tuple(rows), problems, seed)
