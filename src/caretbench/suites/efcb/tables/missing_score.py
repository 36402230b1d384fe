"""Reasons why the EFCB score of a run is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from caretbench.problem import Problem
from caretbench.profiles import PROFILES
from caretbench.suites.efcb.efcb_score import TASKS
from caretbench.suites.efcb.tables.model_rows import TASK_TITLES, group_by_model
from caretbench.suites.efcb.tables.score_basis import JUDGED_TASKS, ScoreBasis

if TYPE_CHECKING:
    import polars as pl


def missing_score(results: pl.DataFrame, problems: Mapping[str, Problem]) -> Iterator[str]:
    """Yield the reasons why no answer of a run has an EFCB score: tasks without problems, tasks without judgements."""
    present = {str(problem.labels.get("task")) for problem in problems.values()}
    absent = [TASK_TITLES[task] for task in TASKS if task not in present]
    if absent:
        yield f"No EFCB score: it is a mean over {len(TASKS)} tasks, and the run has no problem of {', '.join(absent)}."
        return
    judged = {
        task
        for profile in PROFILES
        for basis in (ScoreBasis.of(profile, problems),)
        for model in group_by_model(results, problems, profile)
        for task in JUDGED_TASKS
        if any(line.get("judged") is not None for line in model.select(task, **basis.labels(task)))
    }
    waiting = [TASK_TITLES[task] for task in JUDGED_TASKS if task not in judged]
    if waiting:
        yield (
            f"No EFCB score: no answer to {', '.join(waiting)} is judged. `caretbench judge RUN -m "
            "PROVIDER/MODEL` judges them."
        )
