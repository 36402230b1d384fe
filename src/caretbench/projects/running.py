"""From an answer to the command that decides: the project with the answer in its place, under the check's tests.

A folder of tasks holds its project as plain files. They are taken into the store of snapshots when they are needed
first; there every file is kept by its content, and from there projects are laid into sandboxes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import limits_from_cpu_time
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS, WorkspaceRequest
from caretbench.problem import FileSplice, Problem, TestsCheck
from caretbench.projects.runners import in_one_order, runs_pytest, selected


def tests_check(problem: Problem) -> TestsCheck:
    """Return the one check of a problem that is tests of its project.

    Raises:
        DataError: it has none, or several.
    """
    found = [check for check in problem.checks if isinstance(check, TestsCheck)]
    if len(found) != 1:
        raise DataError(f"{problem.id}: {len(found)} checks by tests; exactly one is run")
    return found[0]


def file_splice(problem: Problem) -> FileSplice:
    """Where the answer goes.

    Raises:
        DataError: it goes into no file of a project.
    """
    if not isinstance(problem.splice, FileSplice):
        raise DataError(f"{problem.id}: its answer goes into no file of a project, so tests cannot check it")
    return problem.splice


def check_request(check: TestsCheck, snapshot: str, *, identity: str = "") -> WorkspaceRequest:
    """Return the command of a check in a project as it is.

    Of the tests that the check names those alone run, where its command is one of pytest; else all run.
    """
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
        limits=limits_from_cpu_time(check.reference_s) if check.reference_s is not None else WORKSPACE_LIMITS,
    )
    request = in_one_order(request)
    return selected(request, check.tests) if check.tests and runs_pytest(check.command) else request


def project_key(check: TestsCheck, snapshot: str) -> str:
    """Return the command of a check in a project as it is, as the gate knows it: what ran already is not run again."""
    return repr(check_request(check, snapshot, identity="project"))


def workspace_request(problem: Problem, text: str, *, store: SnapshotStore | None = None) -> WorkspaceRequest:
    """Return the command that decides whether ``text`` is right: the file that holds the span is replaced as a whole.

    Raises:
        DataError: the answer goes into no file, no tests check it, or the project is not in the store.
    """
    splice = file_splice(problem)
    try:
        content = splice.content(original(splice.snapshot, splice.path, store), text)
    except ValueError as error:
        raise DataError(f"{problem.id}: {error}") from None
    request = check_request(tests_check(problem), splice.snapshot, identity=problem.id)
    return request.model_copy(update={"patch": {**request.patch, splice.path: content}})


def original(snapshot: str, path: str, store: SnapshotStore | None = None) -> bytes:
    """Return a file of a project as it was.

    Raises:
        DataError: the project is not in the store, or has no such file.
    """
    return _read((store or SnapshotStore()).folder, snapshot, path)


@lru_cache(maxsize=256)
def _read(folder: Path, snapshot: str, path: str) -> bytes:
    return SnapshotStore(folder).get(snapshot).read(path)


def take_projects(places: Iterable[tuple[str, Path]], store: SnapshotStore | None = None) -> None:
    """Make sure that projects are in the store: those that are not yet are taken in.

    ``places`` are names of snapshots, and the folders that hold them as plain files.

    Raises:
        DataError: a folder is not there, or does not hold what the name says.
    """
    store = store or SnapshotStore()
    for identity, place in places:
        with contextlib.suppress(DataError):
            store.get(identity)
            continue
        found = store.add(place, ignore=()).id
        if found != identity:
            raise DataError(
                f"{place}: not the project that the tasks were made of: it is {found[:12]} now; copy the folder again "
                "as it was made, with empty folders and executable bits"
            )
