"""Run every reference and every mask of Codev-Bench problems once more, without the cache.

Usage: python benchmarks/codevbench_masks.py FOLDER [--jobs N]

Each block is run once, though it is a problem of several scenarios. A reference must pass the tests that decide, and
a mask of the hidden text, or of its block where none of it parses, must fail them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from caretbench.build.project_tasks.deciding_tests import mask_texts
from caretbench.build.validation.mutants import with_span
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.projects.answer_requests import file_splice, workspace_request
from caretbench.suites.codevbench.build.miner import block_span
from caretbench.suites.stored_tasks import stored_tasks


def main() -> None:
    """Run them and print the counts; end with status 1 if one is otherwise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    store = SnapshotStore()
    requests: dict[str, WorkspaceRequest] = {}
    seen = set()
    for problem in stored_tasks(given.folder):
        splice = file_splice(problem)
        if (splice.snapshot, splice.path, splice.start, splice.end) in seen:
            continue
        seen.add((splice.snapshot, splice.path, splice.start, splice.end))
        requests[f"reference {problem.id}"] = workspace_request(problem, problem.reference)
        for number, (place, text) in enumerate(mask_texts(store, problem, block_span(problem))):
            requests[f"mask {problem.id} {number}"] = workspace_request(with_span(problem, place), text)
    engine = WorkspaceExecutor(given.jobs, use_cache=False)
    counts: Counter[tuple[str, bool]] = Counter()
    not_compiled = 0
    named = (request.model_copy(update={"id": name}) for name, request in requests.items())
    for result in engine.submit(named):
        kind = result.id.partition(" ")[0]
        counts[kind, result.status is Status.PASSED] += 1
        not_compiled += kind == "mask" and result.status is Status.COMPILE_ERROR
        if (result.status is Status.PASSED) is not (kind == "reference"):
            sys.stdout.write(f"{result.id}: {result.status.value} {result.reason}\n")
    engine.close()
    sys.stdout.write(
        f"{counts['reference', True]} of {counts['reference', True] + counts['reference', False]} references pass, "
        f"{counts['mask', False]} of {counts['mask', True] + counts['mask', False]} masks fail "
        f"({not_compiled} of them do not compile)\n"
    )
    sys.exit(int(bool(counts["reference", False] or counts["mask", True])))


if __name__ == "__main__":
    main()
