"""Which tests decide a task: those that reach its span, where that is known and they pass without the others, too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.execution.types import Status
from caretbench.execution.workspaces.engine import WorkspaceEngine
from caretbench.execution.workspaces.workspace import WorkspaceRequest
from caretbench.problem import Problem, TestsCheck
from caretbench.projects.project_check import ProjectCheck, bounded, passed_tests
from caretbench.projects.reach import Reach
from caretbench.projects.running import check_request, file_splice, project_key

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

    Args:
        engine: Runs them.
        problems: Problems of one check.
        check: That check.
        reach: What its tests reach.

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
    requests = [
        _request(check, tests, snapshot, f"tests {n}") for n, (snapshot, tests) in enumerate(distinct)
    ]
    results = {result.id: result for result in engine.submit(requests)}
    checks: dict[tuple[str, ...], TestsCheck] = {}
    projects: dict[str, ProjectCheck] = {}
    for (snapshot, tests), request in zip(distinct, requests, strict=True):
        result = results[request.id]
        passed = passed_tests(result)
        if result.status is not Status.PASSED or (check.minimum_tests and not passed):
            continue
        changes = {"tests": tests, "minimum_tests": passed, "golden_s": rounded(result.cpu_s)}
        checks[tests] = check.model_copy(update=changes)
        projects[project_key(checks[tests], snapshot)] = bounded(request, result)
    found = [
        problem.model_copy(update={"checks": (checks.get(chosen.get(problem.id, ()), check),)})
        for problem in problems
    ]
    return Selected(tuple(found), projects)


def _request(check: TestsCheck, tests: tuple[str, ...], snapshot: str, identity: str) -> WorkspaceRequest:
    named = check.model_copy(update={"tests": tests, "minimum_tests": min(1, check.minimum_tests)})
    return check_request(named, snapshot, identity=identity)


def rounded(cpu_s: float) -> float:
    """CPU seconds up to the next power of two, one at least.

    No two runs take the same time, and a project mined twice is to give the same tasks.
    """
    return float(2 ** math.ceil(math.log2(max(cpu_s, 1.0))))
