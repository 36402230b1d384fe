"""Result rows of a run by model, and formatting of means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.problem import Problem
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.efcb_score import EASY_TASK, HALLUCINATION_TASK, HARD_TASK, MASKED_TASK, REVERSE_TASK

if TYPE_CHECKING:
    import polars as pl

TASK_TITLES: Final[Mapping[str, str]] = {
    EASY_TASK: "GMCQ-Easy", HARD_TASK: "GMCQ-Hard", MASKED_TASK: "MPR-Gen", REVERSE_TASK: "Reverse-QA",
    HALLUCINATION_TASK: "Reverse-QA-Hallu",
}  # fmt: skip
NO_VALUE: Final = "-"
"""Text of a missing number."""

ResultRow = Mapping[str, Any]


class ModelRows(NamedTuple):
    """One model's result rows of one profile, each with the labels of its problem."""

    name: str
    rows: tuple[ResultRow, ...]

    def select(self, task: str, **labels: str) -> list[ResultRow]:
        """Return the rows of a task with these labels."""
        return [
            line
            for line in self.rows
            if line["task"] == task and all(line.get(name) == value for name, value in labels.items())
        ]


def group_by_model(results: pl.DataFrame, problems: Mapping[str, Problem], profile: str) -> Iterator[ModelRows]:
    """Yield the models of a profile in the order of their rows, baselines last.

    A model with two sets of parameters occurs twice.
    """
    by_model: dict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in results.iter_rows(named=True):
        if row["profile"] == profile:
            problem = problems[row["problem_id"]]
            labels = {name: value for name, value in problem.labels.items() if name not in row or row[name] is None}
            by_model[row["model"], row["parameters"]].append({**row, **labels})
    several = {name for name, _ in by_model if sum(name == other for other, _ in by_model) > 1}
    names = ["", *BASELINES]
    order = sorted(by_model, key=lambda key: names.index(key[0]) if key[0] in names else 0)
    for name, parameters in order:
        title = f"{name} ({parameters[:8]})" if name in several else name
        yield ModelRows(title, tuple(by_model[name, parameters]))


def format_mean(values: Iterable[float], digits: int, *, with_count: bool = False, mark: str = "") -> str:
    """Return the mean with its ``mark`` and, ``with_count``, the number of values; ``-`` without values."""
    known = list(values)
    if not known:
        return NO_VALUE
    note = f"\nn = {len(known)}" if with_count else ""
    return f"{sum(known) / len(known):.{digits}f}{f' {mark}' if mark else ''}{note}"
