"""Requests that check an answer by a project's tests, and import of projects into the store of snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.errors import DataError
from caretbench.problem import FileSplice, Problem, TestsCheck

if TYPE_CHECKING:
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore
    from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest

# The engine of projects is imported where a request is made: suites are loaded without it (60 modules).

_REPORT_BYTES = 16 << 20
"""Maximum size of a report of a project's tests: html5lib's has more than the usual 4 MB."""


def get_tests_check(problem: Problem) -> TestsCheck:
    """Return the only tests check of a problem.

    Raises:
        DataError: it has none, or several.
    """
    checks = [check for check in problem.checks if isinstance(check, TestsCheck)]
    if len(checks) != 1:
        raise DataError(f"{problem.id}: {len(checks)} checks by tests; exactly one is run")
    return checks[0]


def file_splice(problem: Problem) -> FileSplice:
    """Return the span of a project's file that an answer replaces.

    Raises:
        DataError: the problem is not in a file of a project.
    """
    if not isinstance(problem.splice, FileSplice):
        raise DataError(f"{problem.id}: its answer is not in a file of a project, so tests cannot check it")
    return problem.splice


def check_request(check: TestsCheck, snapshot: str, *, identity: str = "") -> WorkspaceRequest:
    """Return the request that runs a check on an unchanged project.

    Only the tests named by the check run, if it names any: tests under pytest, else test files.

    Raises:
        DataError: the runner cannot exclude the check's excluded tests.
    """
    from caretbench.execution.workspaces.workspace_executor import limits_from_cpu_time
    from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS, WorkspaceRequest
    from caretbench.projects.runner_options import (
        runs_pytest,
        with_excluded_tests,
        with_selected_tests,
        with_test_files,
        without_shuffling,
    )

    request = WorkspaceRequest(
        id=identity or snapshot,
        snapshot=snapshot,
        command=check.command,
        prepare=check.prepare,
        needs=check.needs,
        environment=check.environment,
        directory=check.directory,
        bundle=check.bundle,
        junit=check.junit,
        minimum_tests=check.minimum_tests,
        expected=check.output,
        result_bytes=_REPORT_BYTES,
        limits=limits_from_cpu_time(check.reference_s) if check.reference_s is not None else WORKSPACE_LIMITS,
    )
    remaining = with_excluded_tests(without_shuffling(request), check.excluded_tests)
    if remaining is None:
        command, names = " ".join(check.command), ", ".join(check.excluded_tests)
        raise DataError(f"{command}: single tests cannot be excluded ({names}); name a --test-command without them")
    if check.tests and runs_pytest(check.command):
        return with_selected_tests(remaining, check.tests)
    chosen = with_test_files(remaining.command, check.tests, check.tests) if check.tests else None
    return remaining.model_copy(update={"command": chosen}) if chosen else remaining


def check_key(check: TestsCheck, snapshot: str) -> str:
    """Return the key of a check's result on an unchanged project, by which the gate reuses earlier runs."""
    return repr(check_request(check, snapshot, identity="project"))


def workspace_request(problem: Problem, text: str, *, store: SnapshotStore | None = None) -> WorkspaceRequest:
    """Return the request that runs a problem's tests with the answer ``text`` in its file.

    Raises:
        DataError: the problem is not in a file of a project, has no tests, or its project is not in the store.
    """
    splice = file_splice(problem)
    try:
        content = splice.content(original_file(splice.snapshot, splice.path, store), text)
    except ValueError as error:
        raise DataError(f"{problem.id}: {error}") from None
    request = check_request(get_tests_check(problem), splice.snapshot, identity=problem.id)
    return request.model_copy(update={"patch": {**request.patch, splice.path: content}})


def original_file(snapshot: str, path: str, store: SnapshotStore | None = None) -> bytes:
    """Return the content of a project's file before any answer.

    Raises:
        DataError: the project is not in the store, or has no such file.
    """
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    return _read((store or SnapshotStore()).folder, snapshot, path)


@lru_cache(maxsize=256)
def _read(folder: Path, snapshot: str, path: str) -> bytes:
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    return SnapshotStore(folder).get(snapshot).read(path)


def store_projects(folders: Iterable[tuple[str, Path]], store: SnapshotStore | None = None) -> None:
    """Add projects to the store, unless they are there.

    ``folders`` are ids of snapshots, each with the folder of its plain files.

    Raises:
        DataError: a folder is missing, or its contents do not have the hash in the id.
    """
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    store = store or SnapshotStore()
    for identity, root in folders:
        with contextlib.suppress(DataError):
            store.get(identity)
            continue
        stored = store.add(root, ignore=()).id
        if stored != identity:
            raise DataError(
                f"{root}: not the project that the tasks were made of: it is {stored[:12]} now; copy the folder again "
                "as it was made, with empty folders and executable bits"
            )
