"""Reader of the tasks that a build of projects wrote: ``problems.jsonl`` and the snapshots next to it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from caretbench.files import DataError, read_rows
from caretbench.problem import FileSplice, Problem, StoredRow
from caretbench.projects.answer_requests import file_splice, store_projects

SOURCES_FILE: Final = "sources.jsonl"
"""Rows of a build of several sources, each with the folder of its tasks."""


class SourceOutcome(StoredRow):
    """The end of one source: the number of problems in ``folder``, or 0 and the reason."""

    source: str
    folder: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")
    """Name of its folder, next to this file."""
    problems: int = 0
    reason: str = ""
    origin: str = ""
    revision: str | None = None
    sha256: str | None = None
    licence: str | None = None


def snapshot_path(root: Path, identity: str) -> Path:
    """Return the folder of a snapshot in a folder of tasks.

    Raises:
        DataError: ``identity`` is not the name of a snapshot.
    """
    if not identity.isalnum():
        raise DataError(f"{root}: {identity!r} is not the name of a snapshot")
    return root / "snapshots" / identity


def read_tasks(root: Path) -> list[Problem]:
    """Return the tasks to run.

    Raises:
        DataError: the build is unfinished, a row is malformed, or a snapshot is missing.
    """
    path = root / "problems.jsonl"
    if not path.is_file():
        state = "its build has not ended" if (root / "manifest.json").exists() else "no folder of tasks"
        raise DataError(f"{root}: {state} (no problems.jsonl in it)")
    tasks = list(read_rows(path, Problem))
    snapshots = set()
    for task in tasks:
        if not isinstance(task.splice, FileSplice):
            raise DataError(f"{path}: {task.id} has no span in a file of a project")
        # Without a check no answer would be run, and the suite would seem to execute nothing.
        if all(check.kind != "tests" for check in task.checks):
            raise DataError(f"{path}: {task.id} has no tests")
        snapshots.add(task.splice.snapshot)
    for snapshot in snapshots:
        if not snapshot_path(root, snapshot).is_dir():
            raise DataError(f"{root}: the project {snapshot} is missing in snapshots/")
    return tasks


def stored_tasks(root: Path) -> list[Problem]:
    """Return the tasks of a folder, or of the folders of several sources; add their projects to the store.

    Raises:
        DataError: a build is unfinished, a row is malformed, or a project is missing or changed.
    """
    # A build of several sources has a folder for each.
    is_of_several = (root / SOURCES_FILE).is_file()
    folders = [root / row.folder for row in read_outcomes(root) if row.problems] if is_of_several else [root]
    tasks = []
    for folder in folders:
        read = read_tasks(folder)
        projects = dict.fromkeys(file_splice(task).snapshot for task in read)
        store_projects((identity, snapshot_path(folder, identity)) for identity in projects)
        tasks += read
    return tasks


def read_outcomes(folder: Path) -> tuple[SourceOutcome, ...]:
    """Return the rows of a folder; DataError if one is malformed."""
    return tuple(read_rows(folder / SOURCES_FILE, SourceOutcome))
