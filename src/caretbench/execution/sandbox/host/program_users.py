"""Users of the host that programs run as if root starts them: user ids that no account has.

Every program that runs has one of them for itself, so what the kernel counts for a user (descriptors on their way
through sockets, pages of pipes) is counted for one program. No program runs as the machine's root, mapped or not. In a
user namespace that maps root alone, programs run as the caller if root there is an ordinary user outside; if it is root
outside, nothing runs.

A user is leased to a program by a lock on a file, which ends with the last process that holds its descriptor. Every
CaretBench of root's that sees the same folder takes part: containers that share users of the host mount the host's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable
from caretbench.file_locks import lock_file

# One for compilers and 512 for programs. The kernel counts descriptors in flight, message queues and pages of pipes by
# user, so no two programs that run at a time share one.
_COUNT = 513
_FIRST = (64_646, 60_706, 70_000)
"""Numbers at which a range may begin. A container often has the numbers below 65,536 alone."""
_NEEDED = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL")
"""Capabilities without which root can neither start a program as another user nor end it."""
_CAPABILITIES = {"CAP_DAC_OVERRIDE": 1, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_ADMIN": 21}
_ACCOUNTS = (("/etc/passwd", 2), ("/etc/group", 2))
FOLDERS = ("/run/caretbench", "/var/lib/caretbench")
"""Folders for the locks of leases, the first that can be made; only root can make or enter them."""
_SUBORDINATES = ("/etc/subuid", "/etc/subgid")


class NoProgramUsers(SandboxUnavailable):
    """Error: root starts programs, and this machine has no user for them; the message contains the remedy."""


@cache
def program_users() -> range | None:
    """Return the user ids that root uses for programs, the first for compilers; None if this process is not root.

    The root of a container that has no other user counts as ordinary where it is an ordinary user outside.

    Raises:
        NoProgramUsers: this process is root and has no such user ids.
    """
    if os.geteuid() != 0:
        return None
    taken = [*_accounts(), *_subordinates()]
    for first in _FIRST:
        candidate = range(first, first + _COUNT)
        free = not any(begin < candidate.stop and candidate.start < end for begin, end in taken)
        if free and _mapped(candidate, "uid") and _mapped(candidate, "gid"):
            if missing := missing_capabilities(*_NEEDED):
                raise NoProgramUsers(
                    f"root starts programs as users of their own and ends them, and lacks {' and '.join(missing)}: "
                    "give it that, or start CaretBench as an ordinary user"
                )
            return candidate
    if _is_ordinary_outside():
        return None
    raise NoProgramUsers(
        f"no free user ids for sandboxed programs: {_COUNT} from {' or '.join(map(str, _FIRST))} are needed. Start "
        "CaretBench as an ordinary user, or give the container these ids"
    )


@cache
def unprivileged_user() -> int:
    """Return the host's user id that compilers run as and that owns writable folders."""
    users = program_users()
    return users[0] if users is not None else _FIRST[0]


def missing_capabilities(*names: str) -> list[str]:
    """Return the capabilities among ``names`` that this process lacks."""
    words = (line.split() for line in _lines("/proc/self/status") if line.startswith("CapEff:"))
    held = next((int(value, 16) for _, value in words), 0)
    return [name for name in names if not held >> _CAPABILITIES[name] & 1]


@contextlib.contextmanager
def leased_user() -> Iterator[tuple[int, int]]:
    """Yield a user id that no other running program has, and the descriptor that keeps the lease.

    Raises:
        NoUsers: all are taken, there is no place for the leases, or this process is an ordinary user, who has none.
    """
    users = program_users()
    if users is None:
        raise NoProgramUsers("an ordinary user starts programs here, and has no other users for them")
    try:
        leased = lease_free_user(users[1:])
    except PermissionError as error:
        raise NoProgramUsers(f"root cannot lease a user to a program: {error}; let root write in /run") from None
    if leased is None:
        raise NoProgramUsers(
            f"all {_COUNT - 1} users for programs are leased to programs that root's CaretBench processes run now "
            "(locks in /run/caretbench): run fewer programs at a time (--workers), or wait for the other runs"
        )
    user, held = leased
    try:
        yield user, held
    finally:
        os.close(held)


def lease_free_user(users: Iterable[int]) -> tuple[int, int] | None:
    """Return a user id that is not leased, and the descriptor that keeps the lease; None if all are leased.

    Raises:
        OSError: there is no folder for the locks, or no descriptor left.
    """
    folder = _folder()
    try:
        for user in users:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            # A lock on a file in root's folder: any local user can bind the name of an abstract socket, and containers
            # do not share those.
            held = os.open(f"user-{user}", flags, 0o600, dir_fd=folder)
            try:
                lock_file(held, wait=False)
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
    """Return a descriptor of the first folder that is this user's alone."""
    faults = []
    for folder in FOLDERS:
        try:
            return _own_folder(folder)
        except OSError as error:
            faults.append(f"{folder}: {error.strerror or error}")
    raise PermissionError(f"no folder for the locks of programs' users ({'; '.join(faults)})")


def _own_folder(path: str) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)  # noqa: PTH102  all here goes by descriptors and plain names
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(folder)
        # A folder that another user made first may hold links, and locks that are never released.
        if status.st_uid != os.geteuid():
            raise PermissionError(f"it belongs to user {status.st_uid}")  # noqa: TRY301  closed below
        if status.st_mode & 0o077:
            os.fchmod(folder, 0o700)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _accounts() -> Iterator[tuple[int, int]]:
    for path, field in _ACCOUNTS:
        for line in _lines(path):
            words = line.split(":")
            if len(words) > field and words[field].isdigit():
                yield int(words[field]), int(words[field]) + 1
    with contextlib.suppress(OSError):  # users that a service manager gives to services while they run
        for user in Path("/run/systemd/dynamic-uid").iterdir():
            if user.name.isdigit():
                yield int(user.name), int(user.name) + 1


def _subordinates() -> Iterator[tuple[int, int]]:
    for path in _SUBORDINATES:
        for line in _lines(path):
            words = line.split(":")
            if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
                yield int(words[1]), int(words[1]) + int(words[2])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _mapped(candidate: range, kind: str) -> bool:
    return any(first <= candidate.start and candidate.stop <= first + count for first, _, count in _map(f"{kind}_map"))


def _is_ordinary_outside() -> bool:
    """Return whether root here is another user of the machine. A map with 0 may hide either: it counts as root."""
    return any(first == 0 and outside != 0 for first, outside, _ in _map("uid_map"))


def _map(name: str) -> list[tuple[int, int, int]]:
    rows = (line.split() for line in _lines(f"/proc/self/{name}"))
    return [(int(first), int(outside), int(count)) for first, outside, count in rows]
