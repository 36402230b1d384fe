"""Write the starter set's tasks and checks of a sample project from a folder that ``caretbench build simcopilot`` made.

Usage: python benchmarks/simcopilot_starter.py TASKS
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from caretbench.build.project_tasks.task_folder import TaskFolder
from caretbench.build.projects.setup.command_detection import NamedCheck, project_checks
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_rows
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, get_tests_check, store_projects
from caretbench.projects.settings import read_settings
from caretbench.suites.sample_projects import sample_projects
from caretbench.suites.simcopilot.starter import (
    StarterCheck,
    StarterTask,
    starter_checks_path,
    starter_tasks_path,
    text_digest,
)


def starter_task(problem: Problem, content: bytes, checks: Sequence[NamedCheck]) -> StarterTask:
    """Return a mined task without its texts; its check is the first of ``checks`` for its file.

    Raises:
        DataError: the problem is no mined task, or no check is for its file.
    """
    splice, decides = file_splice(problem), get_tests_check(problem)
    check = next((entry for entry in checks if entry.applies_to(splice.path)), None)
    if check is None:
        raise DataError(f"{problem.id}: no check of the project is for {splice.path}")
    return StarterTask.model_validate(
        {
            "path": splice.path, "sha256": text_digest(content), "start": splice.start, "end": splice.end,
            "newline": splice.newline, "language": problem.caret.language, "mode": problem.label("mode"),
            "check": check.name, "minimum_tests": decides.minimum_tests, "reference_s": decides.reference_s,
            "overlap_group": problem.overlap_group, "labels": problem.labels,
        }
    )  # fmt: skip


def main() -> None:
    """Write them."""
    folder, store = TaskFolder(Path(sys.argv[1])), SnapshotStore()
    manifest = folder.manifest()
    problems = folder.problems()
    store_projects([(manifest.snapshot, folder.snapshot_path(manifest.snapshot))], store)
    snapshot = store.get(manifest.snapshot)
    settings = read_settings(sample_projects()[manifest.project])
    checks = project_checks(snapshot, manifest.languages, settings=settings.checks)
    rows = [starter_task(one, snapshot.read(file_splice(one).path), checks) for one in problems]
    path = starter_tasks_path(manifest.project)
    places = (path, starter_checks_path(manifest.project))
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, rows)
    named = project_checks(snapshot, (), settings=settings.checks)
    write_rows(places[1], [StarterCheck(name=one.name, check=one.check) for one in named])
    sys.stdout.write(f"{path}: {len(rows)} tasks\n")


if __name__ == "__main__":
    main()
