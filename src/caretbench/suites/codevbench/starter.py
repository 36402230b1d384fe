"""Loader of the starter set: problems of the sample project ``depot``.

``starter_set/problems.jsonl`` is the file of a folder that ``caretbench build codevbench`` made of it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.project import store_project
from caretbench.projects.settings import read_settings
from caretbench.suites.sample_projects import sample_projects

STARTER_PROJECT: Final = "depot"


def starter_path() -> Path:
    """Return the file with the problems."""
    return Path(str(resources.files("caretbench.suites.codevbench"))) / "starter_set" / "problems.jsonl"


def starter_problems(store: SnapshotStore | None = None) -> list[Problem]:
    """Return the problems; the sample project is added to the store.

    Raises:
        DataError: the problems are of another version of the project.
    """
    root = sample_projects()[STARTER_PROJECT]
    snapshot = store_project(root, store or SnapshotStore(), read_settings(root).ignore).snapshot
    problems = list(read_rows(starter_path(), Problem))
    if any(file_splice(problem).snapshot != snapshot.id for problem in problems):
        raise DataError(f"{starter_path()}: made of another version of {root.name}; build it again")
    return problems
