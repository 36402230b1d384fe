"""Measurement of a process tree from outside: resident memory, processes, CPU time.

Resource limits count per process, and shared mappings escape them; so the sandbox's supervisor asks here
several times a second and kills the tree that has too much. Memory is PSS (shared pages counted once over
the tree) where the kernel lets us read it, else resident memory; and what the kernel keeps for the tree: its page
tables, and what can wait in its sockets, beyond a number of them that no honest program reaches.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Memory of sockets and page tables belongs to no process: once a program could take any amount of it unseen.
_USUAL_SOCKETS = 256
_SOCKET_MB = 0.25
"""Maximum data in one socket, whose buffers keep their usual size (see ``seccomp``)."""


@dataclass(frozen=True)
class TreeUsage:
    """Resource usage of a process tree at one moment."""

    processes: int
    memory_mb: float
    cpu_s: float
    is_runnable: bool = False
    """A process has a processor or waits for one: on a busy machine a program may work and get none for seconds."""


def descendants(pid: int) -> list[int]:
    """Return all processes below ``pid``, without ``pid`` itself."""
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{current}/task")  # noqa: PTH208 - in the loop that runs most
        except OSError:
            continue
        for thread in threads:
            try:
                text = Path(f"/proc/{current}/task/{thread}/children").read_text("ascii")
            except OSError:
                continue
            children = [int(word) for word in text.split()]
            pids += children
            waiting += children
    return pids


def _sockets_mb(pid: int) -> float:
    """Return the memory in MB of the sockets of a network namespace; those in transit between processes count, too."""
    try:
        if os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116
            return 0.0  # everybody's
        with Path(f"/proc/{pid}/net/sockstat").open("rb") as stream:
            used = int(stream.readline().split()[2])
    except (OSError, IndexError, ValueError):
        return 0.0
    return max(0, used - _USUAL_SOCKETS) * _SOCKET_MB


def _page_tables_kb(pid: int) -> float:
    try:
        with Path(f"/proc/{pid}/status").open("rb") as stream:
            return next((float(line.split()[1]) for line in stream if line.startswith(b"VmPTE:")), 0.0)
    except OSError:
        return 0.0


def _pages_kb(pid: int) -> float:
    try:
        with Path(f"/proc/{pid}/smaps_rollup").open("rb") as stream:
            for line in stream:
                # Shared pages count in parts, so that a hundred forks of one interpreter are not a hundred
                # interpreters.
                if line.startswith(b"Pss:"):
                    return float(line.split()[1])
    except OSError:
        pass
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE_BYTES / 1024
    except (OSError, IndexError):
        return 0.0


def _activity(pid: int) -> tuple[float, bool]:
    """Return the CPU seconds of a process and its ended children, and whether it uses or wants a processor."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0, False
    cpu_s = sum(int(field) for field in fields[11:15]) / _TICKS_PER_SECOND if len(fields) > 15 else 0.0
    return cpu_s, fields[:1] == [b"R"]


def tree_activity(pid: int) -> tuple[float, bool]:
    """Return the CPU seconds of all processes below ``pid``, and whether one of them uses or wants a processor."""
    return _sum_of_activity(descendants(pid))


def _sum_of_activity(tree: Iterable[int]) -> tuple[float, bool]:
    activities = [_activity(pid) for pid in tree]
    return sum(cpu_s for cpu_s, _ in activities), any(runnable for _, runnable in activities)


def cpu_by_process(pid: int) -> dict[int, float]:
    """Return the CPU seconds of a process and of all below it, each with those of its children that were waited for."""
    return {process: _activity(process)[0] for process in (pid, *descendants(pid))}


def tree_usage(pid: int, max_processes: int) -> TreeUsage:
    """Return the usage of all processes below ``pid``; beyond ``max_processes`` only their number is counted."""
    tree = descendants(pid)
    # A fork bomb grows faster than its processes can be measured.
    if len(tree) > max_processes:
        return TreeUsage(len(tree), 0.0, 0.0, is_runnable=True)
    pages_kb, tables_kb = sum(map(_pages_kb, tree)), sum(map(_page_tables_kb, tree))
    memory_mb = (pages_kb + tables_kb) / 1024 + (_sockets_mb(tree[-1]) if tree else 0.0)
    return TreeUsage(len(tree), memory_mb, *_sum_of_activity(tree))
