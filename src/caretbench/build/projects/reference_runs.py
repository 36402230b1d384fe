"""Runs of a project's tests on the unchanged project, and selection of the tests that check each task."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.projects.project_check import ProjectCheck, check_project, passed_test_count, passing_check
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.setup.command_detection import NamedCheck
from caretbench.build.projects.test_outcomes import failing_names, with_reversed_order
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.files import sha256_text
from caretbench.problem import Problem, TestsCheck
from caretbench.projects.answer_requests import check_key, check_request, file_splice, get_tests_check
from caretbench.projects.runner_options import SEARCH_PATH, runs_pytest, with_test_files

_NAMED = 5
_BUDGET_S: Final = 60.0
"""CPU seconds of the test files of a suite above the limit of a command (120): half of it, as answers may be slower."""
_SEARCH_S: Final = 180.0
"""CPU seconds after which no further test file is tried."""
_FILLED: Final = 0.9
_MIN_CPU_S: Final = 2.0


class ReferenceRuns(NamedTuple):
    """Results of a project's checks: those that pass three times, with CPU time and number of tests; and the others."""

    checks: tuple[NamedCheck, ...]
    excluded_checks: dict[str, str]
    flaky_tests: dict[str, tuple[str, ...]]
    """Flaky tests by check; they are excluded."""
    failing_tests: dict[str, Mapping[str, str]]
    """Tests that fail on the unchanged project by check, with their errors; they are excluded."""
    order_dependent: dict[str, str]
    """Failing tests by check, if its tests fail in another order."""
    project_checks: dict[str, ProjectCheck]
    """Results by :func:`~caretbench.projects.answer_requests.check_key`, for the gate."""
    omitted_files: dict[str, tuple[str, ...]]
    """Test files by check that do not run, because all together exceed the limit of a command."""

    def confirms(self, fewer: ReferenceRuns) -> bool:
        """Return whether fewer runs of the same checks gave the same but for the time."""
        mine, others = (
            [entry.check.model_copy(update={"reference_s": None}) for entry in runs.checks] for runs in (self, fewer)
        )
        return mine == others and len(self.project_checks) == len(fewer.project_checks)


def no_runs() -> ReferenceRuns:
    """Return the results of a project without checks."""
    return ReferenceRuns((), {}, {}, {}, {}, {}, {})


