"""Locks on open files and on folders, and temporary folders; both end with the process that holds them.

On POSIX systems a lock is advisory (``flock``). On Windows one byte far behind the end of the file is locked, which
leaves its content readable; there are no shared locks there, and a folder is locked by a file in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR: Final = 1 << 30
"""Offset in bytes of the byte that is locked on Windows."""
_HELD: Final = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""Errors of a lock that others hold."""
_FOLDER_LOCK: Final = ".caretbench-lock"


class OpenFile(Protocol):
    """A file object with a descriptor."""

    def fileno(self) -> int:
        """Return the descriptor."""


def lock_file(file: OpenFile | int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file until it is closed.

    Args:
        file: A file object, or a descriptor.
        shared: Others may hold a shared lock as well. Not locked on Windows.
        wait: Wait for the lock. Otherwise fail if others hold it.

    Raises:
        OSError: the lock is held by others, and ``wait`` is false; or the file system has no locks.
    """
    descriptor = file if isinstance(file, int) else file.fileno()
    if sys.platform == "win32":
        # Windows locks exclude readers as well: a shared lock would hinder those whom it should admit.
        if shared:
            return
        # `locking` locks from the current position, so that is moved there and back.
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            _lock_on_windows(descriptor, wait=wait)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
    else:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


if sys.platform == "win32":

    def _lock_on_windows(descriptor: int, *, wait: bool) -> None:
        """Lock the byte at the file's position; Windows gives up a wait after ten seconds, which begins anew here."""
        kind = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK
        held = True
        while held:
            try:
                msvcrt.locking(descriptor, kind, 1)
                held = False
            except OSError as error:
                if not wait or error.errno not in _HELD:
                    raise


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock of a folder, which is created if missing; do not wait for it.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file system has no locks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        descriptor = os.open(folder / _FOLDER_LOCK, os.O_RDWR | os.O_CREAT)
    else:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            lock_file(descriptor, wait=False)
        except OSError as error:
            if error.errno not in _HELD:
                raise
            # flock's own error has no path, and Windows has another class for it.
            raise BlockingIOError(error.errno, error.strerror, str(folder)) from error
        yield
    finally:
        os.close(descriptor)


_PREFIX: Final = "caretbench-tmp-"


@contextlib.contextmanager
def temporary_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder of this user alone, which is removed at the end; first remove what killed runs left.

    Args:
        purpose: A word that is part of the folder's name.
        place: The folder that contains it; None: the system's for temporary files.
    """
    if sys.platform == "win32":
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{purpose}-", dir=place, ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    # Who is killed cannot clean up; the next run does it before it needs the space.
    remove_leftover_folders(place)
    while True:
        made = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{purpose}-", dir=place, ignore_cleanup_errors=True)
        held = _lock(made.name)
        if held is not None:
            break
        # Another run took the new folder for a leftover, and removed it before it was locked here.
        made.cleanup()
    try:
        yield Path(made.name)
    finally:
        made.cleanup()
        os.close(held)


def remove_leftover_folders(place: Path | None = None) -> None:
    """Remove the temporary folders of this user in ``place`` that no process holds.

    Anybody may give a folder or a link such a name where users share a temporary folder: links and what belongs to
    others stay.
    """
    if sys.platform == "win32":
        return
    for path in (place or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = _open_folder(path)
            try:
                if os.fstat(folder).st_uid == os.geteuid():
                    lock_file(folder, wait=False)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)


def _lock(place: str) -> int | None:
    """Return a descriptor that holds the folder; None where it is gone."""
    if sys.platform == "win32":
        return None
    try:
        folder = _open_folder(place)
    except FileNotFoundError:
        return None
    # Shared locks do not exclude each other; `remove_leftover_folders` wants the exclusive one and fails as long as one
    # is held.
    lock_file(folder, shared=True)
    with contextlib.suppress(FileNotFoundError):
        # The lock may have been taken on a folder that was removed meanwhile, and its name given to another one.
        if os.path.samestat(os.fstat(folder), os.stat(place)):  # noqa: PTH116 - a text, as tempfile gives it
            return folder
    os.close(folder)
    return None


def _open_folder(place: Path | str) -> int:
    """Return a descriptor of a folder that is no link; OSError on Windows, which has none."""
    if sys.platform == "win32":
        raise OSError(f"{place}: no descriptors of folders on Windows")
    # O_NOFOLLOW: a link of such a name, made by another user in a shared folder, would let its target be removed.
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
