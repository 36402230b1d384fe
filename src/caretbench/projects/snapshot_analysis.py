"""The analysis of a project in the store of snapshots: made once for all of its problems."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.projects.project import StoredProject, analyse_project, project_languages
from caretbench.syntax import Analysis

_KEPT = 4
"""Projects whose analyses are kept; problems of one project follow each other."""


def analyse_snapshot(
    snapshot: str, store: SnapshotStore | None = None, *, required_file: str | None = None
) -> Analysis:
    """What the files of a project hold; a snapshot never changes, so that it is analysed once.

    ``holding`` is a file that was mined: where it is too long to be mined by default, files of any length are
    analysed.

    Raises:
        DataError: the project is not in the store.
    """
    folder = (store or SnapshotStore()).folder
    found = _analysed(folder, snapshot)
    if required_file is not None and required_file not in found.files:
        found = _analysed(folder, snapshot, sys.maxsize)
    return found


@lru_cache(maxsize=_KEPT)
def _analysed(folder: Path, identity: str, most_lines: int | None = None) -> Analysis:
    snapshot = SnapshotStore(folder).get(identity)
    files = frozenset(path for path, entry in snapshot.entries.items() if entry.kind == "file")
    taken = StoredProject(snapshot, files)
    return analyse_project(taken, project_languages(taken), max_lines=most_lines).analysis
