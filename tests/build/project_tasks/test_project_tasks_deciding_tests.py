"""Tests that decide: those that fail a wrong answer, and the choice of some of them within a budget."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from caretbench.build.project_tasks.deciding_tests import TrialOfTests, _SuiteTimes, failing_tests
from caretbench.build.projects.test_outcomes import TEST_LOG
from caretbench.execution.execution_types import ResultFile, Status
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS
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


def times(**cpu_s: float) -> _SuiteTimes:
    by_name = {next(test for test in TESTS if test.endswith(name)): one for name, one in cpu_s.items()}
    return _SuiteTimes(2.0, 3.0, by_name, by_name)


def test_all_tests_decide_within_the_budget_and_above_it_those_that_fail_most() -> None:
    one, two, three, four = TESTS
    failing: list[tuple[Literal["mask", "removed", "mutant"], dict[str, float]]] = [
        ("mask", {one: 1.0, two: 1.0}),
        ("removed", {three: 1.0}),
        ("mutant", {two: 1.0}),
        ("mutant", {four: 1.0}),
    ]
    trial = TrialOfTests(make_problem(), TESTS, by_kills=True, kills=[*failing])
    suite = times(one=0.25, two=0.25, three=2.0, four=0.25)
    assert trial.chosen(suite, 4.0) == TESTS
    # The removed construct fails whatever that costs; the mutants then have no budget.
    assert trial.chosen(suite, 1.0) == (one, three)
    assert trial.labels((one, three)) == {"kills_kept": 0.5, "construct_removed": "noticed"}
    suite = times(one=0.25, two=0.25, three=0.25, four=0.25)
    assert trial.chosen(suite, 0.8) == (one, two, three)
    trial.passing["removed"] += 1
    assert trial.labels(TESTS) == {"kills_kept": 1.0, "construct_removed": "unnoticed"}


def test_tests_of_a_model_decide_only_where_the_others_notice_no_mask() -> None:
    own, written = "a.py::one", "caretbench_written/test_a.py::test_one"
    trial = TrialOfTests(make_problem(), (own, written), by_kills=True, kills=[("mask", {own: 1.0, written: 1.0})])
    assert trial.chosen(_SuiteTimes(), 0.5) == (own,)
    trial.kills.append(("mask", {written: 1.0}))
    assert trial.chosen(_SuiteTimes(), 0.5) == (own, written)


def test_limits_follow_from_the_time_of_the_deciding_tests() -> None:
    suite = times(one=1.5, two=0.5)
    request = WorkspaceRequest(id="r", snapshot="s", command=("pytest",), limits=WORKSPACE_LIMITS)
    assert suite.bounded(request, TESTS[1:]).limits.wall_s == 20  # 3.0 s of all without the 1.5 s of one
    assert suite.bounded(request, ()).limits.wall_s == 30
    assert suite.bounded(request, TESTS[1:]).limits.cpu_s < request.limits.cpu_s
