"""Validation of a project: its own tests must pass three times on the unchanged project.

Every run starts from a copy of the same snapshot. Detected faults: tests that fail, hang, need the network or a
package, flaky tests, and commands that run no test. Single tests that fail can be excluded. If some runs fail, all are
repeated one at a time, since the cause may be a busy machine; tests are called flaky only if one of those fails too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from caretbench.build.projects.failure_reasons import failure_reason, first_error, no_tests_reason, runs_no_test
from caretbench.build.projects.test_outcomes import (
    all_failures_request,
    failing_names,
    outcomes_by_test,
    with_slow_tests_named,
)
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.command_results import console_test_count
from caretbench.execution.workspaces.project_tools import runs_java_tests
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, limits_from_cpu_time
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.projects.runner_options import with_excluded_tests

# A test that fails in every fifth run shows in three runs with 49 %, in two with 36.
RUNS = 3
_MIN_CPU_S = 4.0  # minimum limit; low, because every endless loop costs this much
_REBUILD_SHARE = 0.3
"""Share of the time without preparation that limits assume at least (they are 5 times that): a full rebuild fits."""
_MIN_WALL_S, _WALL_FACTOR = 10.0, 10.0
_LONG_RUN_S = 5.0
"""Wall time of a run from which on it matters which tests are slow."""
_SLOW_S, _SLOW_FACTOR = 0.25, 4.0
"""Seconds of a slow test, at least, and as a multiple of the median."""
_NAMED = 5
_ROUNDS = 3
"""Maximum number of times that failing tests are excluded: without some tests, others may fail."""
_EXCLUDABLE = frozenset({"tests_fail", "tests_need_network", "missing_dependency", "missing_file"})
"""Faults that single tests may cause."""
_NOT_BUILT = ("does_not_compile:", "missing_dependency:", "missing_file:")
"""Faults that are the same in each run."""


class ProjectCheck(NamedTuple):
    """Result of a project's own tests on the unchanged project.

    Args:
        request: The command for answers: with limits from the measured time, with the minimum number of tests, and
            without flaky tests.
        fault: The reason why the project cannot check answers, as ``kind: explanation``; empty if it can.
        is_machine_fault: The cause of the fault is this machine, such as a missing bundle or toolchain.
        flaky_tests: Names of flaky tests, which are excluded.
        failing_tests: Tests that fail on the unchanged project, with their errors; they are excluded.
        passed_alone: Tests (or an explanation) that failed in parallel runs, but passed each time alone.
        test_count: Number of passed tests, from reports or the runner's output; 0 if unknown.
        cpu_s: Maximum CPU seconds of a run; less if preparation saves time.
        wall_s: Maximum wall time of a run in seconds.
        slow_tests: Names of tests that take most of the time, if the runner reports times.
        accesses: Accesses of the watched run; None if it was not seen.
    """

    request: WorkspaceRequest
    fault: str = ""
    is_machine_fault: bool = False
    flaky_tests: tuple[str, ...] = ()
    failing_tests: Mapping[str, str] = {}
    passed_alone: tuple[str, ...] = ()
    test_count: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    slow_tests: tuple[str, ...] = ()
    accesses: tuple[str, ...] | None = None

    @property
    def excluded_tests(self) -> tuple[str, ...]:
        """Names of all excluded tests."""
        return tuple(sorted({*self.flaky_tests, *self.failing_tests}))


def check_project(
    engine: WorkspaceEngine, request: WorkspaceRequest, *, runs: int = RUNS, exclude_failing: bool = False
) -> ProjectCheck:
    """Run the tests of an unchanged project ``runs`` times and return the result.

    With ``exclude_failing``, tests that fail are excluded, if the runner can do that and at least as many tests pass.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    # The first run is without preparation, so that its time is that of a full build; in C++ each costs minutes.
    plain, full_builds = request.model_copy(update={"prepare": ()}), 1 if request.prepare else runs
    [first] = engine.submit(_repetitions(plain, runs))
    early = _first_failure(plain, first) if exclude_failing else None
    check = early or _without_flaky(engine, plain, full_builds, first)
    if exclude_failing:
        check = _without_failing(engine, plain, full_builds, check)
    if check == early:  # no test was excluded
        check = _without_flaky(engine, plain, runs, first)
    return _prepared(engine, check, request.prepare, runs) if request.prepare and not check.fault else check


def _first_failure(request: WorkspaceRequest, first: WorkspaceResult) -> ProjectCheck | None:
    """Return the fault of the first run, if excluding tests may remove it: further runs would tell no more."""
    if not first.status.is_own_failure:
        return None
    check = ProjectCheck(request, failure_reason(first), cpu_s=first.cpu_s, wall_s=first.wall_s)
    return check if check.fault.partition(":")[0] in _EXCLUDABLE else None


