"""Problems in repositories of an archive: the answer goes into its file, and a command of the repository decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.conventional.descriptions import RepositoryCheck
from caretbench.files import DataError
from caretbench.problem import FileSplice, Problem, TestsCheck

_LONG = 80

if TYPE_CHECKING:
    from caretbench.execution.workspaces.snapshot_store import Snapshot


class Repositories:
    """Repositories of an archive, added to the store of snapshots as problems name them.

    Args:
        project: The check of the answers.
        root: The archive's folder, or a file in it.
    """

    def __init__(self, project: RepositoryCheck, root: Path) -> None:
        self._project = project
        self._folder = (root if root.is_dir() else root.parent) / project.folder
        self._snapshots: dict[str, Snapshot] = {}

    def complete(self, where: str, problem: Problem) -> Problem:
        """Return a problem with a splice into its repository.

        Raises:
            DataError: the repository is missing, or its file has another text at the caret.
        """
        caret = problem.caret
        name, path = caret.repository or "", caret.path or ""
        folder = self._folder / name
        before, middle = caret.prefix.encode(), problem.reference.encode()
        snapshot = self._snapshot(where, name)
        entry = snapshot.entries.get(path)
        if entry is None or entry.kind != "file":
            raise DataError(f"{where}: {folder} has no file {path[:_LONG]!r}")
        if snapshot.read(path) != before + middle + caret.suffix.encode():
            raise DataError(f"{where}: {folder / path} is not prefix, reference and suffix of the row")
        return problem.model_copy(
            update={
                "splice": FileSplice(snapshot=snapshot.id, path=path, start=len(before), end=len(before) + len(middle)),
                "checks": (TestsCheck(command=self._project.command),),
            }
        )

    def _snapshot(self, where: str, name: str) -> Snapshot:
        from caretbench.execution.workspaces.snapshot_store import SnapshotStore

        if name not in self._snapshots:
            folder = self._folder / name
            # An empty name would be the folder of all repositories. Path.is_dir raises where a name is too long.
            if not name or not os.path.isdir(folder):  # noqa: PTH112
                raise DataError(f"{where}: no repository {name[:_LONG]!r} in {self._folder}; unpack the archive there")
            self._snapshots[name] = SnapshotStore().add(folder)
        return self._snapshots[name]
