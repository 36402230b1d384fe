"""Start of bubblewrap as an unprivileged user that can still reach all bound paths.

Started by an ordinary user, bubblewrap runs as that user. Started by root, it runs as one of ``program_users``; paths
that only root can reach are mounted for that user, in the private mount namespace of one of our threads. Root opens
them and passes them on as detached mounts, in which the files belong to the user who reads them. The modes on the disk
do not change, and no other process sees the mount: copying a toolchain instead would be hundreds of megabytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import struct
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from caretbench.execution.sandbox.bubblewrap import reachable_by_others
from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same on all processors
_HERE, _CLONE, _CLOSE_ON_EXEC, _EMPTY_PATH, _RECURSIVE = -100, 1, 0o2000000, 0x1000, 0x8000
# MOUNT_ATTR_* of linux/mount.h; a mount with the user ids of a namespace exists since Linux 5.12.
_READ_ONLY, _NO_SUID, _NO_DEVICES, _ID_MAP = 1, 2, 4, 0x100000
_FROM_DESCRIPTOR = 4
_NEW_MOUNTS, _PRIVATE, _DETACH = 0x20000, 0x4000 | 0x40000, 2
_MAX_ENTRIES = 1_000_000

_libc = ctypes.CDLL(None, use_errno=True)
_maps_lock = threading.Lock()
_maps: OrderedDict[tuple[int, int, int], int] = OrderedDict()
# Each keeps a descriptor open and a user namespace alive.
_MAX_MAPS = 128


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def enter_private_mounts(stage: str) -> None:
    """Give this thread a private mount namespace, with an empty folder in memory at ``stage``."""
    _check(_libc.unshare(_NEW_MOUNTS), "unshare")
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE), None), "mount")
    flags = ctypes.c_ulong(_NO_SUID | _NO_DEVICES)
    _check(_libc.mount(b"tmpfs", stage.encode(), b"tmpfs", flags, b"mode=0755"), f"mount {stage}")


def attach_mount(descriptor: int, place: str) -> None:
    """Attach a detached mount at the path ``place`` in this thread's mount namespace."""
    _check(_libc.syscall(_MOVE_MOUNT, descriptor, b"", _HERE, place.encode(), _FROM_DESCRIPTOR), f"mount {place}")


def detach_mount(place: str) -> None:
    """Undo :func:`attach_mount`; processes that use the mount keep it."""
    _check(_libc.umount2(place.encode(), _DETACH), f"unmount {place}")


