"""Start of bubblewrap as an unprivileged user that can still reach all bound paths.

Started by an ordinary user, bubblewrap runs as that user. Started by root, it runs as one of ``program_users``; paths
that only root can reach are mounted for that user (:mod:`caretbench.execution.sandbox.host.idmapped_mounts`), in the
private mount namespace of one of our threads.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from caretbench.execution.sandbox.bubblewrap import reachable_by_others
from caretbench.execution.sandbox.host.idmapped_mounts import (
    attach_mount,
    detach_mount,
    enter_private_mounts,
    open_mount,
)
from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable

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
