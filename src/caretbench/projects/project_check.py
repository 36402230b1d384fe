"""Is a project fit to check anything? Its own tests, three times, before any answer is put into it.

Every run starts from the same snapshot in a place of its own, so files that a run leaves behind, and the order in which
others run, change nothing. What is found out: tests that fail, hang, need the network or a package, tests that pass at
times only, and commands that run no test at all. Where some runs pass and others do not, a busy machine may be why:
they all run again, one at a time, and only if one of those fails, too, tests are called flaky.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from caretbench.execution.types import Status
from caretbench.execution.workspaces.command_results import console_test_count
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, limits_from_cpu_time
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult

RUNS = 3
_LEAST_CPU_S = 4.0  # an answer that loops costs so much at least, and every gate meets many
_ALL_ANEW = 0.3
"""Bounds are five times a time: one and a half times what everything takes, then."""
_NAMED = 5
_TAIL_LINES = 3
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
"""Tests that failed, in what TAP's and node's runners print, where no report was asked for."""
_MAKE_DOES_NOTHING = re.compile(
    r"^make(?:\[\d+\])?: (?:Nothing to be done for .*|.* is up to date\.)$", re.MULTILINE
)
_NOISE = re.compile(
    r"\s*(?:at [\w.$/<>]+\(|\.\.\. \d+ (?:more|common frames)|\[ERROR\] ?(?:$|\[Help|Re-run|To see|For more)|\x1b\[0m$)"
)
"""Where an exception came from, in a JVM, and where Maven would have one read on: what they say stands before."""
_ERROR = re.compile(r"\berror\b(?: \w+)?:|\bCMake Error\b", re.IGNORECASE)
_PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)


class ProjectCheck(NamedTuple):
    """What became of a project's own tests.

    Args:
        request: The command to go on with: its bounds follow from the time it took, as many tests have to run, and
            flaky tests are left out.
        fault: Why the project can check nothing, as ``kind: words``; empty where it can.
        machine: Whether the fault is this machine's (a bundle or a toolchain that is not here), not the project's.
        flaky: Tests that pass at times only; they are left out.
        held_up: Tests (or what was said) that failed beside other work and passed each time alone.
        tests: How many tests passed, by reports or the runner's last words; 0 where neither tells.
        cpu_s: CPU seconds of one run: the largest; less where what is prepared saves time, as bounds are then.
        wall_s: Seconds of one run: the largest.
    """

    request: WorkspaceRequest
    fault: str = ""
    machine: bool = False
    flaky: tuple[str, ...] = ()
    held_up: tuple[str, ...] = ()
    tests: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0


def check_project(engine: WorkspaceEngine, request: WorkspaceRequest, *, runs: int = RUNS) -> ProjectCheck:
    """Run a project's tests as they are.

    Raises:
        DataError: the snapshot is not here, or damaged.
    """
    plain = request.model_copy(update={"prepare": ()})
    found = _without_flaky(engine, plain, runs)
    return _prepared(engine, found, request.prepare) if request.prepare and not found.fault else found


def _prepared(engine: WorkspaceEngine, found: ProjectCheck, prepare: tuple[str, ...]) -> ProjectCheck:
    """Return the check with what saves time, if all tests pass with that too.

    An answer may change what all has to be made anew for: bounds leave room for that.
    """
    request = found.request.model_copy(update={"prepare": prepare, "id": "project prepared"})
    [result] = engine.submit([request])
    if result.status is not Status.PASSED:
        return found
    cpu_s = min(found.cpu_s, max(_ALL_ANEW * found.cpu_s, result.cpu_s))
    limits = limits_from_cpu_time(cpu_s, least_s=_LEAST_CPU_S, floor=request.limits)
    return found._replace(request=request.model_copy(update={"limits": limits}), cpu_s=cpu_s)


def _without_flaky(engine: WorkspaceEngine, request: WorkspaceRequest, runs: int) -> ProjectCheck:
    found = _check(engine, request, runs)
    flaky = found.flaky
    without = deselected(request.command, flaky) if flaky else None
    if without is None:
        return found
    again = _check(engine, request.model_copy(update={"command": without}), runs)
    return again if again.fault else again._replace(flaky=flaky)


def _check(engine: WorkspaceEngine, request: WorkspaceRequest, runs: int) -> ProjectCheck:
    repeated = [request.model_copy(update={"repeat": n, "id": f"project {n}"}) for n in range(2 * runs)]
    results = sorted(engine.submit(repeated[:runs]), key=lambda result: result.id)
    failed = _not_passed(results)
    held_up: tuple[str, ...] = ()
    if 0 < len(failed) < runs:
        first = results
        results = [result for one in repeated[runs:] for result in engine.submit([one])]
        if _not_passed(results):
            failed, results = _not_passed([*first, *results]), [*first, *results]
        else:
            held_up, failed = _names(failed) or (_why(failed[0]),), []
    cpu_s = max(result.cpu_s for result in results)
    wall_s = max(result.wall_s for result in results)
    if not failed:
        if all(_no_tests(result) for result in results):
            return ProjectCheck(request, _runs_nothing(results[0]))
        return bounded(request, *results)._replace(held_up=held_up)
    ours = all(result.status.is_machine_fault for result in failed)
    if ours or len(failed) == len(results):
        return ProjectCheck(request, _why(failed[0]), ours, cpu_s=cpu_s, wall_s=wall_s)
    names = _names(failed)
    said = ", ".join(names[:_NAMED]) or _why(failed[0])
    passed = len(results) - len(failed)
    fault = f"tests_flaky: {passed} of {len(results)} runs pass; not always: {said}"
    return ProjectCheck(request, fault, flaky=names, cpu_s=cpu_s, wall_s=wall_s)


def bounded(request: WorkspaceRequest, *passed: WorkspaceResult) -> ProjectCheck:
    """What follows from runs that passed: as many tests have to run, in bounds by the time they took."""
    cpu_s = max(result.cpu_s for result in passed)
    tests = min(passed_tests(result) for result in passed)
    limits = limits_from_cpu_time(cpu_s, least_s=_LEAST_CPU_S, floor=request.limits)
    changes = {"limits": limits, "minimum_tests": max(request.minimum_tests, tests)}
    wall_s = max(result.wall_s for result in passed)
    return ProjectCheck(request.model_copy(update=changes), tests=tests, cpu_s=cpu_s, wall_s=wall_s)


def _not_passed(results: Sequence[WorkspaceResult]) -> list[WorkspaceResult]:
    return [result for result in results if result.status is not Status.PASSED]


def _names(failed: Sequence[WorkspaceResult]) -> tuple[str, ...]:
    return tuple(sorted({name for result in failed for name in failing_tests(result)}))


def failing_tests(result: WorkspaceResult) -> tuple[str, ...]:
    """Return the names of tests that did not pass, as reports have them."""
    return (*result.test_counts.names("failed"), *result.test_counts.names("error"))


def _no_tests(result: WorkspaceResult) -> bool:
    if result.tests:
        return result.no_tests
    if _NO_TESTS.search(result.stdout.text) or _NO_TESTS.search(result.stderr.text):
        return True
    said = f"{result.stdout.text}\n{result.stderr.text}"
    return bool(_MAKE_DOES_NOTHING.search(said)) and not _MAKE_DOES_NOTHING.sub("", said).strip()


def _runs_nothing(result: WorkspaceResult) -> str:
    said = _MAKE_DOES_NOTHING.search(f"{result.stdout.text}\n{result.stderr.text}")
    why = f" ({said[0]})" if said else ""
    return f"no_tests: the command ends well, but runs no test{why}; name the one that runs them"


def passed_tests(result: WorkspaceResult) -> int:
    """Return how many tests passed, by reports or the runner's last words; 0 where neither tells."""
    if result.tests:
        return result.test_counts.passed
    return console_test_count(result.stdout.text, result.stderr.text) or 0


