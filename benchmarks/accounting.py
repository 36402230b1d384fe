"""CPU of this process and all that it starts, counted by the kernel, without root and without control groups.

A performance event (``task-clock``) is inherited by every process and thread that is started from then on, and its
time is added up when they end, however they end. Ways that were measured against a control group, on whole runs of
`caretbench score`: this event 0.99 of it in each of nine runs; the usage of waited-for children (``wait4``), orphans
included, 0.21 to 0.92, since the kernel adds nothing for a process whose parent ignores SIGCHLD or that dies with its
process namespace, as programs of warm sandboxes do.

Where the kernel refuses events (``kernel.perf_event_paranoid`` above 2 without root, or a container's filter), the
busy time of the whole machine is taken, and said so: then nothing else may run.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_CALLS = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _TASK_CLOCK, _BYTES = 1, 1, 112
_INHERITED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
"""An ordinary user may not ask for the kernel's events; a clock counts the time in the kernel in spite of that."""
_CLOSE_ON_EXEC = 8
_BUSY = (0, 1, 2, 5, 6)
"""Fields of the machine's times: user, nice, system, interrupts. A guest's time is in the first."""

CpuClock = Callable[[], float]
"""Returns seconds of CPU."""


@contextmanager
def accounted() -> Iterator[CpuClock]:
    """Yield a clock of the CPU of this thread, and of all threads and processes that it starts from now on."""
    try:
        event = _task_clock()
    except OSError as error:
        sys.stderr.write(
            f"the kernel does not count single processes here ({error}; `sysctl kernel.perf_event_paranoid=2`, or "
            "root): the busy time of the whole machine is taken, so leave it alone\n"
        )
        yield machine_cpu_s
        return
    try:
        yield lambda: struct.unpack("Q", os.read(event, 8))[0] / 1e9
    finally:
        os.close(event)


def machine_cpu_s() -> float:
    """Return the seconds that all processors were busy since the machine started."""
    fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]
    return sum(int(fields[position]) for position in _BUSY) / os.sysconf("SC_CLK_TCK")


def _task_clock() -> int:
    """Return the descriptor of an event that counts nanoseconds of this thread and its descendants."""
    call = _CALLS.get(os.uname().machine)
    if call is None:
        raise OSError("the number of the call is not known for this processor")
    flags = _INHERITED | _NO_KERNEL | _NO_HYPERVISOR
    attributes = struct.pack("IIQQQQQ", _SOFTWARE, _BYTES, _TASK_CLOCK, 0, 0, 0, flags).ljust(_BYTES, b"\0")
    kernel = ctypes.CDLL(None, use_errno=True)
    event = int(kernel.syscall(call, attributes, 0, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC)))
    if event < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return event
