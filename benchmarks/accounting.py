"""CPU accounting by a control group of the kernel, which is removed at the end, also after an interruption.

Needs root and a version 1 hierarchy.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

ACCOUNTING = Path("/sys/fs/cgroup/cpuacct")
_NAME = re.compile(r"caretbench-(\d+)")
_PATIENCE_S = 10.0


@contextmanager
def accounted(hierarchy: Path = ACCOUNTING) -> Iterator[Path]:
    """Yield a file that holds the nanoseconds of CPU of this process and all that it starts from now on.

    SIGTERM and SIGHUP end the process as an exception, so that the group is removed. After a SIGKILL the next call
    removes what is left.
    """
    remove_abandoned(hierarchy)
    group = hierarchy / f"caretbench-{os.getpid()}"
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield group / "cpuacct.usage"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        remove(group)


def remove(group: Path) -> None:
    """Move what is still in a group to the one above, and remove it; say so where the kernel refuses."""
    deadline = time.monotonic() + _PATIENCE_S
    while group.exists():
        # After an interruption children may still be there, and may start others meanwhile.
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):  # it has ended
                (group.parent / "cgroup.procs").write_text(pid)
        try:
            group.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                sys.stderr.write(f"{group}: not removed: {error.strerror}; remove it with rmdir\n")
                return
            time.sleep(0.05)


def remove_abandoned(hierarchy: Path = ACCOUNTING) -> None:
    """Remove the groups of benchmarks that were killed."""
    for group in hierarchy.iterdir():
        name = _NAME.fullmatch(group.name)
        if name and not Path("/proc", name[1]).exists():
            remove(group)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
