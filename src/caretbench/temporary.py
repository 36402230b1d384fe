"""Temporary folders, and removal of those left by killed processes.

A folder is locked while it is used. The lock ends with its process, however that ends, so a later run removes what
nobody holds: no clock, and no process number that may belong to another program by now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "caretbench-tmp-"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def temporary_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder of this user alone, which is removed at the end; first remove what killed runs left.

    Args:
        purpose: A word that is part of the folder's name.
        place: The folder that contains it; None: the system's for temporary files.
    """
    remove_leftover_folders(place)
    while True:
        made = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{purpose}-", dir=place, ignore_cleanup_errors=True)
        held = _lock(made.name)
        if held is not None:
            break
        made.cleanup()  # another run has removed it before it was locked
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
    for path in (place or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = os.open(path, _FOLDER)
            try:
                if os.fstat(folder).st_uid == os.geteuid():
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)


def _lock(place: str) -> int | None:
    """Return a descriptor that holds the folder; None where it is gone."""
    try:
        folder = os.open(place, _FOLDER)
    except FileNotFoundError:
        return None
    fcntl.flock(folder, fcntl.LOCK_SH)
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(folder), os.stat(place)):  # noqa: PTH116 - a text, as tempfile gives it
            return folder
    os.close(folder)
    return None
