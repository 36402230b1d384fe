"""The project's own tests, three times, before anything is cut out; and those among them that decide a task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.execution.types import Status
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.problem import Problem, TestsCheck
from caretbench.projects.project_check import (
    ProjectCheck,
    bounded,
    check_project,
    failing_tests,
    passed_tests,
)
from caretbench.projects.reach import Reach
from caretbench.projects.runners import reversed_order
from caretbench.projects.running import check_request, file_splice, project_key
from caretbench.projects.setup.commands import NamedCheck

_NAMED = 5


class BaseRuns(NamedTuple):
    """The checks that pass three times, with the time they take and the tests they run; and why others do not."""

    checks: tuple[NamedCheck, ...]
    dropped: dict[str, str]
    flaky: dict[str, tuple[str, ...]]
    """By check: tests that pass at times only, and are left out from now on."""
    order: dict[str, str]
    """By check: what fails when its tests run in another order."""
    projects: dict[str, ProjectCheck]
    """What came out, by the command as the gate asks for it."""


def base_runs(
    engine: WorkspaceEngine,
    snapshot: str,
    checks: Sequence[NamedCheck],
    progress: Callable[[int], None] = lambda _count: None,
) -> BaseRuns:
    """Run every check three times in the project as it is.

    Raises:
        DataError: the snapshot is not here, or damaged.
    """
    kept: list[NamedCheck] = []
    dropped: dict[str, str] = {}
    flaky: dict[str, tuple[str, ...]] = {}
    order: dict[str, str] = {}
    projects: dict[str, ProjectCheck] = {}
    for entry in checks:
        found = check_project(engine, check_request(entry.check, snapshot))
        if found.flaky:
            flaky[entry.name] = found.flaky
        if found.fault:
            dropped[entry.name] = entry.advised(found.fault)
        else:
            changes = {
                "command": found.request.command,
                "prepare": found.request.prepare,
                "reference_s": rounded(found.cpu_s),
                "minimum_tests": max(entry.check.minimum_tests, found.tests),
            }
            check = entry.check.model_copy(update=changes)
            kept.append(entry._replace(check=check))
            projects[project_key(check, snapshot)] = found
            said = _in_another_order(engine, found.request)
            if said:
                order[entry.name] = said
        progress(1)
    return BaseRuns(tuple(kept), dropped, flaky, order, projects)


def _in_another_order(engine: WorkspaceEngine, request: WorkspaceRequest) -> str:
    """What fails when the tests run in another order, twice; empty where nothing does, or no other order is known."""
    turned = reversed_order(request.model_copy(update={"id": "another order", "expected": None}))
    if turned is None:
        return ""
    for repeat in range(2):
        [result] = engine.submit([turned.model_copy(update={"repeat": repeat})])
        if not result.status.is_own_failure:
            return ""
    names = ", ".join(failing_tests(result)[:_NAMED])
    return f"in another order {names or 'its tests'} fail{'s' if names and ',' not in names else ''}"


MOST_TESTS: Final = 300
"""A task that more tests reach is decided by all of them: their names would be larger than the task."""


class Selected(NamedTuple):
    """Problems whose checks name tests, and what came out when those ran by themselves, by the command."""

    problems: tuple[Problem, ...]
    projects: Mapping[str, ProjectCheck]


def select_tests(
    engine: WorkspaceEngine, problems: Sequence[Problem], check: TestsCheck, reach: Reach
) -> Selected:
    """Give each problem the tests that reach it.

    A choice of tests runs once in the project as it is, by itself. Where it does not pass so, as many tests as were
    chosen, all tests decide.

    Raises:
        DataError: the snapshot is not here, or damaged.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for problem in problems:
        splice = file_splice(problem)
        tests = reach.tests_of(splice.path, splice.start, splice.end)
        if 0 < len(tests) <= MOST_TESTS:
            chosen[problem.id] = tests
    snapshots = {file_splice(problem).snapshot for problem in problems}
    distinct = [(snapshot, tests) for snapshot in snapshots for tests in dict.fromkeys(chosen.values())]
    fewest = min(1, check.minimum_tests)
    named = [check.model_copy(update={"tests": tests, "minimum_tests": fewest}) for _, tests in distinct]
    requests = [
        check_request(one, snapshot, identity=f"tests {n}")
        for n, (one, (snapshot, _)) in enumerate(zip(named, distinct, strict=True))
    ]
    results = {result.id: result for result in engine.submit(requests)}
    checks: dict[tuple[str, ...], TestsCheck] = {}
    projects: dict[str, ProjectCheck] = {}
    for (snapshot, tests), request in zip(distinct, requests, strict=True):
        result = results[request.id]
        passed = passed_tests(result)
        if result.status is not Status.PASSED or (check.minimum_tests and not passed):
            continue
        changes = {"tests": tests, "minimum_tests": passed, "reference_s": rounded(result.cpu_s)}
        checks[tests] = check.model_copy(update=changes)
        projects[project_key(checks[tests], snapshot)] = bounded(request, result)
    found = [
        problem.model_copy(update={"checks": (checks.get(chosen.get(problem.id, ()), check),)})
        for problem in problems
    ]
    return Selected(tuple(found), projects)


def rounded(cpu_s: float) -> float:
    """CPU seconds up to the next power of two, one at least.

    No two runs take the same time, and a project mined twice is to give the same tasks.
    """
    return float(2 ** math.ceil(math.log2(max(cpu_s, 1.0))))
