"""``inspect eval caretbench/simcopilot``: the project's tests decide, and ``context`` is honoured."""

from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.inspect.tasks.inspect_logs import InspectLog
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.suites import load_suite
from tests.support.inspect_runs import answering, numbers, run

simcopilot = inspect_task("simcopilot")


@pytest.fixture(scope="module")
def house():
    return load_suite("simcopilot").load("starter")


def test_the_context_is_shown_and_stands_in_the_settings(house, tmp_path: Path) -> None:
    problem = next(one for one in house.problems if one.caret.path == "wayfarer/timetable.py")
    reference = answering(lambda _identity, _epoch: problem.reference)
    parameters = {}
    for context in (None, "as_is", "retrieval"):
        task = simcopilot(select=f"id={problem.id}", prompt="left-to-right", context=context, execute=False)
        log = run(task, reference, tmp_path / str(context))
        [sample] = read_eval_log(log.location).samples or []
        [shown] = [message.text for message in sample.messages if message.role == "user"]
        assert shown.startswith("# wayfarer/") is (context == "retrieval")
        rows = InspectLog(Path(log.location), "simcopilot", house.hash)
        [row] = rows.completions({problem.id})
        [info] = rows.models.values()
        assert info.settings.get("context") == ("retrieval@2" if context == "retrieval" else None)
        parameters[context] = row.parameters
    assert parameters[None] == parameters["as_is"] != parameters["retrieval"]


def test_the_projects_tests_decide(house, tmp_path: Path) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    right, wrong = [one for one in house.problems if one.caret.path == "wayfarer/heap.py"][:2]
    task = simcopilot(select=f"id={right.id}|{wrong.id}", prompt="left-to-right", policy="raw")
    log = run(task, answering(lambda identity, _epoch: right.reference if identity == right.id else "("), tmp_path)
    found = numbers(log)
    assert (found["pass@1"], found["coverage"], found["excluded"]) == (0.5, 1.0, 0)
    assert "parses" not in found


@pytest.mark.smoke
def test_a_context_that_is_not_known_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ValueError, match=r"'everything': simcopilot .*as_is"):
        simcopilot(context="everything")


def test_blanks_before_the_caret_are_taken_off_the_answer(house, tmp_path: Path) -> None:
    problem = next(one for one in house.problems if one.caret.prefix.rpartition("\n")[2].endswith(("if ", "= ")))
    task = simcopilot(select=f"id={problem.id}", prompt="left-to-right", execute=False)
    log = run(task, answering(lambda _identity, _epoch: " " + problem.reference), tmp_path)
    [row] = InspectLog(Path(log.location), "simcopilot", house.hash).completions({problem.id})
    assert row.text == problem.reference
