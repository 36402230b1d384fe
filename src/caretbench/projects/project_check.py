"""Validation of a project: its own tests must pass three times on the unchanged project.

Every run starts from a copy of the same snapshot. Detected faults: tests that fail, hang, need the network or a
package, flaky tests, and commands that run no test. If some runs fail, all are repeated one at a time, since the cause
may be a busy machine; tests are called flaky only if one of those fails too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from caretbench.execution.classification import missing_modules, reports_compile_error
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.command_results import console_test_count
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, limits_from_cpu_time
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult

RUNS = 3
_LEAST_CPU_S = 4.0  # minimum limit; low, because every endless loop costs this much
_REBUILD_SHARE = 0.3
"""Share of the time without preparation that limits assume at least (they are 5 times that): a full rebuild fits."""
_NAMED = 5
_TAIL_LINES = 3
_MISSING = 8
_MOST_CHARACTERS = 200
_NETWORK = re.compile(
    r"name resolution|Name or service not known|Network is unreachable|getaddrinfo|UnknownHostException"
    r"|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|nodename nor servname|Could not resolve host|No route to host",
    re.IGNORECASE,
)
_NO_TESTS = re.compile(
    r"^(?:Ran 0 tests|collected 0 items|no tests ran|# tests 0|No tests were found!*|No test is available"
    r"|testing: warning: no tests to run)",
    re.MULTILINE,
)
_NOT_OK = re.compile(r"^(?:not ok \d+ - |✖ (?!failing tests))(\S.*?)(?: [#(].*)?$", re.MULTILINE)
"""Failed tests in the output of TAP's and node's runners."""
_MAKE_DOES_NOTHING = re.compile(r"^make(?:\[\d+\])?: (?:Nothing to be done for .*|.* is up to date\.)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_NOISE = re.compile(
    r"\s*(?:at [\w.$/<>]+\(|\.\.\. \d+ (?:more|common frames)|\[ERROR\] ?(?:$|\[Help|Re-run|To see|For more))"
)
"""Stack traces of the JVM and Maven's references to help pages; the message is before them."""
_ERROR = re.compile(r"\berror\b(?: \w+)?:|\bCMake Error\b", re.IGNORECASE)
_PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)


class ProjectCheck(NamedTuple):
    """Result of a project's own tests on the unchanged project.

    Args:
        request: The command for answers: with limits from the measured time, with the minimum number of tests, and
            without flaky tests.
        fault: The reason why the project cannot check answers, as ``kind: explanation``; empty if it can.
        is_machine_fault: The cause of the fault is this machine, such as a missing bundle or toolchain.
        flaky_tests: Names of flaky tests, which are excluded.
        passed_alone: Tests (or an explanation) that failed in parallel runs, but passed each time alone.
        test_count: Number of passed tests, from reports or the runner's output; 0 if unknown.
        cpu_s: Maximum CPU seconds of a run; less if preparation saves time.
        wall_s: Maximum wall time of a run in seconds.
    """

    request: WorkspaceRequest
    fault: str = ""
    is_machine_fault: bool = False
    flaky_tests: tuple[str, ...] = ()
    passed_alone: tuple[str, ...] = ()
    test_count: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0


