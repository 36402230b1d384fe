"""From an answer to the command that decides: the project with the answer in its place, under the check's tests.

A folder of tasks holds its project as plain files. They are taken into the store of snapshots when they are needed
first; there every file is kept by its content, and from there projects are laid into sandboxes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from caretbench.errors import DataError
from caretbench.execution.workspaces.engine import limits_for
from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.execution.workspaces.workspace import WORKSPACE_LIMITS, WorkspaceRequest
from caretbench.problem import FileSplice, Problem, Profile, TestsCheck
from caretbench.projects.runners import in_one_order, runs_pytest, selected


def tests_check(problem: Problem) -> TestsCheck:
    """The one check of a problem that is tests of its project.

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


def check_request(
    check: TestsCheck, snapshot: str, *, identity: str = "", needs_tests: bool = True
) -> WorkspaceRequest:
    """The command of a check in a project as it is.

    Of the tests that the check names those alone run, where its command is one of pytest; else all run.

    Args:
        check: The check.
        snapshot: The project's name in the store.
        identity: The request's id.
        needs_tests: False: how many tests ran, and what was printed, decides nothing.
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
        minimum_tests=check.minimum_tests if needs_tests else 0,
        expected=check.output if needs_tests else None,
        limits=limits_for(check.golden_s) if check.golden_s is not None else WORKSPACE_LIMITS,
    )
    request = in_one_order(request)
    return selected(request, check.tests) if check.tests and runs_pytest(check.command) else request


def project_key(check: TestsCheck, snapshot: str) -> str:
    """The command of a check in a project as it is, as the gate knows it: what ran already is not run again."""
    return repr(check_request(check, snapshot, identity="project"))


def workspace_request(
    problem: Problem, text: str | None, profile: Profile = "default", *, store: SnapshotStore | None = None
) -> WorkspaceRequest | None:
    """The command that decides whether ``text`` is right; None where it fails without a run (a null answer).

    The file that holds the span is replaced as a whole; nothing else of the project changes. Bounds follow from the
    time that the golden answer took.

    Args:
        problem: A problem whose answer goes into a file, and which tests check.
        text: The answer, cut by the policy.
        profile: Both profiles run the same command: the released code has no other rule that could be kept here.
        store: Where the project lies; the user's cache by default.

    Raises:
        DataError: the problem is none of these, or its project is not in the store.
    """
    del profile
    if text is None:
        return None
    splice = file_splice(problem)
    try:
        content = splice.content(original(splice.snapshot, splice.path, store), text)
    except ValueError as error:
        raise DataError(f"{problem.id}: {error}") from None
    request = check_request(tests_check(problem), splice.snapshot, identity=problem.id)
    return request.model_copy(update={"patch": {**request.patch, splice.path: content}})


def original(snapshot: str, path: str, store: SnapshotStore | None = None) -> bytes:
    """A file of a project as it was.

    Raises:
        DataError: the project is not in the store, or has no such file.
    """
    return _read(store.folder if store is not None else _default_store().folder, snapshot, path)


@lru_cache(maxsize=256)
def _read(folder: Path, snapshot: str, path: str) -> bytes:
    return SnapshotStore(folder).get(snapshot).read(path)


def _default_store() -> SnapshotStore:
    return SnapshotStore()


def take_projects(places: Iterable[tuple[str, Path]], store: SnapshotStore | None = None) -> None:
    """Make sure that projects are in the store: those that are not yet are taken in.

    Args:
        places: Names of snapshots, and the folders that hold them as plain files.
        store: The user's cache by default.

    Raises:
        DataError: a folder is not there, or does not hold what the name says.
    """
    store = store or SnapshotStore()
    for identity, place in places:
        if _is_there(store, identity):
            continue
        found = store.add(place, ignore=()).id
        if found != identity:
            raise DataError(
                f"{place}: not the project that the tasks were made of: it is {found[:12]} now; copy the folder again "
                "as it was made, with empty folders and executable bits"
            )


def _is_there(store: SnapshotStore, identity: str) -> bool:
    try:
        store.get(identity)
    except DataError:
        return False
    return True
