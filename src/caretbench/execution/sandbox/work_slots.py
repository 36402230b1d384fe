"""Slots of running programs: a program that only waits lends its slot, so that no processor is idle beside it.

Of DevBench's JavaScript programs some wait out their limit of 60 s. With a fixed number of threads they held all of
them, and a run of 35 s of work took 110 s.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

MAX_WAITING = 32
"""Maximum number of waiting programs that have lent their slots: each has a sandbox, and may need memory later."""
_MEMORY_SHARE = 0.25
"""Share of the machine's memory that these programs may hold together."""

_T = TypeVar("_T")
_running = threading.local()


def report_activity(*, works: bool, memory_mb: float = 0.0) -> None:
    """Note that the program of the calling thread works, or only waits. Without effect outside of a slot."""
    report: Callable[[float | None], None] | None = getattr(_running, "report", None)
    if report is not None:
        report(None if works else memory_mb)


class WorkSlots:
    """Threads that run calls, of which at most ``size`` work at a time.

    Args:
        size: Number of slots.
        on_wait: Called from a call's thread when it has lent its slot.
    """

    def __init__(self, size: int, on_wait: Callable[[], None]) -> None:
        # A program that waits keeps its thread: there are as many more as may wait.
        self._pool = ThreadPoolExecutor(size + MAX_WAITING, thread_name_prefix="sandbox")
        self._size, self._free, self._on_wait = size, size, on_wait
        self._ready: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._waiting: dict[Future[Any], float] = {}
        self._memory_mb = _MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        self._lock = threading.Lock()

    @property
    def working(self) -> int:
        """Number of calls that are to start or have started, less those that only wait."""
        with self._lock:
            return self._size - self._free + len(self._ready)

    @property
    def waiting(self) -> int:
        """Number of calls that have lent their slots."""
        return len(self._waiting)

    def submit(self, call: Callable[[], _T]) -> Future[_T]:
        """Run a call as soon as there is a slot."""
        future: Future[_T] = Future()
        with self._lock:
            self._ready.append((future, call))
            self._fill()
        return future

    def close(self) -> None:
        """Cancel the calls that have not started, and wait for the others."""
        with self._lock:
            for future, _ in self._ready:
                future.cancel()
            self._ready.clear()
        self._pool.shutdown(wait=True)

    def _fill(self) -> None:
        while self._free > 0 and self._ready:
            self._free -= 1
            future, call = self._ready.popleft()
            self._pool.submit(self._run, future, call)

    def _run(self, future: Future[Any], call: Callable[[], Any]) -> None:
        report = _running.report = partial(self._report, future)
        try:
            result = call()
        except BaseException as error:
            report(None, ended=True)
            future.set_exception(error)
        else:
            report(None, ended=True)
            future.set_result(result)
        finally:
            _running.report = None

    def _report(self, future: Future[Any], waiting_mb: float | None, *, ended: bool = False) -> None:
        """Note that a call waits with so much memory in MB, or works (None), or has ended."""
        with self._lock:
            waited = future in self._waiting
            waits = waiting_mb is not None and (waited or self._may_wait(waiting_mb))
            self._waiting.pop(future, None)
            if waits:
                self._waiting[future] = waiting_mb or 0.0
            # One that works again takes its slot back, though another call may have it: for a while more calls work.
            held, holds = not waited, not (waits or ended)
            self._free += int(held) - int(holds)
            self._fill()
        if waits and not waited:
            self._on_wait()

    def _may_wait(self, memory_mb: float) -> bool:
        return len(self._waiting) < MAX_WAITING and sum(self._waiting.values()) + memory_mb <= self._memory_mb
