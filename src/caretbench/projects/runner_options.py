"""Options of test runners: selection and order of tests, their outcomes, and the statements that each test executes.

Plugin files are added to the sandbox's copy of the project and enabled by environment variables, so it does not matter
how a runner is started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from importlib import resources
from typing import Final, Literal

from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.project_tools import runs_java_tests
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult

TOOLS_FOLDER: Final = ".caretbench-tools"
"""Folder of the plugin files, in the sandbox's copy of the project."""
TEST_LOG: Final = ".caretbench-tests.jsonl"
"""Path of the log of outcomes in the project."""
_TESTS: Final = f"{TOOLS_FOLDER}/tests.json"
_EXCLUDED: Final = f"{TOOLS_FOLDER}/excluded.json"
_PYTEST: Final = "caretbench_tests"
_UNITTEST: Final = "sitecustomize"
_TRACER: Final = ("caretbench_trace", "caretbench_monitor", "caretbench_record")
_TRACED: Final = f"{TOOLS_FOLDER}/traced-files"
_STARTS_PYTEST = re.compile(r"(?:^|[\s/;&])(?:pytest|py\.test)(?=$|[\s;&])")
_STARTS_UNITTEST = re.compile(r"-m\s+unittest\b")
_STARTS_PYTHON = re.compile(r"(?:^|[\s/;&])python[\d.]*(?=\s)")
_LOG_BYTES: Final = 16 << 20
_SLOW_S: Final = 10
"""Seconds after which a running test is named on standard error."""
_SLOW = re.compile(r"^caretbench: a test runs for more than \d+ s: (.+)$", re.MULTILINE)

_CTEST_STARTS = re.compile(r"^ *Start +(\d+): (.+?) *$", re.MULTILINE)
_CTEST_ENDS = re.compile(r"^ *\d+/\d+ Test +#(\d+): ", re.MULTILINE)


def runs_pytest(command: Sequence[str]) -> bool:
    """Return whether a command starts pytest, directly or by a shell."""
    return _STARTS_PYTEST.search(" ".join(command)) is not None


