"""Problems in repositories of an archive: the answer goes into its file, and a command of the repository decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from caretbench.conventional.descriptions import RepositoryCheck
from caretbench.files import DataError
from caretbench.problem import FileSplice, Problem, TestsCheck


def in_repositories(problems: Sequence[Problem], project: RepositoryCheck, root: Path) -> Iterator[Problem]:
    """Yield the problems with splices into their repositories, which are added to the store of snapshots.

    Raises:
        DataError: a repository is missing, or its file has another text at the caret.
    """
    from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore

    store, snapshots = SnapshotStore(), dict[str, Snapshot]()
    base = root if root.is_dir() else root.parent
    for problem in problems:
        caret = problem.caret
        name, path = caret.repository or "", caret.path or ""
        folder = base / project.folder / name
        if name not in snapshots:
            if not folder.is_dir():
                raise DataError(f"{problem.id}: the repository {folder} is missing; unpack the archive there")
            snapshots[name] = store.add(folder)
        snapshot = snapshots[name]
        before, middle = caret.prefix.encode(), problem.reference.encode()
        if path not in snapshot.entries:
            raise DataError(f"{problem.id}: {folder} has no file {path}")
        content = snapshot.read(path)
        if content != before + middle + caret.suffix.encode():
            raise DataError(f"{problem.id}: {folder / path} is not prefix, reference and suffix of the row")
        yield problem.model_copy(
            update={
                "splice": FileSplice(snapshot=snapshot.id, path=path, start=len(before), end=len(before) + len(middle)),
                "checks": (TestsCheck(command=project.command),),
            }
        )
