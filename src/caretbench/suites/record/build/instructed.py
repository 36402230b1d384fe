"""Problems of an edition whose instruction says how much to write: blocks that the project's tests decide (SCC)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.files import sha256_text
from caretbench.projects.answer_requests import workspace_request
from caretbench.suites.c3bench.build.builder import answers_to_refuse
from caretbench.suites.c3bench.build.scale_middles import proposed_middles, rejects_wrong_answers
from caretbench.suites.c3bench.build.sources import LANGUAGES
from caretbench.suites.record.build.recipe import EditionRecipe
from caretbench.suites.record.edition import EditionProject, RecordTask, block_hash, made_problem

_END: Final = "~instructed"
_REFERENCE: Final = "reference"
_SPARE: Final = 2
"""So many times as many are tried as are taken: some bodies without sense pass the tests that reach them."""


def instructed_tasks(
    recipe: EditionRecipe,
    project: EditionProject,
    tasks: Sequence[RecordTask],
    snapshot: Snapshot,
    engine: WorkspaceExecutor,
) -> tuple[RecordTask, ...]:
    """Return rows with an instruction for a share of the tasks, one of each overlap group.

    Each reference passes, and no wrong answer of C3-Bench's gate does: empty, a stub, the asked extent alone.
    """
    number = round(recipe.instructed * len(tasks)) if project.language in LANGUAGES else 0
    rows: dict[str, RecordTask] = {}
    for task in sorted(tasks, key=lambda task: sha256_text(str(recipe.seed), "instructed", task.id)):
        if len(rows) == _SPARE * number:
            break
        row = None if task.group in rows else _row(project.language, task, snapshot.read(task.path))
        if row is not None:
            rows[task.group] = row
    problems = {row.id: made_problem(project, row, snapshot) for row in rows.values()}
    decided = dict.fromkeys(problems, True)
    requests = [
        workspace_request(problem, text).model_copy(update={"id": f"{kind}:{name}"})
        for name, problem in problems.items()
        for kind, text in (
            (_REFERENCE, problem.reference),
            *((answer.name, answer.text) for answer in answers_to_refuse(problem)),
        )
    ]
    for result in engine.submit(requests):
        kind, _, name = result.id.partition(":")
        decided[name] &= (result.status is Status.PASSED) == (kind == _REFERENCE)
    return tuple(row for row in rows.values() if decided[row.id])[:number]


def _row(language: str, task: RecordTask, data: bytes) -> RecordTask | None:
    """Return the row of the statement or body that a task hides; None if it hides something else."""
    # Positions in a text with other line ends are not those of the file.
    if task.renamed or b"\r" in data:
        return None
    text = data.decode("utf-8", "replace")
    for middle in proposed_middles(text, language, tested=True):
        start, end = (len(text[:position].encode()) for position in (middle.start, middle.end))
        same = start <= task.start < end and data[start:end].strip() == data[task.start : task.end].strip()
        if same and middle.type == "block" and rejects_wrong_answers(text, middle, tested=True):
            return task.model_copy(
                update={
                    "id": f"{task.id}{_END}",
                    "start": start,
                    "end": end,
                    "suffix": end,
                    "block": block_hash(data, start, end),
                    "scale": middle.specification.model_dump(exclude_defaults=True),
                    "labels": {**task.labels, "scenario": "instructed"},
                }
            )
    return None
