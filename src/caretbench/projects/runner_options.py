"""Instructions to the runners of a project's tests: selection, order, and recording of what they reach.

Files of ours are laid into the copy of the project that a sandbox holds, never into the project, and found by the
environment: so it is the same whether a runner is started by its name, as a module or from a script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from caretbench.execution.sandbox.program import WORK
from caretbench.execution.workspaces.workspace import WorkspaceRequest

TOOLS_FOLDER: Final = ".caretbench-tools"
"""The folder of our files, in the copy."""
_TESTS: Final = f"{TOOLS_FOLDER}/tests.json"
_PYTEST: Final = "caretbench_tests"
_UNITTEST: Final = "sitecustomize"
_STARTS_PYTEST = re.compile(r"(?:^|[\s/;&])(?:pytest|py\.test)(?=$|[\s;&])")
_STARTS_UNITTEST = re.compile(r"-m\s+unittest\b")


def runs_pytest(command: Sequence[str]) -> bool:
    """Return whether a command starts pytest, itself or by a shell."""
    return _STARTS_PYTEST.search(" ".join(command)) is not None


def without_shuffling(request: WorkspaceRequest) -> WorkspaceRequest:
    """The command with its tests in the order in which they stand: what shuffles them under pytest is switched off."""
    if not runs_pytest(request.command):
        return request
    options = _and_option(request, "-p no:randomly")
    return request.model_copy(update={"environment": {**request.environment, "PYTEST_ADDOPTS": options}})


def with_selected_tests(request: WorkspaceRequest, tests: Sequence[str]) -> WorkspaceRequest:
    """The command of pytest with these tests alone, by their ids, in its own order; others are not even set up.

    A test that is not there is an error, so that an answer cannot make tests vanish.
    """
    patch = {_TESTS: json.dumps(list(tests)).encode()}
    return _with_plugin(request, {"CARETBENCH_TESTS": f"{WORK}/{_TESTS}"}, patch)


def has_selected_tests(request: WorkspaceRequest) -> bool:
    """Return whether a command runs chosen tests alone."""
    return _TESTS in request.patch


def with_reach_recording(request: WorkspaceRequest, path: str) -> WorkspaceRequest:
    """The command of pytest with lines in the file ``place`` of the project that tell which test reaches which mark."""
    return _with_plugin(request, {"CARETBENCH_REACH": f"{WORK}/{path}"})


def with_reversed_order(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the command with its tests in another order; None where its runner has no way to do that.

    pytest and unittest run them from the last to the first, CTest shuffles them.
    """
    line = " ".join(request.command)
    return next((turn(request) for starts, turn in _TURNING.items() if starts(line)), None)


def _with_plugin(
    request: WorkspaceRequest, said: Mapping[str, str], patch: Mapping[str, bytes] | None = None
) -> WorkspaceRequest:
    said = {**said, "PYTEST_ADDOPTS": _and_option(request, f"-p {_PYTEST}")}
    return _with_tools(request, _PYTEST, said, patch or {})


def _and_option(request: WorkspaceRequest, option: str) -> str:
    said = request.environment.get("PYTEST_ADDOPTS", "")
    return f"{said} {option}" if said else option


def _with_tools(
    request: WorkspaceRequest, module: str, said: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest:
    return request.model_copy(
        update={
            "environment": {**request.environment, **said},
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
"""From what starts a runner to how its order is turned round; the first that fits is taken."""
