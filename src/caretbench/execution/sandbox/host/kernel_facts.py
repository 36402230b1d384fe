"""The facts of the kernel that a program may read below ``/proc``; all else there but processes is covered.

One list for every isolation level. ``docs/execution.md`` gives the reason for each line.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FACTS = ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems")
"""Files of ``/proc`` that runtimes and programs read to learn of processors, memory and time."""

PER_PROCESS = ("self", "thread-self", "mounts", "net")
"""Links of ``/proc`` into the reading process's own folder."""

SETTINGS = (
    "kernel/osrelease", "kernel/ostype", "kernel/version", "kernel/pid_max", "kernel/threads-max",
    "kernel/cap_last_cap", "kernel/ngroups_max", "vm/max_map_count", "vm/overcommit_memory", "vm/swappiness",
    "fs/file-max", "fs/nr_open", "fs/pipe-max-size", "net/core/somaxconn",
)  # fmt: skip
"""Files of ``/proc/sys`` that runtimes read; inside they are copies, which nobody can write."""

COVERS = "/run/caretbench/covers"
"""Folder inside, in which an empty file, an empty folder and the copies of the settings lie."""


@cache
def settings() -> dict[str, bytes]:
    """Return the settings with their values; one that this kernel lacks, or hides from this user, is not there."""
    found = {}
    for name in SETTINGS:
        try:
            found[name] = Path("/proc/sys", name).read_bytes()
        except OSError:
            continue
    return found
