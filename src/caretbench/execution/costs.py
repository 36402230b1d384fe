"""Costs of a run: where its CPU time went, and what was waited for while nothing used a processor.

Figures come from the kernel's accounting of processes on this machine, without root: launchers report what the ended
processes of a program took, and a sandbox that serves many is read with its children before it is ended. Programs that
are killed are counted by the supervisor's last look. Not counted: programs on other machines, processes that a program
leaves behind, and our tools that run without a sandbox.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Self

from caretbench.execution.execution_types import RunCosts
from caretbench.execution.sandbox.kernel.watchdog import cpu_by_process

Activity = Literal["programs", "lone runs", "compilers"]

_LOOK_S = 1.0
_IDLE_SHARE = 0.25
"""Share of one processor below which nothing works: supervisors that only watch take up to 0.15."""
_WAITED_FOR: tuple[Activity, ...] = ("lone runs", "compilers", "programs")
"""Activities that are waited for, the first that is under way: others may stand behind a lone run or a compiler."""


class CostLedger:
    """Ledger of what this process and its sandboxes cost. Threads share it."""

    def __init__(self) -> None:
        # Entered again by the thread that holds it: memory is collected at any allocation, and may end a pool of warm
        # sandboxes that nobody closed, whose end is recorded here. A run stood still so.
        self._lock = threading.RLock()
        self._totals: Counter[str] = Counter()
        self._active: Counter[Activity] = Counter()
        self._open: dict[int, str] = {}
        self._thread = threading.local()

    @contextmanager
    def during(self, activity: Activity, *, waited_for: bool = True) -> Iterator[None]:
        """Count what this thread's sandboxes take as that of an activity, which is under way meanwhile."""
        before, self._thread.activity = self._activity(), activity
        with self._lock:
            self._active[activity] += waited_for
        try:
            yield
        finally:
            self._thread.activity = before
            with self._lock:
                self._active[activity] -= waited_for

    def _activity(self) -> Activity:
        return getattr(self._thread, "activity", "programs")

    def _kind(self) -> str:
        return "compilers_cpu_s" if self._activity() == "compilers" else "programs_cpu_s"

    def program_ended(self, cpu_s: float) -> None:
        """Add the CPU of a program or compiler in a sandbox."""
        with self._lock:
            self._totals["programs"] += 1
            self._totals[self._kind()] += cpu_s  # type: ignore[assignment]  # a counter of fractions

    def add(self, **numbers: float) -> None:
        """Add to fields of :class:`RunCosts`."""
        with self._lock:
            self._totals.update(numbers)

    @contextmanager
    def sandbox(self, pid: int) -> Iterator[None]:
        """Keep the sandbox of one program, whose CPU counts as the program's until its end is reported."""
        with self._lock:
            self._totals["sandboxes"] += 1
            self._open[pid] = self._kind()
        try:
            yield
        finally:
            with self._lock:
                self._open.pop(pid, None)

    def worker_started(self, pid: int) -> None:
        """Record a warm sandbox."""
        with self._lock:
            self._totals["workers"] += 1
            self._open[pid] = "sandboxes_cpu_s"

    def worker_ends(self, pid: int) -> None:
        """Record that a warm sandbox is about to be ended, while its processes can still be read."""
        with self._lock:
            # A worker may be closed twice, by its pool and with its last program.
            if self._open.pop(pid, None) is not None:
                self._totals["sandboxes_cpu_s"] += _tree_cpu_s(pid)  # type: ignore[assignment]

    def costs(self) -> RunCosts:
        """Return all costs since the process started, those of open sandboxes included."""
        with self._lock:
            totals = Counter(self._totals)
            for pid, kind in list(self._open.items()):
                totals[kind] += _tree_cpu_s(pid)  # type: ignore[assignment]
        return RunCosts.model_validate(totals | {"own_cpu_s": time.process_time(), "wall_s": time.monotonic()})

    def waited_for(self) -> str:
        """Return what is under way; ``other`` if nothing is."""
        with self._lock:
            return next((activity for activity in _WAITED_FOR if self._active[activity] > 0), "other")


def _tree_cpu_s(pid: int) -> float:
    return sum(cpu_by_process(pid).values())


ledger = CostLedger()
"""Ledger of this process: the kernel accounts by process, too."""


class CostMeter:
    """Meter of the costs between its start and its end; a context manager with a thread that looks once a second."""

    def __init__(self) -> None:
        self.costs = RunCosts()
        """The costs, once it has ended."""
        self._idle_s: Counter[str] = Counter()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cost-meter", daemon=True)

    def __enter__(self) -> Self:
        self._before = ledger.costs()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.costs = ledger.costs().since(self._before).model_copy(update={"idle_s": dict(self._idle_s)})

    def _watch(self) -> None:
        begin, before = time.monotonic(), cpu_by_process(os.getpid())
        while not self._end.wait(_LOOK_S):
            now, current = time.monotonic(), cpu_by_process(os.getpid())
            # A process that ended between two looks took its time with it, so a difference may be negative.
            used = sum(max(0.0, cpu_s - before.get(pid, 0.0)) for pid, cpu_s in current.items())
            if used < _IDLE_SHARE * (now - begin):
                self._idle_s[ledger.waited_for()] += now - begin  # type: ignore[assignment]
            begin, before = now, current
