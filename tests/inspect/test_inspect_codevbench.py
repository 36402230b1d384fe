"""``inspect eval caretbench/codevbench``: the same numbers as those of the suite's own command."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.suites import load_suite
from tests.support.inspect_runs import answering, numbers, run

codevbench = inspect_task("codevbench")


@pytest.mark.dear
def test_the_deciding_tests_decide(tmp_path: Path) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    problems = load_suite("codevbench").load("starter").problems
    right, wrong = (next(one for one in problems if one.label("scenario") == name) for name in ("rag", "full_block"))
    nothing = next(one for one in problems if one.label("answer") == "empty")
    chosen = "|".join(one.id for one in (right, wrong, nothing))
    task = codevbench(select=f"id={chosen}", prompt="left-to-right", policy="raw")
    answers = {right.id: right.reference, wrong.id: "(", nothing.id: "\n    return None"}
    log = run(task, answering(lambda identity, _epoch: answers[identity]), tmp_path)
    found = numbers(log)
    assert found["pass@1"] == pytest.approx(1 / 3)
    assert (found["coverage"], found["excluded"]) == (1.0, 0)