def run_checks(
    engine: WorkspaceEngine,
    snapshot: str,
    checks: Sequence[NamedCheck],
    progress: Callable[[int], None] = lambda _count: None,
    *,
    exclude_failing: bool = True,
    test_files: Sequence[str] = (),
) -> ReferenceRuns:
    """Run every check three times on the unchanged project; tests that fail are excluded unless told otherwise.

    Of a suite that exceeds the limit of a command, as many of ``test_files`` run as the budget holds.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    runs = no_runs()
    kept: list[NamedCheck] = []
    for entry in checks:
        result = check_project(engine, check_request(entry.check, snapshot), exclude_failing=exclude_failing)
        fewer = (
            _within_budget(engine, entry.check, snapshot, test_files) if result.fault.startswith("tests_hang") else None
        )
        if fewer is not None:
            check, runs.omitted_files[entry.name] = fewer
            entry = entry._replace(check=check)
            result = check_project(engine, check_request(entry.check, snapshot), exclude_failing=exclude_failing)
        if result.failing_tests:
            runs.failing_tests[entry.name] = result.failing_tests
        if result.flaky_tests:
            runs.flaky_tests[entry.name] = result.flaky_tests
        if result.fault:
            fault, command = entry.with_hint(result.fault), command_line(entry.check.command)
            runs.excluded_checks[entry.name] = f"{fault}; the command: `{command}`"
        else:
            changes = {
                "excluded_tests": (*entry.check.excluded_tests, *result.excluded_tests),
                "prepare": result.request.prepare,
                "reference_s": rounded_cpu_s(result.cpu_s),
                "minimum_tests": max(entry.check.minimum_tests, result.test_count),
            }
            check = entry.check.model_copy(update=changes)
            kept.append(entry._replace(check=check))
            runs.project_checks[check_key(check, snapshot)] = result
            failure = _in_another_order(engine, result.request)
            if failure:
                runs.order_dependent[entry.name] = failure
        progress(1)
    return runs._replace(checks=tuple(kept))


def _within_budget(
    engine: WorkspaceEngine, check: TestsCheck, snapshot: str, files: Sequence[str]
) -> tuple[TestsCheck, tuple[str, ...]] | None:
    """Return the check with as many test files as the budget holds, and the other files.

    They are taken one by one in a fixed order without bias. None if its runner cannot be given files, or none of them
    passes alone.
    """
    kept: list[str] = []
    kept_s = tried_s = 0.0
    # zod's tests are all green, and take more than two minutes of CPU: some files decide, the same in each build.
    for path in sorted(files, key=sha256_text):
        alone = _with_only_files(check, (path,), files)
        if alone is None:
            return None
        request = check_request(alone, snapshot, identity=f"file {path}")
        limits = request.limits.model_copy(update={"cpu_s": _BUDGET_S - kept_s})
        [result] = engine.submit([request.model_copy(update={"limits": limits})])
        tried_s += result.cpu_s
        if result.status is Status.PASSED:
            kept.append(path)
            kept_s += result.cpu_s
        if kept_s > _FILLED * _BUDGET_S or tried_s > _SEARCH_S:
            break
    fewer = _with_only_files(check, kept, files) if kept else None
    return (fewer, tuple(sorted({*files} - {*kept}))) if fewer is not None else None


def _with_only_files(check: TestsCheck, kept: Sequence[str], files: Sequence[str]) -> TestsCheck | None:
    """Return the check that runs only some test files; None if its runner cannot be told."""
    if runs_pytest(check.command):
        return check.model_copy(update={"excluded_tests": (*check.excluded_tests, *sorted({*files} - {*kept}))})
    command = with_test_files(check.command, kept, files)
    # What is prepared runs all tests.
    return None if command is None else check.model_copy(update={"command": command, "prepare": ()})


def command_line(command: Sequence[str]) -> str:
    """Return a command as a user types it: without the shell that runs it."""
    line = command[2] if len(command) == 3 and command[1] == "-c" else shlex.join(command)
    return line.removeprefix(SEARCH_PATH)


def _in_another_order(engine: WorkspaceEngine, request: WorkspaceRequest) -> str:
    """Return the tests that fail in another order, twice; empty if none does or the runner has no such option."""
    turned = with_reversed_order(request.model_copy(update={"id": "another order", "expected": None}))
    if turned is None:
        return ""
    # Twice, so that a flaky test is not taken for one that depends on the order.
    for repeat in range(2):
        [result] = engine.submit([turned.model_copy(update={"repeat": repeat})])
        if not result.status.is_own_failure:
            return ""
    names = ", ".join(failing_names(result)[:_NAMED])
    return f"in another order {names or 'its tests'} fail{'s' if names and ',' not in names else ''}"


class ProblemsWithTests(NamedTuple):
    """Problems whose checks name their tests, and the results of runs with only these tests, by check key."""

    problems: tuple[Problem, ...]
    project_checks: Mapping[str, ProjectCheck]


def run_named_tests(
    engine: WorkspaceEngine, problems: Sequence[Problem], chosen: Mapping[str, tuple[str, ...]]
) -> ProblemsWithTests:
    """Return the problems with the tests ``chosen`` for each of them, by id; the others stay as they are.

    Each distinct set of tests runs once, alone, on the unchanged project. If it does not pass, all tests check the
    problem.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    if not problems:
        return ProblemsWithTests((), {})
    check = get_tests_check(problems[0])
    snapshots = {file_splice(problem).snapshot for problem in problems}
    distinct = [(snapshot, tests) for snapshot in snapshots for tests in dict.fromkeys(chosen.values())]
    fewest = min(1, check.minimum_tests)
    named = [check.model_copy(update={"tests": tests, "minimum_tests": fewest}) for _, tests in distinct]
    requests = [
        check_request(selected, snapshot, identity=f"tests {n}")
        for n, (selected, (snapshot, _)) in enumerate(zip(named, distinct, strict=True))
    ]
    watched = (request.model_copy(update={"watched": True}) for request in requests)
    results = {result.id: result for result in engine.submit(watched)}
    checks: dict[tuple[str, ...], TestsCheck] = {}
    projects: dict[str, ProjectCheck] = {}
    for (snapshot, tests), request in zip(distinct, requests, strict=True):
        result = results[request.id]
        passed = passed_test_count(result)
        if result.status is not Status.PASSED or (check.minimum_tests and not passed):
            continue
        changes = {"tests": tests, "minimum_tests": passed, "reference_s": rounded_cpu_s(result.cpu_s)}
        checks[tests] = check.model_copy(update=changes)
        projects[check_key(checks[tests], snapshot)] = passing_check(request, result)
    changed = []
    for problem in problems:
        check_of_problem = checks.get(chosen.get(problem.id, ()), get_tests_check(problem))
        changed.append(problem.model_copy(update={"checks": (check_of_problem,)}))
    return ProblemsWithTests(tuple(changed), projects)


def without_slow_tests(
    engine: WorkspaceEngine,
    problems: Sequence[Problem],
    check: TestsCheck,
    reach: StatementReach,
    slow_tests: Sequence[str],
    *,
    store: SnapshotStore | None = None,
) -> ProblemsWithTests:
    """Return the problems, without slow tests in their checks if faster ones reach the same statements.

    The other tests run once on the unchanged project and once with instrumentation. All problems keep all tests if the
    runner cannot exclude single tests, or the others do not pass alone.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    unchanged = ProblemsWithTests(tuple(problems), {})
    if not slow_tests or not problems:
        return unchanged
    snapshot = file_splice(problems[0]).snapshot
    excluded = (*check.excluded_tests, *slow_tests)
    fewest = min(1, check.minimum_tests)
    try:
        request = check_request(
            check.model_copy(update={"excluded_tests": excluded, "minimum_tests": fewest}), snapshot
        )
    except DataError:  # the runner cannot exclude single tests
        return unchanged
    [result] = engine.submit([request.model_copy(update={"id": "fast tests", "watched": True})])
    passed = passed_test_count(result)
    if result.status is not Status.PASSED or (check.minimum_tests and not passed):
        return unchanged
    changes = {"excluded_tests": excluded, "minimum_tests": passed, "reference_s": rounded_cpu_s(result.cpu_s)}
    fast = check.model_copy(update=changes)
    paths = {file_splice(problem).path for problem in problems}
    faster = measure_reach(engine, check_request(fast, snapshot), paths, store=store)
    changed = []
    for problem in problems:
        splice = file_splice(problem)
        enough = faster.covers(reach, splice.path, splice.start, splice.end)
        changed.append(problem.model_copy(update={"checks": (fast,)}) if enough else problem)
    return ProblemsWithTests(tuple(changed), {check_key(fast, snapshot): passing_check(request, result)})


def rounded_cpu_s(cpu_s: float) -> float:
    """Return CPU seconds rounded up to a power of two, so that mining twice gives the same tasks.

    At least 2: the limits of answers are the same for all shorter times.
    """
    return float(2 ** math.ceil(math.log2(max(cpu_s, _MIN_CPU_S))))
