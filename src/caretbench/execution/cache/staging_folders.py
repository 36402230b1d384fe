"""Atomic creation of folders: they appear whole, by a rename; abandoned ones are removed.

A folder in use is locked; a killed process loses its lock. Times are not compared, since clocks jump.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from caretbench.file_locks import lock_file

_PREFIX = ".building-"
_LOCK = ".held-"


@contextlib.contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Yield an empty folder below ``parent`` to build in; it is removed afterwards, unless it was renamed.

    Raises:
        OSError: it cannot be made, for example because the disk is full.
    """
    with contextlib.ExitStack() as stack:
        with _exclusive(parent):
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            held = _lock_of(folder)
            stream = stack.enter_context(held.open("ab"))
            lock_file(stream)
        stack.callback(held.unlink, missing_ok=True)
        # mkdtemp makes a folder for its owner alone, and programs run as other users.
        folder.chmod(0o755)
        yield folder


def remove_abandoned(parent: Path) -> None:
    """Remove the unfinished folders of killed processes below ``parent``."""
    left = [*parent.glob(f"{_PREFIX}*"), *parent.glob(f"{_LOCK}*")]
    if not left:
        return
    with _exclusive(parent):
        for name in {path.name.removeprefix(_PREFIX).removeprefix(_LOCK) for path in left}:
            folder = parent / f"{_PREFIX}{name}"
            with contextlib.suppress(OSError), _lock_of(folder).open("ab") as stream:
                lock_file(stream, wait=False)
                shutil.rmtree(folder, ignore_errors=True)
                _lock_of(folder).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    # Next to the folder, not in it: the folder is renamed, with what is in it.
    return folder.with_name(_LOCK + folder.name.removeprefix(_PREFIX))


@contextlib.contextmanager
def _exclusive(parent: Path) -> Iterator[None]:
    """Exclude sweeps between making a folder and locking it."""
    with (parent / ".sweeping").open("ab") as stream:
        lock_file(stream)
        yield


def folder_digest(folder: Path) -> str:
    """Return SHA-256 of all names, kinds, executable bits, link targets and contents below a folder.

    Untrusted programs may have written it: links are not followed, and what is neither file, link nor folder counts by
    its kind alone.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                status = entry.stat(follow_symlinks=False)
                kind = stat.S_IFMT(status.st_mode)
                path = os.fsencode(os.path.relpath(entry.path, folder))
                digest.update(b"%d %o %d " % (len(path), kind, bool(status.st_mode & stat.S_IXUSR)) + path)
                if kind == stat.S_IFDIR:
                    pending.append(Path(entry.path))
                elif kind == stat.S_IFLNK:
                    target = os.readlink(os.fsencode(entry.path))  # noqa: PTH115  pathlib drops "./"
                    digest.update(b"%d " % len(target) + target)
                elif kind == stat.S_IFREG:
                    # A compiler may have put a link or a pipe in the file's place since it was looked at: neither is
                    # followed or waited for.
                    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                    with os.fdopen(descriptor, "rb") as stream:
                        digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
