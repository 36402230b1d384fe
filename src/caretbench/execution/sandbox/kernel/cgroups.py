"""Memory limits by control groups, one for each program, if this process may create them.

The watchdog looks several times a second; what grows faster meets the group's bound, and the kernel ends it. The second
version of control groups is looked for where a service manager or a container gives its writable part; the first one is
taken only on request. Groups are used again, since making and removing them costs more than a program's start. The
folder that holds them is locked while its owner lives; one whose owner was killed is emptied and removed at the next
start.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from caretbench.execution.execution_types import Limits
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.file_locks import lock_file

Version = Literal["cgroup-v2", "cgroup-v1"]

ROOM_MB = 32
"""Memory of the launcher, and other memory that the watchdog does not count as the program's or its files'."""

_PREFIX = "caretbench-"
_ENDS_S = 5.0


class _Files(NamedTuple):
    """File names of one version of control groups."""

    bound: str
    events: str
    swap: tuple[str, str | None]
    """Swap limit: its file and the value to write (None: the memory limit)."""


_FILES: dict[Version, _Files] = {
    "cgroup-v2": _Files("memory.max", "memory.events", ("memory.swap.max", "0")),
    "cgroup-v1": _Files("memory.limit_in_bytes", "memory.oom_control", ("memory.memsw.limit_in_bytes", None)),
}


class MemoryGroup:
    """Control group for one program at a time."""

    def __init__(self, place: Path, version: Version) -> None:
        self._place = place
        self._files = _FILES[version]
        self._before = 0
        if not place.is_dir():
            place.mkdir()
        if version == "cgroup-v2":
            # The kernel ends all processes of the group, not the largest alone: what is left would fail in another way.
            self._write("memory.oom.group", "1")

    def _write(self, name: str, text: str) -> None:
        with contextlib.suppress(OSError):  # not every kernel has every file; the bound is looked at below
            (self._place / name).write_text(text)

    def prepare(self, memory_bytes: int) -> None:
        """Set the memory limit and reset counters, or raise OSError if the limit cannot be set."""
        # The two bounds of the first version must never cross, so the one above is lifted first.
        swap, most = self._files.swap
        if most is None:
            self._write(swap, "-1")
        (self._place / self._files.bound).write_text(str(memory_bytes))
        self._write(swap, most or str(memory_bytes))
        self._before = self._count()

    def add_process(self, pid: int) -> None:
        """Move a sandbox's first process and its children into the group; later children inherit it."""
        self._write("cgroup.procs", str(pid))
        for process in descendants(pid):
            self._write("cgroup.procs", str(process))

    def limit_exceeded(self) -> bool:
        """Return whether the kernel has killed a process of the group since :meth:`prepare`."""
        return self._count() > self._before

    def _count(self) -> int:
        try:
            lines = (self._place / self._files.events).read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

    def kill_all(self) -> bool:
        """Kill all processes of the group; return whether it is empty now."""
        # What is left in the group would count as the next program's memory.
        deadline = time.monotonic() + _ENDS_S
        while time.monotonic() < deadline:
            try:
                pids = [int(word) for word in (self._place / "cgroup.procs").read_text().split()]
            except OSError:
                return True
            if not pids:
                return True
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)
        return False


class MemoryGroups:
    """Control groups of one process, below a folder of its own in a group with the memory controller.

    Raises:
        OSError: nothing can be made there.
    """

    def __init__(self, parent: Path, version: Version) -> None:
        self.version: Version = version
        _remove_leftovers(parent)
        self._root = parent / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._root.mkdir()
        self._held = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        lock_file(self._held)
        if version == "cgroup-v2":
            (self._root / "cgroup.subtree_control").write_text("+memory")
        self._free: list[MemoryGroup] = []
        self._made = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def group(self, memory_bytes: int) -> Iterator[MemoryGroup | None]:
        """Yield a group for one program; None if it cannot be created (then the watchdog alone limits memory)."""
        try:
            group = self._take()
            group.prepare(memory_bytes)
        except OSError:
            yield None
            return
        try:
            yield group
        finally:
            if group.kill_all():
                with self._lock:
                    self._free.append(group)

    def _take(self) -> MemoryGroup:
        with self._lock:
            if self._free:
                return self._free.pop()
            self._made += 1
            return MemoryGroup(self._root / str(self._made), self.version)

    def works(self) -> bool:
        """Return whether a process can really be moved into a group here."""
        with self.group(ROOM_MB << 20) as group, contextlib.ExitStack() as stack:
            if group is None:
                return False
            process = stack.enter_context(subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE))
            group.add_process(process.pid)
            inside = Path(f"/proc/{process.pid}/cgroup").read_text()
            assert process.stdin is not None  # noqa: S101  a pipe
            process.stdin.close()
            return self._root.name in inside

    def close(self) -> None:
        """Kill remaining processes and remove the groups."""
        _remove(self._root)
        with contextlib.suppress(OSError):
            os.close(self._held)


def _remove(root: Path) -> None:
    with contextlib.suppress(OSError):
        for folder in list(root.glob("*/")):
            # Under the name of version 1, whose constructor changes no file: processes are listed alike in both.
            MemoryGroup(folder, "cgroup-v1").kill_all()
            folder.rmdir()
        root.rmdir()


def _remove_leftovers(parent: Path) -> None:
    for root in parent.glob(f"{_PREFIX}*-*/"):
        with contextlib.suppress(OSError):
            held = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                lock_file(held, wait=False)
                _remove(root)
            finally:
                os.close(held)


def delegated_groups(mount_point: Path = Path("/sys/fs/cgroup"), proc_cgroup_text: str | None = None) -> Iterator[Path]:
    """Yield version-2 groups in which this process may create groups: its own and its parents, the nearest first.

    ``mount_point`` is where control groups are mounted, ``proc_cgroup_text`` the text of ``/proc/self/cgroup``.
    """
    if proc_cgroup_text is None:
        proc_cgroup_text = Path("/proc/self/cgroup").read_text()
    path = next((line[3:] for line in proc_cgroup_text.splitlines() if line.startswith("0::")), None)
    if path is None or ".." in path.split("/"):
        return
    own_group = mount_point / path.strip("/")
    for group in (own_group, *own_group.parents):
        if not group.is_relative_to(mount_point):
            return
        try:
            controllers = (group / "cgroup.subtree_control").read_text().split()
        except OSError:
            continue
        may_write = os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK)
        if "memory" in controllers and may_write:
            yield group


@cache
def find_memory_groups() -> MemoryGroups | None:
    """Return this process's version-2 groups, checked by really bounding a process; None if there are none."""
    with contextlib.suppress(OSError):
        for parent in delegated_groups():
            with contextlib.suppress(OSError):
                groups = MemoryGroups(parent, "cgroup-v2")
                if groups.works():
                    atexit.register(groups.close)
                    return groups
                groups.close()
    return None


def memory_group(groups: MemoryGroups | None, limits: Limits) -> AbstractContextManager[MemoryGroup | None]:
    """Return a context with one program's control group (None without groups); tmpfs files count as its memory."""
    if groups is None:
        return nullcontext()
    return groups.group((limits.memory_mb + 2 * limits.tmp_mb + ROOM_MB) << 20)


def memory_mechanism(groups: MemoryGroups | None) -> str:
    """Return the mechanism that bounds memory, as :class:`caretbench.execution.execution_types.Isolation` names it."""
    return groups.version if groups is not None else "watchdog"
