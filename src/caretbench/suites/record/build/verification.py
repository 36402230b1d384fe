"""Verification of an edition: its problems made again from the archives, references that pass, masks that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.files import sha256_text
from caretbench.progress import Progress
from caretbench.projects.answer_requests import workspace_request
from caretbench.suites.record.edition import Edition, edition_problems
from caretbench.suites.suite_types import BuildResult

_EMPTY: Final = "mask"
_REFERENCE: Final = "reference"


def verify_edition(
    edition: Edition, sample: int, seed: int, engine: Callable[[], WorkspaceEngine], progress: Progress
) -> BuildResult:
    """Return the result: problems that are byte for byte those of the edition, and faults of a sample that was run.

    Raises:
        DataError: none of its projects is here.
    """
    problems, missing = edition_problems(edition, SnapshotStore())
    chosen = sorted(problems, key=lambda problem: sha256_text(str(seed), problem.id))[: sample or None]
    requests = [
        workspace_request(problem, text).model_copy(update={"id": f"{kind}:{problem.id}"})
        for problem in chosen
        for kind, text in ((_REFERENCE, problem.reference), (_EMPTY, ""))
    ]
    progress("answers", 0, len(requests))
    faults: list[str] = []
    failed: Counter[str] = Counter()
    for result in engine().submit(requests):
        progress("answers", 1, None)
        kind, _, identity = result.id.partition(":")
        passed = result.status is Status.PASSED
        if passed != (kind == _REFERENCE):
            failed[kind] += 1
            faults.append(f"{identity}: its {kind} ends as {result.status.value}")
    languages = Counter(problem.caret.language for problem in chosen)
    lines = (
        f"{len(problems)} of {len(edition.tasks)} problems are byte for byte those of {edition.name}",
        f"{len(chosen)} were run ({', '.join(f'{name} {count}' for name, count in sorted(languages.items()))}): "
        f"{failed[_REFERENCE]} references fail, {failed[_EMPTY]} masks pass",
    )
    return BuildResult(
        lines=(*lines, *sorted(faults)),
        numbers={
            "same": len(problems), "problems": len(edition.tasks), "run": len(chosen),
            "failing_references": failed[_REFERENCE], "passing_masks": failed[_EMPTY],
        },
        notes=tuple(missing.values()),
        usable=not faults and not missing,
    )  # fmt: skip