def _without_failing(
    engine: WorkspaceEngine, request: WorkspaceRequest, runs: int, check: ProjectCheck
) -> ProjectCheck:
    """Return the check without the tests that fail; the check as it was if they cannot be excluded."""
    failing: dict[str, str] = {}
    for _ in range(_ROUNDS):
        if not _may_be_excluded(check.fault, request):
            break
        remaining = with_excluded_tests(request, tuple(failing)) or request
        everything = all_failures_request(with_slow_tests_named(remaining))
        [result] = engine.submit([everything.model_copy(update={"id": "project failures"})])
        if result.status is Status.TIMEOUT:
            return check._replace(fault=failure_reason(result))
        failed, passed = _failed_and_passed(result)
        without = with_excluded_tests(request, (*failing, *failed))
        if not failed or not passed or without is None:
            break
        failing |= failed
        # With more failing than passing tests, the set-up is at fault, and the few that pass check little.
        if passed < len(failing):
            if check.fault.startswith(_NOT_BUILT):
                return check
            named = "; ".join(f"{name} ({error})" for name, error in list(failing.items())[:_NAMED])
            return check._replace(fault=f"tests_fail: {len(failing)} fail and {passed} pass: {named}")
        check = _without_flaky(engine, without, runs)
    return check._replace(failing_tests=failing)


def _may_be_excluded(fault: str, request: WorkspaceRequest) -> bool:
    """Return whether the project may have no such fault without some of its tests."""
    kind = fault.partition(":")[0]
    # Our Java command names the files that do not compile; another runner would only compile once more.
    return kind in _EXCLUDABLE or (kind == "does_not_compile" and runs_java_tests(request.command))


def _failed_and_passed(result: WorkspaceResult) -> tuple[dict[str, str], int]:
    """Return the first error of each failing test, by name, and the number of tests that pass."""
    outcomes = outcomes_by_test(result)
    bad = [test for test in outcomes.values() if test.outcome in ("failed", "error")]
    failed = {test.name: first_error(test.message) for test in bad}
    # Some runners name only failing tests, and count them among all; Java files that do not compile are none.
    counted = max(0, passed_test_count(result) - sum(not name.endswith(".java") for name in failed))
    return failed, sum(test.outcome == "passed" for test in outcomes.values()) or counted


def _prepared(engine: WorkspaceEngine, check: ProjectCheck, prepare: tuple[str, ...], runs: int) -> ProjectCheck:
    """Return the check with the preparing command, if the other runs pass with it; else that of runs without it.

    Limits leave time for a full rebuild, which an answer can cause.
    """
    request = check.request.model_copy(update={"prepare": prepare})
    prepared = _without_flaky(engine, request, max(1, runs - 1))
    if prepared.fault:
        plain = check if runs == 1 else _without_flaky(engine, check.request, runs)
        flaky = {*check.flaky_tests, *plain.flaky_tests}
        return plain._replace(failing_tests=check.failing_tests, flaky_tests=tuple(sorted(flaky)))
    flaky = {*check.flaky_tests, *prepared.flaky_tests}
    # An answer can change a file that everything includes, so part of a full build's time stays allowed.
    cpu_s, wall_s = (
        min(full, max(_REBUILD_SHARE * full, with_it))
        for full, with_it in ((check.cpu_s, prepared.cpu_s), (check.wall_s, prepared.wall_s))
    )
    limits = limits_from_cpu_time(cpu_s, min_s=_MIN_CPU_S, min_limits=check.request.limits)
    changed = prepared.request.model_copy(update={"limits": limits})
    return check._replace(
        request=changed, cpu_s=cpu_s, wall_s=wall_s, flaky_tests=tuple(sorted(flaky)), accesses=prepared.accesses
    )


def _without_flaky(
    engine: WorkspaceEngine, request: WorkspaceRequest, runs: int, first: WorkspaceResult | None = None
) -> ProjectCheck:
    check = _check(engine, request, runs, first)
    flaky = check.flaky_tests
    without = with_excluded_tests(request, flaky) if flaky else None
    if without is None:
        return check
    again = _check(engine, without, runs)
    return again if again.fault else again._replace(flaky_tests=flaky)


def _check(
    engine: WorkspaceEngine, request: WorkspaceRequest, runs: int, first: WorkspaceResult | None = None
) -> ProjectCheck:
    """Return the check by ``runs`` runs, of which the first may have ended."""
    # Twice as many: the second half runs one at a time where only some runs passed.
    repeated = _repetitions(request, runs, 2 * runs)
    [first_result] = [first] if first is not None else engine.submit(repeated[:1])
    reason = failure_reason(first_result) if first_result.status is not Status.PASSED else ""
    # The others would take as long, or compile as little.
    if first_result.status is Status.TIMEOUT or reason.startswith(_NOT_BUILT):
        return ProjectCheck(request, reason, cpu_s=first_result.cpu_s, wall_s=first_result.wall_s)
    results = [first_result, *sorted(engine.submit(repeated[1:runs]), key=lambda result: result.id)]
    return _check_of_runs(engine, request, results, repeated[runs:])


