"""Bounds that the kernel keeps: of each process of a program, behind the watchdog's, and of its files in memory."""

from __future__ import annotations

from caretbench.execution.types import Limits

MOST_FILES = 65_536
"""Maximum number of files, folders and links in a program's ``/tmp``, and again in its ``/dev/shm``.

The kernel keeps about a kilobyte for each, which the watchdog does not see.
"""
_LEAST_DATA_BYTES = 2 << 30  # what virtual machines reserve as data without using it
_PENDING_SIGNALS = 2048  # timers count as such, and all programs of a user share what the machine allows


def memory_options(size_mb: int) -> str:
    """Return the mount options of a file system in memory that a program may write to."""
    return f"size={size_mb << 20},nr_inodes={MOST_FILES}"


def resource_limits(limits: Limits, *, address_space_limit: bool) -> list[tuple[str, int, int]]:
    """Names of the ``resource`` module with soft and hard limits (bytes, seconds, numbers).

    Memory is bounded by the watchdog at ``memory_mb``; twice as much is the backstop for what grows faster than it
    looks: of the address space, or else of data memory, for runtimes that reserve much address space.
    """
    room = 2 * limits.memory_mb << 20
    seconds = max(1, round(limits.cpu_s))
    bounds = [
        ("RLIMIT_CPU", seconds, seconds + 1),
        ("RLIMIT_FSIZE", limits.fsize_mb << 20, limits.fsize_mb << 20),
        ("RLIMIT_NOFILE", limits.nofile, limits.nofile),
        ("RLIMIT_NPROC", limits.pids, limits.pids),
        ("RLIMIT_SIGPENDING", _PENDING_SIGNALS, _PENDING_SIGNALS),
        ("RLIMIT_CORE", 0, 0),
    ]
    if address_space_limit:
        bounds.append(("RLIMIT_AS", room, room))
    else:
        room = max(room, _LEAST_DATA_BYTES)
        bounds.append(("RLIMIT_DATA", room, room))
    return bounds
