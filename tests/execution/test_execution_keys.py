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
    "3b0d275b4055839da4de287621fabbab164f578c1925c9777d64fc8b4d945483",
    "ef8204fd9f36e3b790bb9544fcd5ff4e0f48f9d24533294be2a0a3302c564a63",
    "5045344eb882e9f83eeda3d4a0c1891bae454fa63102d143af4bb47c7eaf56a5",
    "ab3466be86b0d036a74bc3e103cadbbc3f5e5869a26fa1f0866fefb4ce8f02ef",
]
PINNED_COMMANDS = [
    "dbdb30a2d3a32cb66272f272e7f2a2767c348c69ad6555083b091088f10db65a",
    "94e0bbc9faa2c3ed0f58ad873e45f261b81c815d865805ea186fb3492f77a5bb",
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