def _repetitions(request: WorkspaceRequest, runs: int, count: int = 1) -> list[WorkspaceRequest]:
    """Return repetitions of the tests; the last of ``runs`` is watched."""
    named = with_slow_tests_named(request)
    changes = ({"repeat": n, "id": f"project {n}", "watched": n == runs - 1} for n in range(count))
    return [named.model_copy(update=change) for change in changes]


def _check_of_runs(
    engine: WorkspaceEngine,
    request: WorkspaceRequest,
    results: Sequence[WorkspaceResult],
    repetitions: Sequence[WorkspaceRequest],
) -> ProjectCheck:
    """Return the check by the results of its runs; ``repetitions`` run one at a time if only some of them passed."""
    failed = _not_passed(results)
    passed_alone: tuple[str, ...] = ()
    if 0 < len(failed) < len(results):
        first = results
        results = [result for repetition in repetitions for result in engine.submit([repetition])]
        if _not_passed(results):
            failed, results = _not_passed([*first, *results]), [*first, *results]
        else:
            passed_alone, failed = _names(failed) or (failure_reason(failed[0]),), []
    cpu_s = max(result.cpu_s for result in results)
    wall_s = max(result.wall_s for result in results)
    if not failed:
        if all(runs_no_test(result) for result in results):
            return ProjectCheck(request, no_tests_reason(results[0]))
        return passing_check(request, *results)._replace(passed_alone=passed_alone)
    ours = all(result.status.is_machine_fault for result in failed)
    if ours or len(failed) == len(results):
        return ProjectCheck(request, failure_reason(failed[0]), ours, cpu_s=cpu_s, wall_s=wall_s)
    names = _names(failed)
    failures = ", ".join(names[:_NAMED]) or failure_reason(failed[0])
    passed = len(results) - len(failed)
    fault = f"tests_flaky: {passed} of {len(results)} runs pass; not always: {failures}"
    return ProjectCheck(request, fault, flaky_tests=names, cpu_s=cpu_s, wall_s=wall_s)


def passing_check(request: WorkspaceRequest, *passed: WorkspaceResult) -> ProjectCheck:
    """Return the result of runs that all passed: their number of tests is required, limits follow from their time."""
    cpu_s = max(result.cpu_s for result in passed)
    tests = min(passed_test_count(result) for result in passed)
    limits = limits_from_cpu_time(cpu_s, min_s=_MIN_CPU_S, min_limits=request.limits)
    wall_s = max(result.wall_s for result in passed)
    waiting = {"wall_s": min(limits.wall_s, max(_MIN_WALL_S, _WALL_FACTOR * math.ceil(wall_s)))}
    limits = limits.model_copy(update=waiting)  # an answer that waits for ever uses no CPU time
    changes = {"limits": limits, "minimum_tests": max(request.minimum_tests, tests)}
    slow = slow_tests(passed[0]) if wall_s >= _LONG_RUN_S else ()
    accesses = next((result.accesses for result in passed if result.accesses is not None), None)
    return ProjectCheck(
        request.model_copy(update=changes), test_count=tests, cpu_s=cpu_s, wall_s=wall_s, slow_tests=slow,
        accesses=accesses,
    )  # fmt: skip


def slow_tests(result: WorkspaceResult) -> tuple[str, ...]:
    """Return the tests that each take much longer than the others, if they take most of the time together."""
    tests = [test for test in result.tests if test.outcome == "passed"]
    if not tests:
        return ()
    # In p-queue, 49 of 206 tests took 68.6 of 83.9 s.
    least = max(_SLOW_S, _SLOW_FACTOR * median(test.seconds for test in tests))
    slow = {test.name: test.seconds for test in tests if test.seconds >= least}
    total = sum(test.seconds for test in tests)
    return tuple(sorted(slow)) if sum(slow.values()) >= total / 2 else ()


def _not_passed(results: Sequence[WorkspaceResult]) -> list[WorkspaceResult]:
    return [result for result in results if result.status is not Status.PASSED]


def _names(failed: Sequence[WorkspaceResult]) -> tuple[str, ...]:
    return tuple(sorted({name for result in failed for name in failing_names(result)}))


def passed_test_count(result: WorkspaceResult) -> int:
    """Return the number of passed tests, from reports or the runner's output; 0 if unknown."""
    if result.tests:
        return result.test_counts.passed
    return console_test_count(result.stdout.text, result.stderr.text) or 0
