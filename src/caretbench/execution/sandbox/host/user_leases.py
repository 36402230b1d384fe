"""Leases of the users that root gives to programs: locks on files of a folder that only root can enter.

A lock ends with the last process that holds its descriptor, however it ends. Every CaretBench of root's that sees the
same folder takes part: containers that share users of the host mount the host's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable

FOLDERS = ("/run/caretbench", "/var/lib/caretbench")
"""Where the locks may lie, the first that can be made; nobody but root can make them."""


def lease(users: Iterable[int]) -> tuple[int, int] | None:
    """Return a user that nobody has leased, and the descriptor that keeps the lease; None where all are leased.

    Raises:
        OSError: there is no folder for the locks, or no descriptor left.
    """
    folder = _folder()
    try:
        for user in users:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            held = os.open(f"user-{user}", flags, 0o600, dir_fd=folder)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(held)
            except BaseException:
                os.close(held)
                raise
            else:
                return user, held
    finally:
        os.close(folder)
    return None


def _folder() -> int:
    """A descriptor of the first folder that is this user's alone."""
    faults = []
    for place in FOLDERS:
        try:
            return _own_folder(place)
        except OSError as error:
            faults.append(f"{place}: {error.strerror or error}")
    raise PermissionError(f"no folder for the locks of programs' users ({'; '.join(faults)})")


def _own_folder(place: str) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(place, 0o700)  # noqa: PTH102  all here goes by descriptors and plain names
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        known = os.fstat(folder)
        if known.st_uid != os.geteuid():
            raise PermissionError(f"it belongs to user {known.st_uid}")  # noqa: TRY301  closed below
        if known.st_mode & 0o077:
            os.fchmod(folder, 0o700)
    except BaseException:
        os.close(folder)
        raise
    return folder
