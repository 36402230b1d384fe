"""Tests that fail under a mask, from the result of its run."""

from __future__ import annotations

import json

import pytest

from caretbench.execution.execution_types import ResultFile, Status
from caretbench.execution.workspaces.workspace_request import WorkspaceResult
from caretbench.projects.runner_options import TEST_LOG
from caretbench.suites.codevbench.build.mask_runs import MaskTrial, failing_tests
from tests.support.make_problem import make_problem

TESTS = ("a.py::one", "a.py::two", "b.py::three", "b.py::four")


def result(status: Status, **outcomes: str) -> WorkspaceResult:
    rows = [
        {"test": next(test for test in (*TESTS, "b.py") if test.endswith(name)), "outcome": outcome,
         "message": "", "seconds": 0.5}
        for name, outcome in outcomes.items()
    ]  # fmt: skip
    log = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return WorkspaceResult(id="mask", status=status, files=(ResultFile(path=TEST_LOG, pattern=TEST_LOG, data=log),))


@pytest.mark.parametrize(
    ("status", "outcomes", "failing"),
    [
        (Status.FAILED, {"one": "passed", "two": "failed", "three": "passed", "four": "error"}, ["two", "four"]),
        (Status.FAILED, {"one": "passed", "two": "failed", "four": "passed"}, ["two"]),
        (Status.RUNTIME_ERROR, {"one": "passed"}, ["two"]),
        (Status.TIMEOUT, {"one": "passed"}, ["two"]),
        (Status.TIMEOUT, {"one": "failed"}, ["one", "two"]),
        (Status.TIMEOUT, {}, ["one"]),
        (Status.FAILED, {}, ["one", "two", "three", "four"]),
        (Status.FAILED, {"one": "passed", "two": "passed", "b.py": "error"}, ["three", "four"]),
    ],
)
def test_tests_that_never_ran_do_not_fail(status: Status, outcomes: dict[str, str], failing: list[str]) -> None:
    found = failing_tests(result(status, **outcomes), TESTS)
    assert [name.rpartition("::")[2] for name in sorted(found, key=TESTS.index)] == failing


def test_among_equally_fast_tests_the_nearest_comes_first() -> None:
    problem = make_problem()
    seconds = {"a.py::one": 0.01, "a.py::two": 0.2, "b.py::three": 30.0, "b.py::four": 0.02}
    trial = MaskTrial(problem, TESTS, (), [seconds], {"a.py::two": 1, "b.py::three": 1, "b.py::four": 2})
    assert trial.decisive() == ("a.py::two", "b.py::four", "a.py::one", "b.py::three")
