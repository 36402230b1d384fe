"""Cache keys: pinned, for a key that changes loses all that was kept."""

from __future__ import annotations

import pytest

from caretbench.execution.cache import cache_keys
from caretbench.execution.cache.cache_keys import (
    program_key,
    project_command_key,
    remote_project_command_key,
    verdict_key,
)
from caretbench.execution.execution_types import ExecutionRequest, Limits
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest

PROGRAM = ExecutionRequest(id="a", language="python", source="print(1)")
OTHER = ExecutionRequest(
    id="b", language="cpp", source="int main(){}", variant="common_headers", bundle="devbench/cpp", needs=("display",),
    answer_lines=(1, 2), repeat=3, limits=Limits(cpu_s=3),
)  # fmt: skip
COMMAND = WorkspaceRequest(
    id="1", snapshot="0" * 64, command=("/bin/sh", "-c", "x"), patch={"a": "text", "b": None, "c": b"\0"}, stdin=b"hi",
    read_only={"/a": "/usr/bin/env"}, environment={"PATH": "/nowhere"}, junit=("r.xml",), minimum_tests=2,
)  # fmt: skip

PINNED_PROGRAMS = [
    "51c0d4562c65dacb743dcc845fe0a516e4c3fb5881cec82407981f81f2196ff9",
    "6061aa2c229866aeb38bb6ba0fc4cc15af80906df15624725f8d3e5ba34a602d",
    "f84b664b4eee69bf4cd261d37877ac2edbde522c5d70cec70518f10423bb34b7",
    "3fd9f4f0d377a06cd3291da31e96b5400dc5c2d26bd353297617726de2e55d02",
]
PINNED_COMMANDS = [
    "88129ed93c8421b5042769c563db80bcbe587ff4d6947f010cbaa5c4b6149854",
    "219a4772e0a5120912134d76de02d502cb7d73f487e5108d84a9647dce2471d4",
]


def _project(request: WorkspaceRequest) -> str:
    return project_command_key(
        request, bundle="b", overlay=True, level="namespaces", path_fingerprints=lambda path: f"<{path}>"
    )


def test_keys_of_programs_stay() -> None:
    found = [make(one, toolchain="t", bundle="x") for one in (PROGRAM, OTHER) for make in (program_key, verdict_key)]
    assert found == PINNED_PROGRAMS


def test_keys_of_commands_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_keys, "system_fingerprint", lambda: "system")
    found = [_project(COMMAND), remote_project_command_key(COMMAND, [(("python", None, ()), ("f", "b", ""))])]
    assert found == PINNED_COMMANDS


def test_younger_fields_that_say_nothing_change_no_key() -> None:
    empty = {"prepare": (), "needs": (), "total_result_bytes": 0, "id": "2"}
    assert _project(COMMAND) == _project(COMMAND.model_copy(update=empty))
    assert _project(COMMAND) == _project(COMMAND.model_copy(update={"is_reference": True}))
    assert _project(COMMAND) != _project(COMMAND.model_copy(update={"needs": ("display",)}))


def test_more_room_for_results_is_another_key() -> None:
    more = COMMAND.model_copy(update={"total_result_bytes": 480 << 20})
    assert _project(COMMAND) != _project(more)
    assert remote_project_command_key(COMMAND, []) != remote_project_command_key(more, [])