def without_shuffling(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request with pytest's random order plugin disabled."""
    if not runs_pytest(request.command):
        return request
    options = _and_option(request, "-p no:randomly")
    return request.model_copy(update={"environment": {**request.environment, "PYTEST_ADDOPTS": options}})


def with_selected_tests(request: WorkspaceRequest, tests: Sequence[str]) -> WorkspaceRequest:
    """Return a pytest request that runs only some tests, by their ids, in pytest's order.

    A missing test is an error, so that an answer cannot remove tests.
    """
    patch = {_TESTS: json.dumps(list(tests)).encode()}
    return _with_plugin(request, {"CARETBENCH_TESTS": f"{WORK}/{_TESTS}"}, patch)


def with_test_log(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request that logs the outcome of every test, and does not stop at a failure; None if that is unknown.

    :func:`logged_tests` reads the log of its result.
    """
    found = _with_settings(request, {"CARETBENCH_LOG": f"{WORK}/{TEST_LOG}"}, {TEST_LOG: b""})
    return found and found.model_copy(update={"results": (*found.results, TEST_LOG), "result_bytes": _LOG_BYTES})


def logged_tests(result: WorkspaceResult) -> tuple[TestOutcome, ...]:
    """Return the outcomes of a run with :func:`with_test_log`; empty if it logged none."""
    lines = (result.file(TEST_LOG) or b"").splitlines()
    found = [_LoggedTest.model_validate_json(line) for line in lines]
    return tuple(
        TestOutcome(name=one.test, outcome=one.outcome, seconds=one.seconds, message=one.message) for one in found
    )


class _LoggedTest(FrozenModel):
    test: str
    outcome: Literal["passed", "failed", "error"]
    message: str
    seconds: float = 0.0


def with_plugin_exclusion(request: WorkspaceRequest, names: Sequence[str]) -> WorkspaceRequest | None:
    """Return the request without these tests, by pytest's ids or unittest's names; None if the runner is another."""
    all_names = {*names, *json.loads(request.patch.get(_EXCLUDED) or b"[]")}
    patch = {_EXCLUDED: json.dumps(sorted(all_names)).encode()}
    return _with_settings(request, {"CARETBENCH_EXCLUDED": f"{WORK}/{_EXCLUDED}"}, patch)


def with_slow_tests_named(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request that names tests on standard error that run for long, for :func:`slow_test`.

    In Java the file of a test class is named.
    """
    variables = {"CARETBENCH_SLOW": str(_SLOW_S)}
    if runs_java_tests(request.command):
        return request.model_copy(update={"environment": {**request.environment, **variables}})
    return _with_settings(request, variables, {}) or request


def slow_test(result: WorkspaceResult) -> str:
    """Return the last test that ran for long, by its name on standard error; empty if there is none.

    CTest names every test when it starts and when it ends: the last one that did not end counts.
    """
    found: list[str] = _SLOW.findall(result.stderr.text)
    if found:
        return found[-1]
    begun: list[tuple[str, str]] = _CTEST_STARTS.findall(result.stdout.text)
    ended = set(_CTEST_ENDS.findall(result.stdout.text))
    return next((name for number, name in reversed(begun) if number not in ended), "")


def has_selected_tests(request: WorkspaceRequest) -> bool:
    """Return whether a request runs only selected tests."""
    return _TESTS in request.patch


def with_reach_recording(request: WorkspaceRequest, path: str) -> WorkspaceRequest:
    """Return a pytest request that records in the project's file ``path`` the marks that each test executes."""
    return _with_plugin(request, {"CARETBENCH_REACH": f"{WORK}/{path}"})


def with_line_tracing(request: WorkspaceRequest, paths: Sequence[str], log: str) -> WorkspaceRequest:
    """Return the request that records in the project's file ``log`` the lines that Python executes of some files.

    A line of the log holds the position of a file in ``paths``, and a line of it.
    """
    lines = (f"{WORK}/{path}" for path in (log, *paths))
    patch = {_TRACED: "\0".join(lines).encode("utf-8", "surrogateescape"), log: b""}
    traced = _with_tools(request, _UNITTEST, {"CARETBENCH_TRACE": f"{WORK}/{_TRACED}"}, patch)
    return reduce(lambda one, module: _with_tools(one, module, {}, {}), _TRACER, traced)


def with_reversed_order(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request with its tests in another order: reversed (pytest, unittest) or shuffled (CTest).

    None if the runner has no such option.
    """
    line = " ".join(request.command)
    return next((turn(request) for starts, turn in _TURNING.items() if starts(line)), None)


def _with_settings(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest | None:
    """Return the request with settings of the plugin for its runner, pytest or unittest; None for another runner."""
    if runs_pytest(request.command):
        return _with_plugin(request, variables, patch)
    if _STARTS_PYTHON.search(" ".join(request.command)):
        return _with_tools(request, _UNITTEST, variables, patch)
    return None


def _with_plugin(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes] | None = None
) -> WorkspaceRequest:
    variables = {**variables, "PYTEST_ADDOPTS": _and_option(request, f"-p {_PYTEST}")}
    return _with_tools(request, _PYTEST, variables, patch or {})


def _and_option(request: WorkspaceRequest, option: str) -> str:
    options = request.environment.get("PYTEST_ADDOPTS", "")
    return options if f" {options} ".find(f" {option} ") >= 0 else f"{options} {option}".strip()


def _with_tools(
    request: WorkspaceRequest, module: str, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest:
    return request.model_copy(
        update={
            "environment": {**request.environment, **variables},
            "patch": {**request.patch, f"{TOOLS_FOLDER}/{module}.py": _text(module), **patch},
            "python_path": tuple(dict.fromkeys((TOOLS_FOLDER, *request.python_path))),
        }
    )


@cache
def _text(module: str) -> bytes:
    return resources.files("caretbench.projects").joinpath(f"inside/{module}.py").read_bytes()


_REVERSED: Final = {"CARETBENCH_ORDER": "reversed"}


def _turn_ctest(request: WorkspaceRequest) -> WorkspaceRequest | None:
    words, option = request.command, "--schedule-random"
    by_shell = len(words) == 3 and words[1] == "-c"
    command = (*words[:2], f"{words[2]} {option}") if by_shell else (*words, option)
    return request.model_copy(update={"command": command})


_TURNING: Mapping[Callable[[str], object], Callable[[WorkspaceRequest], WorkspaceRequest | None]] = {
    _STARTS_PYTEST.search: lambda request: _with_plugin(request, _REVERSED),
    _STARTS_UNITTEST.search: lambda request: _with_tools(request, _UNITTEST, _REVERSED, {}),
    re.compile(r"(?:^|&&\s*|/|-c )ctest\b[^&|;]*$").search: _turn_ctest,
}
"""Pattern of a runner's command, and the function that changes the order; the first match is used."""
