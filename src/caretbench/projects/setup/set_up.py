"""Fetching what a project needs, once, before anything is measured, with a command of the user's.

It runs in a sandbox that reaches package indexes and nothing else. What it leaves in the project (installed packages,
compiled libraries) becomes a part of the snapshot that the tests run in; it is never mined.
"""

from __future__ import annotations

from typing import Final

from caretbench.errors import DataError
from caretbench.execution.types import Status
from caretbench.execution.workspaces.archives import (
    MOST_PARTS,
    PART_BYTES,
    PART_MB,
    RESULTS,
    packing,
    taken_over,
)
from caretbench.execution.workspaces.engine import WorkspaceExecutor
from caretbench.execution.workspaces.workspace import WORKSPACE_LIMITS, WorkspaceRequest, WorkspaceResult
from caretbench.projects.project import Taken

_LIMITS: Final = WORKSPACE_LIMITS.model_copy(
    update={"wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096}
)


def set_up(engine: WorkspaceExecutor, taken: Taken, command: str, bundle: str | None = None) -> Taken:
    """The project with what the command left in it; the files that belong to the project stay the same ones.

    ``bundle`` names packages that the command may use, such as a test framework to compile tests against.

    Raises:
        DataError: the command fails, or leaves more than fits.
    """
    request = WorkspaceRequest(
        id="setup",
        snapshot=taken.snapshot.id,
        command=packing(command),
        environment={"HOME": "/tmp/home"},  # noqa: S108  a path inside the sandbox
        bundle=bundle,
        network="index",
        results=RESULTS,
        result_bytes=PART_BYTES,
        limits=_LIMITS,
    )
    [result] = engine.submit([request])
    _check(result, command)
    try:
        snapshot = taken_over(engine.spaces.store, taken.snapshot, result.files)
    except DataError as error:
        raise DataError(f"setup {command!r}: {error}") from None
    return Taken(snapshot, taken.files, taken.left_out)


def _check(result: WorkspaceResult, command: str) -> None:
    if result.status is not Status.PASSED:
        said = [line for line in (result.stderr.text or result.stdout.text).splitlines() if line.strip()]
        refused = ", ".join(list(dict.fromkeys(result.refusals))[:3])
        refused = (
            f"; refused: {refused} (a mirror or an index of yours is named with --index)" if refused else ""
        )
        why = result.reason or " | ".join(said[-3:])
        raise DataError(f"setup {command!r}: {result.status.value}: {why}{refused}")
    problem = next((file.problem for file in result.files if file.problem), "")
    if problem or len(result.files) > MOST_PARTS:
        most = PART_MB * MOST_PARTS
        raise DataError(
            f"setup {command!r}: what it left takes more than {most} MB packed; build a bundle instead ({problem})"
        )
    if not result.files:
        raise DataError(
            f"setup {command!r}: it left nothing in the project; packages belong into a folder of it"
        )
