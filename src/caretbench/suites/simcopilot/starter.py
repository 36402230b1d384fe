"""Loader of the starter set: valid tasks mined from the sample projects of the package.

``starter_tasks/PROJECT.jsonl`` has their spans and labels, ``starter_tasks/checks/PROJECT.jsonl`` the checks that
building detects; the texts are in ``caretbench/samples/PROJECT``. ``benchmarks/simcopilot_starter.py`` writes both
from a folder of tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Literal

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import DataError, read_rows
from caretbench.problem import FileSplice, Label, Problem, Row, TestsCheck
from caretbench.projects.file_spans import file_caret, visible_text
from caretbench.projects.project import ignored_patterns
from caretbench.projects.settings import ProjectSettings, read_settings
from caretbench.suites.sample_projects import sample_projects

_DIGITS = 8


class StarterTask(Row):
    """One task without its texts. ``sha256`` is the beginning of the hash of its file."""

    path: str
    sha256: str
    start: int
    end: int
    newline: Literal["\n", "\r\n"] = "\n"
    language: str
    mode: Literal["infill", "suffix_hidden"]
    check: str
    """Name of the project's check that tests the answers."""
    minimum_tests: int = 0
    reference_s: float
    overlap_group: str | None = None
    labels: Mapping[str, Label]


def starter_tasks_path(project: str) -> Path:
    """Return the file with the tasks of a sample project."""
    return Path(str(resources.files("caretbench.suites.simcopilot"))) / "starter_tasks" / f"{project}.jsonl"


class StarterCheck(Row):
    """One check of a sample project, by the name that tasks use."""

    name: str
    check: TestsCheck


def starter_checks_path(project: str) -> Path:
    """Return the file with the checks of a sample project."""
    return starter_tasks_path(project).parent / "checks" / f"{project}.jsonl"


def load(store: SnapshotStore | None = None) -> list[Problem]:
    """Return the tasks of all sample projects; the projects are added to the store.

    Raises:
        DataError: the tasks do not fit the files of the project.
    """
    store = store or SnapshotStore()
    problems = []
    for name, root in sample_projects().items():
        if starter_tasks_path(name).is_file():
            problems += _load(name, root, store)
    return problems


def _load(name: str, root: Path, store: SnapshotStore) -> list[Problem]:
    settings = read_settings(root)
    snapshot = store.add(root, ignore=ignored_patterns(root, settings.ignore))
    checks = {entry.name: entry.check for entry in read_rows(starter_checks_path(name), StarterCheck)}
    texts: dict[str, bytes] = {}
    problems = []
    for task in read_rows(starter_tasks_path(name), StarterTask):
        data = texts.setdefault(task.path, snapshot.read(task.path))
        if text_digest(data) != task.sha256 or task.check not in checks:
            raise DataError(f"{starter_tasks_path(name)}: made of another {name}; mine it again")
        measured = {"minimum_tests": task.minimum_tests, "reference_s": task.reference_s}
        check = checks[task.check].model_copy(update=measured)
        problems.append(_problem(task, settings, snapshot.id, data, check))
    return problems


def _problem(task: StarterTask, settings: ProjectSettings, snapshot: str, data: bytes, check: TestsCheck) -> Problem:
    name = str(task.labels["project"])
    return Problem(
        id=f"{name}/{task.path}#{task.sha256}:{task.start}-{task.end}:{task.mode}",
        suite="simcopilot",
        shown=file_caret(
            task.language, task.path, data, task.start, None if task.mode == "suffix_hidden" else task.end
        ),
        splice=FileSplice(snapshot=snapshot, path=task.path, start=task.start, end=task.end, newline=task.newline),
        reference=visible_text(data[task.start : task.end]),
        checks=(check,),
        labels=task.labels,
        cluster=name,
        overlap_group=task.overlap_group,
        provenance=settings.provenance(name),
    )


def text_digest(data: bytes) -> str:
    """Return the beginning of a file's hash, as the rows have it."""
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
