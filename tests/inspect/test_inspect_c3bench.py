"""``inspect eval caretbench/c3bench``: the same numbers as ours, for implementations and for scale."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from caretbench.cli.score import score
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.files import write_rows
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.problem import Completion, Problem
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.answer_kinds import ERROR_KINDS_SCORER
from tests.support.inspect_runs import answering, numbers, run

c3bench = inspect_task("c3bench")


def answer(problem: Problem, place: int) -> str:
    """The reference, the answer to another instruction, and one in a fence with chatter around it."""
    other = problem.released.get("other_variant", "")
    return (problem.reference, other, f"Here it is:\n```python\n{problem.reference}```\nDone.")[place % 3]


def test_row_by_row_the_same(tmp_path: Path) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    found = load_suite("c3bench").load("starter").problems
    chosen = [[one for one in found if one.label("task") == task][:6] for task in ("icc", "scc")]
    problems = {one.id: (one, place) for group in chosen for place, one in enumerate(group)}
    select = "id=" + "|".join(problems)
    task = c3bench(select=select, prompt="left-to-right")
    log = run(task, answering(lambda identity, _epoch: answer(*problems[identity])), tmp_path / "logs")
    theirs, theirs_kinds = {}, {}
    for sample in read_eval_log(log.location).samples or []:
        scored = sample.scores["caret"]
        theirs[str(sample.id)] = {
            name: value for name, value in scored.value.items() if name != "verdict" and not math.isnan(value)
        }
        theirs_kinds[str(sample.id)] = scored.metadata["error_kinds"]
    rows = [
        Completion(problem_id=identity, model="m", parameters="p", text=answer(*held))
        for identity, held in problems.items()
    ]
    write_rows(tmp_path / "m.jsonl", rows)
    score("c3bench", completions=[tmp_path / "m.jsonl"], baseline="none", output=tmp_path / "run", select=select,
          html=False, as_json=True)  # fmt: skip
    ours: dict[str, dict[str, float]] = {}
    kinds: dict[str, list[str]] = {}
    for row in RunFolder(tmp_path / "run").scores():
        if row.model == "m" and row.scorer == ERROR_KINDS_SCORER:
            kinds[row.problem_id] = [name for name, value in row.values.items() if value]
        elif row.model == "m":
            ours.setdefault(row.problem_id, {}).update(row.values)
    assert theirs == ours
    assert theirs_kinds == {identity: kinds.get(identity, []) for identity in ours}
    assert {name for values in ours.values() for name in values} >= {"passed", "followed", "followed_lenient"}
    [column] = [one for one in summarise_run(load_run_folder(tmp_path / "run")).columns if not one.baseline]
    assert column.overall.pass_at[1].problems == len(problems)
    assert numbers(log)["pass@1"] == pytest.approx(column.overall.pass_at[1].value, rel=1e-14)
    assert column.coverage == 1.0
