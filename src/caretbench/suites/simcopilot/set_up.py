"""Fetching what a project needs, once, before anything is measured, with a command of the user's.

It runs in a sandbox that reaches package indexes and nothing else. What it leaves in the project (installed packages,
compiled libraries) becomes a part of the snapshot that the tests run in; it is never mined.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.types import Status
from caretbench.execution.workspace import WORKSPACE_LIMITS, WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspace_engine import WorkspaceExecutor
from caretbench.suites.simcopilot.project import Taken, lay_down

_PART_MB: Final = 15
_MOST_PARTS: Final = 4
_PARTS: Final = ".caretbench-setup."
_LIMITS: Final = WORKSPACE_LIMITS.model_copy(
    update={"wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096}
)
_SCRIPT: Final = f"""
set -e
touch /tmp/.caretbench-begun
( {{command}}
)
find . -newer /tmp/.caretbench-begun \\( -type f -o -type l \\) ! -name '{_PARTS}*' -print0 > /tmp/.caretbench-left
tar --null -czf - -T /tmp/.caretbench-left | split -b {_PART_MB}m - {_PARTS}
"""


def set_up(engine: WorkspaceExecutor, taken: Taken, command: str, bundle: str | None = None) -> Taken:
    """The project with what the command left in it; the files that belong to the project stay the same ones.

    ``bundle`` names packages that the command may use, such as a test framework to compile tests against.

    Raises:
        DataError: the command fails, or leaves more than fits.
    """
    request = WorkspaceRequest(
        id="setup",
        snapshot=taken.snapshot.id,
        command=("/bin/sh", "-c", _SCRIPT.format(command=command)),
        environment={"HOME": "/tmp/home"},  # noqa: S108  a path inside the sandbox
        bundle=bundle,
        network="index",
        results=(f"{_PARTS}*",),
        result_bytes=16 << 20,
        limits=_LIMITS,
    )
    [result] = engine.submit([request])
    _check(result, command)
    archive = b"".join(file.data for file in sorted(result.files, key=lambda file: file.path))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "project"
        lay_down(taken.snapshot, place)
        try:
            with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
                packed.extractall(place, filter="data")
        except (tarfile.TarError, OSError, EOFError) as error:
            raise DataError(f"setup {command!r}: what it left cannot be taken over ({error})") from None
        snapshot = engine.spaces.store.add(place, ignore=(".git", "__pycache__"))
    return Taken(snapshot, taken.files, taken.left_out)


def _check(result: WorkspaceResult, command: str) -> None:
    if result.status is not Status.PASSED:
        said = [line for line in (result.stderr.text or result.stdout.text).splitlines() if line.strip()]
        refused = ", ".join(list(dict.fromkeys(result.refusals))[:3])
        refused = f"; refused: {refused} (a mirror or an index of yours is named with --index)" if refused else ""
        why = result.reason or " | ".join(said[-3:])
        raise DataError(f"setup {command!r}: {result.status.value}: {why}{refused}")
    problem = next((file.problem for file in result.files if file.problem), "")
    if problem or len(result.files) > _MOST_PARTS:
        most = _PART_MB * _MOST_PARTS
        raise DataError(
            f"setup {command!r}: what it left takes more than {most} MB packed; build a bundle instead ({problem})"
        )
    if not result.files:
        raise DataError(
            f"setup {command!r}: it left nothing in the project; packages belong into a folder of it"
        )
