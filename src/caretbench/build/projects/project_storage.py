"""Projects of users added to the store of snapshots, without files that no snapshot can contain."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore, matches_pattern
from caretbench.projects.project import StoredProject, ignored_patterns

_OUTPUT_FILES: Final = ("candidates.jsonl", "completions.jsonl", "scores.jsonl")
"""Files of which each folder of tasks, or of a run, has at least one, next to its manifest."""
STEPS_FILE: Final = ".steps.jsonl"
"""Results of an unfinished build's steps, in its output folder."""


def store_project(
    root: Path, store: SnapshotStore, ignore: Collection[str] = (), *, output: Path | None = None
) -> StoredProject:
    """Add a project to the store of snapshots and return it.

    Files that no snapshot can contain, such as sockets and links to the outside, are excluded with reasons; so are
    folders of tasks and of runs, and ``output``, the folder that the build writes.

    Raises:
        DataError: the folder is missing, empty or too large.
    """
    if not root.exists():
        raise DataError(f"{root}: no such folder")
    if not root.is_dir():
        raise DataError(f"{root}: a file; give the folder of a project")
    patterns = ignored_patterns(root, ignore)
    left_out = dict(_unfit(root, patterns, output))
    exact = tuple("/" + glob.escape(path) for path in left_out)
    snapshot = store.add(root, ignore=(*patterns, *exact))
    files = frozenset(path for path, entry in snapshot.entries.items() if entry.kind == "file")
    if not files:
        raise DataError(f"{root}: an empty folder; give the folder of a project")
    return StoredProject(snapshot, files, left_out)


def _unfit(root: Path, patterns: tuple[str, ...], output: Path | None) -> Iterator[tuple[str, str]]:
    """Yield the paths that no snapshot can contain, and folders that CaretBench wrote, with reasons."""
    real = os.path.realpath(root)
    written = os.path.realpath(output) if output is not None else None
    for folder, folders, files in os.walk(root, followlinks=False):
        above = Path(folder).relative_to(root).as_posix()
        prefix = "" if above == "." else f"{above}/"
        folders[:] = [name for name in folders if not matches_pattern(prefix + name, name, patterns)]
        paths = ((name, Path(folder) / name) for name in folders)
        outputs = {name for name, path in paths if os.path.realpath(path) == written or _is_output(path)}
        yield from ((prefix + name, "tasks or a run of CaretBench") for name in sorted(outputs))
        folders[:] = [name for name in folders if name not in outputs]
        for name in (*folders, *files):
            reason = None if matches_pattern(prefix + name, name, patterns) else _fault(Path(folder) / name, real)
            if reason is not None:
                yield prefix + name, reason


def _fault(path: Path, root: str) -> str | None:
    """Return the reason why no snapshot of a project can contain a path; None if one can."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        target = os.path.realpath(path)
        if path.readlink().is_absolute() or not (target == root or target.startswith(root + "/")):
            return "a link that leads out of the project"
        return None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return "neither file, link nor folder"
    return None if _is_utf8(path.name) else "its name is not UTF-8"


def _is_output(folder: Path) -> bool:
    """Return whether CaretBench wrote a folder: tasks, a run, or a folder that contains nothing else."""
    if folder.is_symlink():
        return False
    if _has_tasks_or_run(folder):
        return True
    try:
        paths = list(folder.iterdir())
    except OSError:  # the store of snapshots reports it
        return False
    return bool(paths) and all(path.is_dir() and not path.is_symlink() and _has_tasks_or_run(path) for path in paths)


def _has_tasks_or_run(folder: Path) -> bool:
    """Return whether a folder contains files of these names, and a manifest with a schema version."""
    if (folder / STEPS_FILE).is_file():
        return True
    if not any((folder / name).is_file() for name in _OUTPUT_FILES):
        return False
    try:
        return b'"schema_version"' in (folder / "manifest.json").read_bytes()
    except OSError:
        return False


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
