"""Temporary folders, and removal of those left by killed processes.

A folder is locked while it is used. The lock ends with its process, however that ends, so a later run removes what
nobody holds: no clock, and no process number that may belong to another program by now. Windows opens no folders:
there, folders of killed processes stay.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.file_locks import lock_file

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
