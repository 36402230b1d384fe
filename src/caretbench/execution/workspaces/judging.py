"""From the end of a command in a project to its result: exit status, reports, and output that is expected."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.errors import DataError
from caretbench.execution.classification import classify, does_not_compile, missing_module
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.types import Output, Status
from caretbench.execution.workspaces.comparison import difference
from caretbench.execution.workspaces.request import Placed, WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.results import TestOutcome, parse_report
from caretbench.execution.workspaces.spoken import spoken_tests
from caretbench.problem import ExpectedOutput


def judged(request: WorkspaceRequest, ran: SandboxResult, placed: Placed, attempt: int) -> WorkspaceResult:
    """Return the result of a command.

    Args:
        request: The command.
        ran: Its end in the sandbox.
        placed: How the project came into the sandbox.
        attempt: Number of the attempt.
    """
    tests, complaint = _tests(request, ran)
    of_failure = _failure(tests, ran.stdout.text)
    status, reason = classify(ran, sentinel=False, limits=request.limits, of_failure=of_failure)
    if status is Status.PASSED:
        status, reason = _of_reports(request, tests, complaint, (ran.stdout.text, ran.stderr.text))
    if status is Status.PASSED and request.expected is not None:
        status, reason = _of_output(request, request.expected, ran.stdout)
    missing = missing_module(ran.stderr.text) if status is Status.UNRESOLVED_IMPORT else None
    return WorkspaceResult(
        id=request.id,
        status=status,
        exit_code=ran.exit_code,
        signal=ran.signal,
        stdout=ran.stdout,
        stderr=ran.stderr,
        files=ran.files,
        tests=tests,
        missing_module=missing,
        wall_s=ran.wall_s,
        cpu_s=ran.cpu_s,
        memory_mb=ran.memory_mb,
        isolation=ran.isolation,
        placed=placed,
        attempt=attempt,
        reason=reason,
        refusals=ran.refusals,
    )


def _tests(request: WorkspaceRequest, ran: SandboxResult) -> tuple[tuple[TestOutcome, ...], str]:
    """The tests of all reports, and what is wrong with a report."""
    found: list[TestOutcome] = []
    complaint = ""
    reports = [file for file in ran.files if file.pattern in request.junit]
    for file in reports:
        problem = file.problem
        try:
            found += parse_report(file.data) if not problem else []
        except DataError as error:
            problem = str(error)
        complaint = complaint or (f"{file.path}: {problem}" if problem else "")
    if request.junit and not reports:
        complaint = f"no report {', '.join(request.junit)} was written"
    return tuple(found), complaint


def _failure(tests: tuple[TestOutcome, ...], stdout: str) -> Callable[[str, int | None], Status]:
    def of_failure(stderr: str, exit_code: int | None) -> Status:
        outcomes = {test.outcome for test in tests}
        if not outcomes and does_not_compile(stderr, stdout):
            return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.COMPILE_ERROR
        if "failed" in outcomes or (not outcomes and exit_code == 1 and not missing_module(stderr)):
            return Status.FAILED
        return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.RUNTIME_ERROR

    return of_failure


def _of_reports(
    request: WorkspaceRequest, tests: tuple[TestOutcome, ...], complaint: str, said: tuple[str, str]
) -> tuple[Status, str]:
    """The status of a command that ended with exit status 0."""
    bad = next((test for test in tests if test.outcome in ("failed", "error")), None)
    if bad is not None:
        return Status.FAILED, f"exit status 0, but {bad.name} did not pass"
    if complaint:
        return Status.INCOMPLETE, f"exit status 0, but {complaint}"
    ran = sum(test.outcome == "passed" for test in tests) if request.junit else spoken_tests(*said) or 0
    if ran < request.minimum_tests:
        return Status.INCOMPLETE, f"exit status 0, but {ran} of at least {request.minimum_tests} tests ran"
    return Status.PASSED, ""


def _of_output(request: WorkspaceRequest, expected: ExpectedOutput, stdout: Output) -> tuple[Status, str]:
    """The status of a command that did everything else right."""
    if stdout.truncated:
        kept = request.limits.output_kb
        return Status.OUTPUT_LIMIT, f"it prints more than the {kept} kB that are kept to be compared"
    differs = difference(expected, stdout.text)
    return (Status.FAILED, differs) if differs else (Status.PASSED, "")
