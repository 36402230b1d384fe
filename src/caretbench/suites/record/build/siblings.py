"""Siblings of an edition's problems with changed names: chosen by the seed, and decided by the gate."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.extraction.policies import get_policy
from caretbench.files import sha256_text
from caretbench.projects.answer_requests import check_request
from caretbench.suites.record.build.layout import laid_out_project, lay_renamed
from caretbench.suites.record.build.recipe import EditionRecipe, RecipeProject
from caretbench.suites.record.build.renaming import RenamedFile, renamed_files
from caretbench.suites.record.edition import EditionProject, RecordTask, block_hash, laid_out_folder, made_problem

SIBLING: Final = "~renamed"
"""End of the id of a sibling."""
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_SPARE: Final = 2
"""So many times as many siblings are tried as are wanted: the gate refuses some."""


class Siblings(NamedTuple):
    """Rows of siblings, and the identity of the files with changed names; empty if there are none."""

    tasks: tuple[RecordTask, ...] = ()
    snapshot: str = ""


def renamed_siblings(
    recipe: EditionRecipe,
    entry: RecipeProject,
    project: EditionProject,
    tasks: Sequence[RecordTask],
    root: Path,
    engine: WorkspaceExecutor,
) -> Siblings:
    """Return the valid siblings of a share of the tasks."""
    number = round(recipe.renamed * len(tasks))
    stored = laid_out_project(root)
    files = renamed_files(stored, entry.language, {task.path for task in tasks})
    order = sorted(tasks, key=lambda task: sha256_text(str(recipe.seed), "renamed", task.id))
    changed = [task for task in order if task.path in files and files[task.path].changed(task.start, task.end)]
    # Where other files of the project or its tests need an old name, the tests fail, and the file stays as it is.
    working = {task.path for task in changed[: _SPARE * number]}
    files = {path: files[path] for path in sorted(working) if _passes(project, stored.snapshot, path, files, engine)}
    chosen = [task for task in changed if task.path in files][: _SPARE * number]
    if not chosen:
        return Siblings()
    files = {task.path: files[task.path] for task in chosen}
    identity = lay_renamed(entry, project.layout, root, files)
    snapshot = laid_out_project(laid_out_folder(project.layout, entry.name, identity)).snapshot
    rows = [_sibling(task, stored.snapshot.read(task.path), files[task.path]) for task in chosen]
    gate = WorkspaceGate(engine, get_policy("block"), mutates_values=True)
    verdicts = gate.decide([made_problem(project, row, snapshot) for row in rows])
    valid = {verdict.problem_id for verdict in verdicts if verdict.verdict == "valid"}
    kept = [row for row in rows if row.id in valid][:number]
    if not kept:
        return Siblings()
    # Files without a sibling keep their names, so that the rows alone say which files change.
    files = {row.path: files[row.path] for row in kept}
    return Siblings(tuple(sorted(kept, key=lambda row: row.id)), lay_renamed(entry, project.layout, root, files))


def _passes(
    project: EditionProject, snapshot: Snapshot, path: str, files: Mapping[str, RenamedFile], engine: WorkspaceExecutor
) -> bool:
    requests = [
        check_request(check, snapshot.id, identity=f"renamed:{path}:{number}").model_copy(
            update={"patch": {path: files[path].data}}
        )
        for number, check in enumerate(project.checks)
    ]
    return all(result.status is Status.PASSED for result in engine.submit(requests))


def _sibling(task: RecordTask, original: bytes, file: RenamedFile) -> RecordTask:
    start, end = file.moved(task.start), file.moved(task.end)
    parts = [(0, task.end), *([] if task.suffix is None else [(task.suffix, len(original))])]
    words = sum(len(_WORD.findall(original[first:last])) for first, last in parts)
    changed = sum(file.changed(first, last) for first, last in parts)
    return task.model_copy(
        update={
            "id": f"{task.id}{SIBLING}",
            "sha256": hashlib.sha256(file.data).hexdigest(),
            "block": block_hash(file.data, start, end),
            "start": start,
            "end": end,
            "suffix": None if task.suffix is None else file.moved(task.suffix),
            "renamed": True,
            "labels": {**task.labels, "names": "renamed", "changed_names": round(changed / max(1, words), 3)},
        }
    )
