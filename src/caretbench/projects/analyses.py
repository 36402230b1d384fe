"""The analysis of a project in the store of snapshots: made once for all of its problems."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.projects.project import Taken, languages_in, read
from caretbench.syntax import ProjectAnalysis

_KEPT = 4
"""Projects whose analyses are kept; problems of one project follow each other."""


def analysis_of(
    snapshot: str, store: SnapshotStore | None = None, *, holding: str | None = None
) -> ProjectAnalysis:
    """What the files of a project hold; a snapshot never changes, so that it is analysed once.

    ``holding`` is a file that was mined: where it is too long to be mined by default, files of any length are
    analysed.

    Raises:
        DataError: the project is not in the store.
    """
    folder = (store or SnapshotStore()).folder
    found = _analysed(folder, snapshot)
    if holding is not None and holding not in found.files:
        found = _analysed(folder, snapshot, sys.maxsize)
    return found


@lru_cache(maxsize=_KEPT)
def _analysed(folder: Path, identity: str, most_lines: int | None = None) -> ProjectAnalysis:
    snapshot = SnapshotStore(folder).get(identity)
    files = frozenset(path for path, entry in snapshot.entries.items() if entry.kind == "file")
    taken = Taken(snapshot, files)
    return read(taken, languages_in(taken), most_lines=most_lines).analysis