def check_project(engine: WorkspaceEngine, request: WorkspaceRequest, *, runs: int = RUNS) -> ProjectCheck:
    """Run the tests of an unchanged project ``runs`` times and return the result.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    plain = request.model_copy(update={"prepare": ()})
    found = _without_flaky(engine, plain, runs)
    return _prepared(engine, found, request.prepare) if request.prepare and not found.fault else found


def _prepared(engine: WorkspaceEngine, found: ProjectCheck, prepare: tuple[str, ...]) -> ProjectCheck:
    """Return the check with the preparing command, if all tests pass with it too.

    Limits leave time for a full rebuild, which an answer can cause.
    """
    request = found.request.model_copy(update={"prepare": prepare, "id": "project prepared"})
    [result] = engine.submit([request])
    if result.status is not Status.PASSED:
        return found
    cpu_s = min(found.cpu_s, max(_REBUILD_SHARE * found.cpu_s, result.cpu_s))
    limits = limits_from_cpu_time(cpu_s, min_s=_LEAST_CPU_S, min_limits=request.limits)
    return found._replace(request=request.model_copy(update={"limits": limits}), cpu_s=cpu_s)


def _without_flaky(engine: WorkspaceEngine, request: WorkspaceRequest, runs: int) -> ProjectCheck:
    found = _check(engine, request, runs)
    flaky = found.flaky_tests
    without = without_tests(request.command, flaky) if flaky else None
    if without is None:
        return found
    again = _check(engine, request.model_copy(update={"command": without}), runs)
    return again if again.fault else again._replace(flaky_tests=flaky)


def _check(engine: WorkspaceEngine, request: WorkspaceRequest, runs: int) -> ProjectCheck:
    repeated = [request.model_copy(update={"repeat": n, "id": f"project {n}"}) for n in range(2 * runs)]
    results = sorted(engine.submit(repeated[:runs]), key=lambda result: result.id)
    failed = _not_passed(results)
    passed_alone: tuple[str, ...] = ()
    if 0 < len(failed) < runs:
        first = results
        results = [result for one in repeated[runs:] for result in engine.submit([one])]
        if _not_passed(results):
            failed, results = _not_passed([*first, *results]), [*first, *results]
        else:
            passed_alone, failed = _names(failed) or (_failure_reason(failed[0]),), []
    cpu_s = max(result.cpu_s for result in results)
    wall_s = max(result.wall_s for result in results)
    if not failed:
        if all(_no_tests(result) for result in results):
            return ProjectCheck(request, _runs_nothing(results[0]))
        return passing_check(request, *results)._replace(passed_alone=passed_alone)
    ours = all(result.status.is_machine_fault for result in failed)
    if ours or len(failed) == len(results):
        return ProjectCheck(request, _failure_reason(failed[0]), ours, cpu_s=cpu_s, wall_s=wall_s)
    names = _names(failed)
    failures = ", ".join(names[:_NAMED]) or _failure_reason(failed[0])
    passed = len(results) - len(failed)
    fault = f"tests_flaky: {passed} of {len(results)} runs pass; not always: {failures}"
    return ProjectCheck(request, fault, flaky_tests=names, cpu_s=cpu_s, wall_s=wall_s)


def passing_check(request: WorkspaceRequest, *passed: WorkspaceResult) -> ProjectCheck:
    """Return the result of runs that all passed: their number of tests is required, limits follow from their time."""
    cpu_s = max(result.cpu_s for result in passed)
    tests = min(passed_test_count(result) for result in passed)
    limits = limits_from_cpu_time(cpu_s, min_s=_LEAST_CPU_S, min_limits=request.limits)
    changes = {"limits": limits, "minimum_tests": max(request.minimum_tests, tests)}
    wall_s = max(result.wall_s for result in passed)
    return ProjectCheck(request.model_copy(update=changes), test_count=tests, cpu_s=cpu_s, wall_s=wall_s)


def _not_passed(results: Sequence[WorkspaceResult]) -> list[WorkspaceResult]:
    return [result for result in results if result.status is not Status.PASSED]


def _names(failed: Sequence[WorkspaceResult]) -> tuple[str, ...]:
    return tuple(sorted({name for result in failed for name in failing_tests(result)}))


def failing_tests(result: WorkspaceResult) -> tuple[str, ...]:
    """Return the names of failed tests, from reports."""
    return (*result.test_counts.names("failed"), *result.test_counts.names("error"))


def _no_tests(result: WorkspaceResult) -> bool:
    if result.tests:
        return result.has_no_tests
    if _NO_TESTS.search(result.stdout.text) or _NO_TESTS.search(result.stderr.text):
        return True
    output = f"{result.stdout.text}\n{result.stderr.text}"
    return bool(_MAKE_DOES_NOTHING.search(output)) and not _MAKE_DOES_NOTHING.sub("", output).strip()


def _runs_nothing(result: WorkspaceResult) -> str:
    message = _MAKE_DOES_NOTHING.search(f"{result.stdout.text}\n{result.stderr.text}")
    why = f" ({message[0]})" if message else ""
    return f"no_tests: the command succeeds, but runs no test{why}; name the one that runs them"


def passed_test_count(result: WorkspaceResult) -> int:
    """Return the number of passed tests, from reports or the runner's output; 0 if unknown."""
    if result.tests:
        return result.test_counts.passed
    return console_test_count(result.stdout.text, result.stderr.text) or 0


