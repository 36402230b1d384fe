"""Options of test runners: selection and order of tests, and recording of the statements that each test executes.

Plugin files are added to the sandbox's copy of the project and enabled by environment variables, so it does not matter
how a runner is started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest

TOOLS_FOLDER: Final = ".caretbench-tools"
"""Folder of the plugin files, in the sandbox's copy of the project."""
_TESTS: Final = f"{TOOLS_FOLDER}/tests.json"
_PYTEST: Final = "caretbench_tests"
_UNITTEST: Final = "sitecustomize"
_STARTS_PYTEST = re.compile(r"(?:^|[\s/;&])(?:pytest|py\.test)(?=$|[\s;&])")
_STARTS_UNITTEST = re.compile(r"-m\s+unittest\b")


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


def has_selected_tests(request: WorkspaceRequest) -> bool:
    """Return whether a request runs only selected tests."""
    return _TESTS in request.patch


def with_reach_recording(request: WorkspaceRequest, path: str) -> WorkspaceRequest:
    """Return a pytest request that records in the project's file ``path`` the statements that each test executes."""
    return _with_plugin(request, {"CARETBENCH_REACH": f"{WORK}/{path}"})


def with_reversed_order(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request with its tests in another order: reversed (pytest, unittest) or shuffled (CTest).

    None if the runner has no such option.
    """
    line = " ".join(request.command)
    return next((turn(request) for starts, turn in _TURNING.items() if starts(line)), None)


def _with_plugin(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes] | None = None
) -> WorkspaceRequest:
    variables = {**variables, "PYTEST_ADDOPTS": _and_option(request, f"-p {_PYTEST}")}
    return _with_tools(request, _PYTEST, variables, patch or {})


def _and_option(request: WorkspaceRequest, option: str) -> str:
    options = request.environment.get("PYTEST_ADDOPTS", "")
    return f"{options} {option}" if options else option


def _with_tools(
    request: WorkspaceRequest, module: str, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest:
    return request.model_copy(
        update={
            "environment": {**request.environment, **variables},
            "patch": {**request.patch, f"{TOOLS_FOLDER}/{module}.py": _text(module), **patch},
            "python_path": (TOOLS_FOLDER, *request.python_path),
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
