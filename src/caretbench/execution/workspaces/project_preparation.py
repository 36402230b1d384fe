"""Prepared projects: compiled once by their own command, not for every answer.

Preparation saves time and changes no verdict: if it fails, the project stays as it is. The prepared project is another
snapshot. The store records which one belongs to which project, command and tools.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.cache.cache_keys import prepared_project_key
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_archive import (
    MAX_ARCHIVE_BYTES,
    MAX_PART_BYTES,
    PART_PATTERNS,
    add_command_outputs,
    packing_command,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.file_locks import lock_file
from caretbench.files import write_atomically

_AMPLE: Final = {
    "wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096,
}  # fmt: skip


class ProjectPreparer:
    """Preparer of projects, each once; prepared ones are in the store too. Threads and processes may share it."""

    def __init__(self, store: SnapshotStore, run: Callable[[WorkspaceRequest], WorkspaceResult]) -> None:
        self._store = store
        self._run = run
        self._known: dict[str, str] = {}
        self._lock = Lock()

    def prepared_snapshot(self, request: WorkspaceRequest, lock_hash: str = "") -> str:
        """Return the id of the project's snapshot after ``request.prepare``; its own id if that fails.

        Args:
            request: The command that decides; its surroundings are those of the preparing command too.
            lock_hash: Hash of the content of its bundle.

        Raises:
            DataError: the project is not in the store.
        """
        key = prepared_project_key(request, bundle=lock_hash)
        with self._lock:
            if key not in self._known:
                found = self._kept_or_made(key, request)
                if found is None:
                    return request.snapshot  # the next one tries again
                self._known[key] = found
            return self._known[key]

    def _kept_or_made(self, key: str, request: WorkspaceRequest) -> str | None:
        place = self._store.folder / "prepared" / key
        place.parent.mkdir(exist_ok=True)
        with place.with_suffix(".lock").open("w") as lock:
            lock_file(lock)
            return self._kept(place) or self._made(place, request)

    def _kept(self, place: Path) -> str | None:
        try:
            return self._store.get(place.read_text("utf-8")).id
        except (OSError, DataError):  # never made, or pruned since
            return None

    def _made(self, place: Path, request: WorkspaceRequest) -> str | None:
        result = self._run(
            request.model_copy(
                update={
                    "id": "prepare", "command": packing_command(request.prepare, request.directory), "directory": ".",
                    "prepare": (), "patch": {}, "stdin": None, "junit": (), "minimum_tests": 0, "expected": None,
                    "results": PART_PATTERNS, "result_bytes": MAX_PART_BYTES, "total_result_bytes": MAX_ARCHIVE_BYTES,
                    "limits": request.limits.model_copy(update=_AMPLE),
                }
            )
        )  # fmt: skip
        if result.status is Status.SANDBOX_ERROR:
            return None
        if result.status is not Status.PASSED or any(file.problem for file in result.files):
            return request.snapshot
        try:
            made: Snapshot = add_command_outputs(self._store, self._store.get(request.snapshot), result.files)
        except DataError:
            return request.snapshot
        write_atomically(place, made.id)
        return made.id