def open_mount(path: str, user: int, bubblewrap_path: str, *, writable: bool = False) -> int:
    """Return a descriptor of a detached mount of ``path`` in which its owner's files belong to ``user``.

    If the file system has no id-mapped mounts, the owners stay as they are, provided that all files can be read.

    Raises:
        NamespaceFailed: no user namespace could be made.
        PermissionError: this user could not read it.
        OSError: it cannot be mounted.
    """
    status = Path(path).stat()
    flags = _CLONE | _CLOSE_ON_EXEC | _RECURSIVE
    descriptor = _check(_libc.syscall(_OPEN_TREE, _HERE, path.encode(), flags), f"open {path}")
    attributes = _NO_SUID | _NO_DEVICES | (0 if writable else _READ_ONLY)
    try:
        try:
            # Nobody may close the map between the look and its use.
            with _maps_lock:
                owner = _id_map(status.st_uid, status.st_gid, user, bubblewrap_path) if status.st_uid != user else None
                _set(descriptor, attributes | (_ID_MAP if owner is not None else 0), owner or 0)
        except OSError:
            # NamespaceFailed is none: a machine without namespaces says nothing about the file system.
            obstacle = _obstacle(path)
            if obstacle is not None:
                raise PermissionError(f"its file system has no id-mapped mounts, and {obstacle}") from None
            _set(descriptor, attributes, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _set(descriptor: int, attributes: int, owner: int) -> None:
    # struct mount_attr: what is set, what is cleared, the propagation, the user namespace.
    words = struct.pack("QQQQ", attributes, 0, 0, owner)
    done = _libc.syscall(_MOUNT_SETATTR, descriptor, b"", _EMPTY_PATH | _RECURSIVE, words, len(words))
    _check(done, "mount_setattr")


def _id_map(owner: int, group: int, user: int, bubblewrap_path: str) -> int:
    """Return a descriptor of a user namespace that maps owner and group to user; cached for the next program."""
    key = (owner, group, user)
    if key not in _maps:
        _maps[key] = _made_id_map(owner, group, user, bubblewrap_path)
    _maps.move_to_end(key)
    if len(_maps) > _MAX_MAPS:
        os.close(_maps.popitem(last=False)[1])
    return _maps[key]


def close_id_maps() -> None:
    """Close the user namespaces kept for the next programs; they are made again on demand."""
    with _maps_lock:
        while _maps:
            os.close(_maps.popitem()[1])


class BubblewrapEndedError(OSError):
    """Error: bubblewrap ended before it made its namespaces."""


class NamespaceFailed(Exception):  # noqa: N818  the outcome of one attempt, no fault of a bind
    """Error: bubblewrap made no user namespace for a mount; the machine may have run out of them."""


def _made_id_map(owner: int, group: int, user: int, bubblewrap_path: str) -> int:
    gate, go = os.pipe()
    info_descriptor, info = os.pipe()
    command = [  # its command is never reached: it waits at the gate until it is killed
        bubblewrap_path, "--unshare-user", "--userns-block-fd", str(gate), "--info-fd", str(info),
        "--die-with-parent", "--ro-bind", "/", "/", "/",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, pass_fds=[gate, info], env={}, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, process_group=0,
    )  # fmt: skip
    os.close(gate)
    os.close(info)
    with process:
        try:
            child = read_child_pid(info_descriptor)
            write_user_maps(child, f"{owner} {user} 1\n", f"{group} {user} 1\n")
            return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        except BubblewrapEndedError as error:
            said = process.communicate()[1].decode("utf-8", "replace").strip()
            raise NamespaceFailed(said or str(error)) from None
        finally:
            kill_process_group(process)
            os.close(go)
            os.close(info_descriptor)


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap's process group, with its child, which waits and would not end by itself.

    The child asks to die with its parent only after its users are known to it.
    """
    # Its number is not another process's before it is waited for.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_child_pid(info_descriptor: int) -> int:
    """Return the process id that bubblewrap writes to ``--info-fd``.

    Raises:
        BubblewrapEndedError: it ended before.
        OSError: it named none.
    """
    said = b""
    while b"," not in said and b"}" not in said:
        more = os.read(info_descriptor, 4096)
        if not more:
            raise BubblewrapEndedError("bubblewrap did not start")
        said += more
    digits = said.partition(b'"child-pid":')[2].split(b",")[0].split(b"}")[0].strip()
    if not digits.isdigit():
        raise OSError("bubblewrap did not name its child")
    return int(digits)


def write_user_maps(process: int, users: str, groups: str) -> None:
    """Write the users and groups of a process's new user namespace."""
    for name, rows in (("uid_map", users), ("gid_map", groups)):
        descriptor = os.open(f"/proc/{process}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, rows.encode())
        finally:
            os.close(descriptor)


@cache
def _obstacle(path: str) -> str | None:
    """Return the reason why an unprivileged user cannot read all below ``path``, or None; links are not followed."""
    if not Path(path).is_dir():
        return None if Path(path).stat().st_mode & stat.S_IROTH else f"others may not read {path}"
    seen = 0
    for folder, folders, files in os.walk(path):
        for name in (".", *files):
            mode = os.lstat(f"{folder}/{name}").st_mode
            wanted = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
            if not stat.S_ISLNK(mode) and mode & wanted != wanted:
                return f"others may not read {os.path.normpath(f'{folder}/{name}')}"
        seen += len(folders) + len(files)
        if seen > _MAX_ENTRIES:
            return f"{path} has more than {_MAX_ENTRIES:,} entries, so it was not looked through"
    return None


_STAGE = "/sys"
"""Folder that every machine has and that is never bound; the thread's private mounts are placed over it."""

Result = TypeVar("Result")


class BindUnreachable(SandboxUnavailable):
    """Error: the user that programs run as cannot reach a path to bind; the message contains a remedy."""


class _Stage:
    """Thread with a private mount namespace, which starts processes that must see it."""

    def __init__(self) -> None:
        self._numbers = count()
        self._pool = ThreadPoolExecutor(1, "stage")
        self.call(enter_private_mounts, _STAGE)

    def call(self, function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
        """Call a function in the thread."""
        return self._pool.submit(function, *arguments, **options).result()

    def place(self, path: str, user: int, bubblewrap_path: str, *, writable: bool) -> str:
        """Return where this user reaches ``path`` in the thread's mounts."""
        descriptor = open_mount(path, user, bubblewrap_path, writable=writable)
        try:
            place = f"{_STAGE}/{next(self._numbers)}"
            self.call(self._put, descriptor, Path(place), folder=Path(path).is_dir())
        finally:
            os.close(descriptor)
        return place

    @staticmethod
    def _put(descriptor: int, place: Path, *, folder: bool) -> None:
        if folder:
            place.mkdir()
        else:
            place.touch()
        attach_mount(descriptor, str(place))

    def take_away(self, place: str) -> None:
        """Undo :meth:`place`."""
        self.call(detach_mount, place)
        self.call(os.rmdir if self.call(os.path.isdir, place) else os.unlink, place)


_lock = threading.Lock()


@cache
def _made_stage() -> _Stage:
    return _Stage()


def _stage() -> _Stage:
    with _lock:
        return _made_stage()


class ReachableBinds(NamedTuple):
    """Paths of bubblewrap and of all binds that the sandbox's user can reach."""

    bubblewrap_path: str
    read_only: Mapping[str, str]
    writable: Mapping[str, str]
    user: int | None
    mount_thread: _Stage | None

    def start(self, arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start bubblewrap as ``user``, in its own process group."""
        groups = () if self.user is not None else None
        popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
        start = popen if self.mount_thread is None else partial(self.mount_thread.call, popen)
        return start(
            [self.bubblewrap_path, *arguments], env={"PATH": "/usr/bin:/bin"}, cwd="/", process_group=0, user=self.user,
            group=self.user, extra_groups=groups, **options,
        )  # fmt: skip


@contextlib.contextmanager
def reachable_binds(
    bubblewrap_path: str, read_only: Mapping[str, str], writable: Mapping[str, str], user: int | None
) -> Iterator[ReachableBinds]:
    """Make all bound paths reachable while bubblewrap starts.

    ``writable`` are folders that belong to ``user``, whom root starts it as; None where an ordinary user starts it.

    Raises:
        CannotReach: something of it cannot be reached by this user.
    """
    closed = unreachable_paths(
        [bubblewrap_path, *read_only.values(), *(str(Path(path).parent) for path in writable.values())]
    )
    if user is None or not closed:
        yield ReachableBinds(bubblewrap_path, read_only, writable, user, None)
        return
    try:
        mount_thread = _stage()
    except OSError as error:
        raise bind_unreachable(closed[0], error) from None
    with contextlib.ExitStack() as stack:

        def place(path: str, *, written: bool = False) -> str:
            if reachable_by_others(Path(path).parent if written else path):
                return path
            try:
                lies = mount_thread.place(path, user, bubblewrap_path, writable=written)
            except OSError as error:
                raise bind_unreachable(path, error) from None
            stack.callback(mount_thread.take_away, lies)
            return lies

        # An error of the caller's own while it is reached is the caller's: nothing here may rename it.
        yield ReachableBinds(
            place(bubblewrap_path),
            {inside: place(path) for inside, path in read_only.items()},
            {inside: place(path, written=True) for inside, path in writable.items()},
            user,
            mount_thread,
        )


@contextlib.contextmanager
def open_mounts(user_binds: Mapping[str, str], user: int | None, bubblewrap_path: str) -> Iterator[list[int]]:
    """Yield descriptors of mounts for this user, in the order of ``user_binds``.

    Raises:
        CannotReach: something cannot be opened for this user.
    """
    mounts: list[int] = []
    try:
        for path in user_binds.values() if user is not None else ():
            try:
                mounts.append(open_mount(path, user or 0, bubblewrap_path))
            except OSError as error:
                raise bind_unreachable(path, error) from None
        yield mounts
    finally:
        for mount in mounts:
            os.close(mount)


def bind_unreachable(path: str, error: OSError) -> BindUnreachable:
    """Return the error for a path, with a remedy."""
    return BindUnreachable(
        f"{path} is closed to other users, and cannot be opened here to the one that programs run as ({error}). Open "
        "it to others (`chmod -R go+rX` from it on, `chmod o+x` for the folders above it), keep it elsewhere (the "
        "cache: CARETBENCH_CACHE), or start CaretBench as an ordinary user"
    )


def unreachable_paths(paths: list[str]) -> list[str]:
    """Return the paths that an unprivileged user cannot reach."""
    return [path for path in paths if not reachable_by_others(path)]
