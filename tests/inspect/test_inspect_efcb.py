"""``inspect eval caretbench/efcb``: the same numbers for choices as ours; of open answers measures, and no verdict."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog, read_eval_log

from caretbench.cli.score import score
from caretbench.files import write_rows
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.problem import ChoiceCheck, Completion, Problem
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.answer_kinds import ERROR_KINDS_SCORER
from caretbench.suites.efcb.problem_metadata import EfcbTask
from tests.support.efcb_changes import build_tasks
from tests.support.inspect_runs import answering, numbers, run

efcb = inspect_task("efcb")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def problems(tasks: Path) -> dict[str, Problem]:
    found = load_suite("efcb").load(str(tasks)).problems
    chosen: dict[str, Problem] = {}
    for task in dict.fromkeys(problem.label("task") for problem in found):
        members = [problem for problem in found if problem.label("task") == task]
        chosen |= {problem.id: problem for problem in members[:4]}
    return chosen


def answer(problem: Problem, epoch: int) -> str:
    """Right, said otherwise, wrong and unreadable, so that problems have different rates."""
    reference = problem.reference
    if not any(isinstance(check, ChoiceCheck) for check in problem.checks):
        return reference if epoch == 1 else reference[: len(reference) // 2]
    wrong = "ABCD"[("ABCD".index(reference) + 1) % 4]
    ways = (f"The answer is {reference}.", f"{reference} or {wrong}?", f"\\boxed{{{wrong}}}", reference)
    return ways[(int(problem.id[-2:], 16) + epoch) % 4]


@pytest.fixture(scope="module")
def log(tasks: Path, problems: dict[str, Problem], tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    model = answering(lambda identity, epoch: answer(problems[identity], epoch))
    task = efcb(data=str(tasks), select="id=" + "|".join(problems), samples=2)
    return run(task, model, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def folders(
    log: EvalLog, tasks: Path, problems: dict[str, Problem], tmp_path_factory: pytest.TempPathFactory
) -> list[RunFolder]:
    """The run that our score stage makes of the log, and one of the same answers that were never near Inspect."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [
        Completion(problem_id=identity, model="m", parameters="p", sample=epoch - 1, text=answer(problem, epoch))
        for identity, problem in problems.items()
        for epoch in (1, 2)
    ]
    write_rows(folder / "m.jsonl", rows)
    found = []
    for name, source in (("log", Path(log.location)), ("hand", folder / "m.jsonl")):
        score("efcb", data=str(tasks), completions=[source], baseline="none", output=folder / name,
              select="id=" + "|".join(problems), html=False, as_json=True)  # fmt: skip
        found.append(RunFolder(folder / name))
    return found


def rows_of(folder: RunFolder, problems: dict[str, Problem]) -> dict[tuple[str, int], dict[str, object]]:
    """All values of each answer to ``problems``."""
    rows: dict[tuple[str, int], dict[str, object]] = {}
    for row in folder.scores():
        if row.model != "reference" and row.problem_id in problems:
            kinds = [name for name, value in row.values.items() if value]
            found = {"error_kinds": kinds} if row.scorer == ERROR_KINDS_SCORER else row.values
            rows.setdefault((row.problem_id, row.sample), {}).update(found)
    return rows


def test_row_by_row_the_same(log: EvalLog, folders: list[RunFolder], problems: dict[str, Problem]) -> None:
    theirs = {}
    for sample in read_eval_log(log.location).samples or []:
        values, kinds = sample.scores["caret"].value, sample.scores["caret"].metadata["error_kinds"]
        theirs[str(sample.id), sample.epoch - 1] = {
            name: value for name, value in values.items() if name != "verdict" and not math.isnan(value)
        }
        if problems[str(sample.id)].labels["task"] == EfcbTask.MASKED:
            theirs[str(sample.id), sample.epoch - 1]["error_kinds"] = kinds
    assert len(theirs) == 2 * len(problems)
    assert theirs == rows_of(folders[0], problems) == rows_of(folders[1], problems)


def test_choices_have_one_rate_and_open_answers_none(
    log: EvalLog, folders: list[RunFolder], problems: dict[str, Problem]
) -> None:
    found = numbers(log)
    choices = [problem for problem in problems.values() if problem.label("task").startswith("gmcq")]
    for folder in folders:
        (column,) = (column for column in summarise_run(load_run_folder(folder.path)).columns if not column.baseline)
        assert column.overall.pass_at[1].value == pytest.approx(found["pass@1"], rel=1e-14)
        assert column.overall.pass_at[1].problems == len(choices)
    assert 0 < found["pass@1"] < 1
    assert 0 < found["invalid"] < 1
    assert found["coverage"] == 1.0
    assert found["excluded"] == len(problems) - len(choices)
    assert {"edit_similarity", "rouge_l", "names_unsupported"} <= set(found)


def test_the_log_shows_the_question_its_choices_and_the_letter(log: EvalLog, problems: dict[str, Problem]) -> None:
    for sample in read_eval_log(log.location).samples or []:
        problem = problems[str(sample.id)]
        assert str(sample.input).startswith(problem.shown.text)
        assert (sample.choices or []) == list(problem.shown.choices)
        assert sample.target == problem.reference
        assert sample.messages[-2].role == "user"


@pytest.mark.smoke
def test_a_prompt_for_carets_is_refused(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "mockllm/model")
    with pytest.raises(ValueError, match="are questions"):
        efcb(data=str(tasks), prompt="chat")
