"""Numbers that the paper prints in its Tables 3 to 9, as rows of the suite's own tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from caretbench.suites.efcb.problem_metadata import TASKS

ALL: Final = "all"
"""Repository of a printed average over repositories; task of the score."""
_COUNTS: Final = "question_count"


@cache
def printed_numbers() -> Mapping[tuple[str, str, str], str]:
    """Return the printed results by model, task and repository (:data:`ALL`: the average), as printed.

    Table 4 prints three columns under each other's heads; its numbers are under the tasks that Tables 5 to 9 tell.
    """
    return {
        (row["model"], *_place(row["subset"])): row["value"]
        for row in _rows()
        # With the headings of Table 4 taken literally the published formula gives -0.896 and -0.838 for scores that are
        # printed as 0.482 and 0.584.
        if row["model"] and (row["table"] != "table_4" or _place(row["subset"])[0] == ALL)
    }


@cache
def printed_counts() -> Mapping[tuple[str, str], int]:
    """Return the questions of Table 3 by task and repository (:data:`ALL`: the sum)."""
    return {_place(row["subset"]): int(row["value"]) for row in _rows() if row["metric"] == _COUNTS}


@cache
def printed_models() -> tuple[str, ...]:
    """Return the names of the models, in the order of the tables."""
    return tuple(dict.fromkeys(model for model, _, _ in printed_numbers()))


@cache
def printed_repositories() -> tuple[str, ...]:
    """Return the names of the repositories, in the order of Tables 5 to 9."""
    return tuple(dict.fromkeys(name for _, task, name in printed_numbers() if task in TASKS and name != ALL))


def printed_rows(task: str, repositories: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row for each model: results in repositories with numbers of questions, and the average."""
    found = []
    for model in printed_models():
        cells = [_cell(model, task, repository) for repository in (*repositories, ALL)]
        found.append((_row_name(model), *cells))
    return found


def printed_score_rows() -> list[tuple[str, ...]]:
    """Return a row for each model in the form of Table 4: averages of the tasks, and the EFCB score."""
    numbers = printed_numbers()
    return [
        (_row_name(model), "macro", *(numbers[model, task, ALL] for task in TASKS), numbers[model, ALL, ALL], "-")
        for model in printed_models()
    ]


def printed_notes(counts: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return what is to know of printed numbers next to ours, whose numbers of questions are ``counts`` by task."""
    about = (
        "Printed: the paper's numbers, over all questions of the release, under its profile and with its judge "
        "(gpt-4.1-nano). Of Table 4's columns three have each other's heads, and its o3-mini is o4-mini in Tables 5 "
        "to 9; they are corrected here."
    )
    if all(count == printed_counts()[task, ALL] for task, count in counts):
        return (about,)
    return (about, "Not comparable: numbers of questions (n) differ from the printed ones.")


def order_repositories(names: Sequence[str]) -> list[str]:
    """Return names in the order of the paper's tables, others behind them by name."""
    printed = printed_repositories()
    return sorted(names, key=lambda name: (printed.index(name) if name in printed else len(printed), name))


def _row_name(model: str) -> str:
    return f"{model} (printed, whole release)"


def _cell(model: str, task: str, repository: str) -> str:
    value = printed_numbers().get((model, task, repository))
    return "-" if value is None else f"{value}\nn = {printed_counts()[task, repository]}"


def _place(subset: str) -> tuple[str, str]:
    """Return task and repository of a row."""
    parts = dict(part.split("=") for part in subset.split(";"))
    name = parts.get("task", "").replace("_", "-")
    return (name, parts.get("repo", ALL))


def _rows() -> list[dict[str, str]]:
    file = resources.files("caretbench").joinpath("reports", "published", "efcb.csv")
    return list(csv.DictReader(file.read_text("utf-8").splitlines()))