# Long: one case for each cause, in the order of precedence.
def _why(result: WorkspaceResult) -> str:
    """Why a project's own tests do not pass, as ``kind: words``."""
    said = f"{result.stderr.text}\n{result.stdout.text}\n" + "\n".join(test.message for test in result.tests)
    lines = [line.strip() for line in said.splitlines() if line.strip() and not _NOISE.match(line)]
    tail = " / ".join(lines[-_TAIL_LINES:])
    failing = ", ".join((failing_tests(result) or _NOT_OK.findall(result.stdout.text))[:_NAMED])
    if result.status.is_machine_fault:
        return f"not_run: {result.reason or result.status.value}"
    if result.status is Status.TIMEOUT:
        return f"tests_hang: {result.reason}; the whole test command has to end by then"
    if _NETWORK.search(said):
        of = f" ({failing})" if failing else ""
        return f"tests_need_network: a test{of} looks for another machine, and there is none in a sandbox; leave it out"
    if result.status is Status.UNRESOLVED_IMPORT:
        return (
            f"missing_dependency: {result.missing_module} is not here; build a bundle of packages that has it"
        )
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


def _first_error(result: WorkspaceResult) -> str:
    """What the first test that did not pass says; of pytest's many lines the first with an error's name."""
    failed = (test.message for test in result.tests if test.outcome in ("failed", "error"))
    said = next(filter(None, failed), "")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    telling = [line for line in marked if "Error" in line or "not found" in line]
    return (telling or marked or lines or [""])[0][:_MOST_CHARACTERS]


# --- leaving tests out ------------------------------------------------------------------------------------------------


def deselected(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command without these tests (``CLASS::NAME``); None where its runner has no option for that.

    Tests are chosen by their own name alone: one of the same name in another class is left out too.
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
