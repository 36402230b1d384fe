"""Problems in repositories of an archive: the answer goes into its file, and a command of the repository decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.conventional.descriptions import RepositoryCheck
from caretbench.files import DataError
from caretbench.problem import Problem, TestsCheck
from caretbench.projects.file_spans import BOM, span_splice, visible_text
from caretbench.syntax import Span

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
        snapshot = self._snapshot(where, name)
        entry = snapshot.entries.get(path)
        if entry is None or entry.kind != "file":
            raise DataError(f"{where}: {folder} has no file {path[:_LONG]!r}")
        data, middle = snapshot.read(path), caret.prefix + problem.reference
        try:
            shown = visible_text(data)
        except UnicodeDecodeError:
            shown = ""
        if shown != middle + caret.suffix:
            raise DataError(f"{where}: {folder / path} is not prefix, reference and suffix of the row")
        span = Span(_position(data, caret.prefix), _position(data, middle))
        return problem.model_copy(
            update={
                "splice": span_splice(path, span, snapshot.id, data),
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


def _position(data: bytes, shown: str) -> int:
    """Return the number of bytes of a file whose visible text begins with ``shown`` up to its end."""
    # The rows have line feeds; the file may have CRLF.
    count = shown.count("\n")
    returns = sum(line.endswith(b"\r") for line in data.split(b"\n", count)[:count])
    return len(BOM) * data.startswith(BOM) + len(shown.encode()) + returns
