"""Cached static analysis of a project's snapshot, shared by all its problems."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.projects.project import StoredProject, analyse_project, project_languages
from caretbench.syntax import ProjectAnalysis

if TYPE_CHECKING:
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

_KEPT = 4
"""Maximum number of analyses in memory; problems of one project follow each other."""


def analyse_snapshot(
    snapshot: str, store: SnapshotStore | None = None, *, required_file: str | None = None
) -> ProjectAnalysis:
    """Return the analysis of a snapshot's files.

    ``required_file`` is a file that must be in it: if it exceeds the default length limit, files of any length are
    analysed.

    Raises:
        DataError: the project is not in the store.
    """
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    folder = (store or SnapshotStore()).folder
    found = _analysed(folder, snapshot)
    if required_file is not None and required_file not in found.files:
        found = _analysed(folder, snapshot, sys.maxsize)
    return found


@lru_cache(maxsize=_KEPT)
def _analysed(folder: Path, identity: str, max_lines: int | None = None) -> ProjectAnalysis:
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    snapshot = SnapshotStore(folder).get(identity)
    files = frozenset(path for path, entry in snapshot.entries.items() if entry.kind == "file")
    taken = StoredProject(snapshot, files)
    return analyse_project(taken, project_languages(taken), max_lines=max_lines).analysis