# Long: one case for each cause, in the order of precedence.
def _failure_reason(result: WorkspaceResult) -> str:
    """Return the reason why a project's own tests do not pass, as ``kind: explanation``."""
    output = "\n".join([result.stderr.text, result.stdout.text, *(test.message for test in result.tests)])
    lines = telling_lines(output)
    tail = " / ".join(lines[-_TAIL_LINES:])
    failing = ", ".join((failing_tests(result) or _NOT_OK.findall(result.stdout.text))[:_NAMED])
    if result.status.is_machine_fault:
        return f"not_run: {result.reason or result.status.value}"
    if result.status is Status.TIMEOUT:
        return f"tests_hang: {result.reason}; this is the limit for the whole test command"
    # A compiler's message quotes the source, which may name such an error.
    if _NETWORK.search(output) and not reports_compile_error(result.stderr.text, result.stdout.text):
        of = f" ({failing})" if failing else ""
        return f"tests_need_network: a test{of} needs the network, which a sandbox does not have; exclude it"
    if result.status is Status.UNRESOLVED_IMPORT:
        names = missing_modules(result.stderr.text) or (str(result.missing_module),)
        verb = "is" if len(names) == 1 else "are"
        return f"missing_dependency: {', '.join(names[:_MISSING])} {verb} not installed; build a bundle with it"
    if _no_tests(result):
        return "no_tests: the command runs no test"
    if result.status is Status.COMPILE_ERROR:
        first = " / ".join([line for line in lines if _ERROR.search(line)][:_TAIL_LINES])
        return f"does_not_compile: {first or tail}"
    if result.exit_code in (126, 127):
        return f"command_not_found: {tail or result.reason or 'the command cannot be started'}"
    error = _first_error(result)
    if failing and error:
        failing = f"{failing} ({error})"
    return f"tests_fail: {failing or result.reason or tail or f'exit status {result.exit_code}'}"


def telling_lines(output: str) -> list[str]:
    """Return the lines of an output without colours, empty lines, stack traces and references to help pages."""
    lines = (line.strip() for line in _COLOUR.sub("", output).splitlines())
    return [line for line in lines if line and not _NOISE.match(line)]


def _first_error(result: WorkspaceResult) -> str:
    """Return the message of the first failed test; of pytest's output, the first line with the name of an error."""
    failed = (test.message for test in result.tests if test.outcome in ("failed", "error"))
    message = next(filter(None, failed), "")
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    telling = [line for line in marked if "Error" in line or "not found" in line]
    return (telling or marked or lines or [""])[0][:_MOST_CHARACTERS]


def without_tests(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return a command that excludes tests (``CLASS::NAME``); None if its runner has no such option.

    Only the last part of the name counts: a test of the same name in another class is excluded too.
    """
    short = sorted({_PARAMETERS.sub("", name.rpartition("::")[2]) for name in names})
    if not all(short):
        return None
    for runner, option in _LEAVING_OUT.items():
        if any(PurePosixPath(word).name == runner for word in command):
            return option(tuple(command), short)
    return None


def _pytest(command: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...] | None:
    if any(word.startswith("-k") for word in command):
        return None
    return (*command, "-k", f"not ({' or '.join(names)})")


def _ctest(command: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...] | None:
    if "-E" in command or "--exclude-regex" in command:
        return None
    return (*command, "-E", f"^({'|'.join(map(re.escape, names))})$")


_LEAVING_OUT: Mapping[str, Callable[[tuple[str, ...], Sequence[str]], tuple[str, ...] | None]] = {
    "pytest": _pytest,
    "ctest": _ctest,
}
