"""Many commands in projects: requests in, one result out for each, as they come.

A test command has processes of its own, so one command a processor is in flight. Identical requests run once, known
verdicts come from the cache, and what the machine held up runs again alone. Memory stays bounded, whatever the number
of requests: only a window of them is held. The caller keeps results by their ``id``, and after an interruption asks
for those that it does not have.
"""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from caretbench.errors import DataError
from caretbench.execution.cache.verdicts import ResultCache, opened
from caretbench.execution.cache.workspaces import WorkspaceCache
from caretbench.execution.classification import held_up, short_of_what_all_share
from caretbench.execution.sandbox.host.users import NoUsers
from caretbench.execution.types import Isolation, Limits, Progress, Status
from caretbench.execution.workspaces.workspace import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
    Workspaces,
)

_WINDOW_PER_WORKER = 4
_QUIET_WAITING = 32
_STEPS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600)
_WALL_S, _WALLS_PER_CPU = 60.0, 6.0


class WorkspaceEngine(Protocol):
    """Runs commands in projects, in any order; every request gives exactly one result."""

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Results as they come; identical requests run once."""
        ...

    def isolation(self) -> Isolation:
        """The walls in force, found by really running a program."""
        ...


def limits_from(golden: WorkspaceResult, *, factor: float = 5.0, floor: Limits = WORKSPACE_LIMITS) -> Limits:
    """Bounds for others by the time, in seconds, that the reference took: ``factor`` times that, ``floor`` at least.

    Times are rounded up to whole steps (10, 15, 20, 30 s and so on, an hour at most), so that the same bounds, which
    are a part of a verdict's key, come out of two measurements. Memory and the like are those of ``floor``.
    """
    return floor.model_copy(
        update={
            "wall_s": _bound(factor * golden.wall_s, floor.wall_s),
            "cpu_s": _bound(factor * golden.cpu_s, floor.cpu_s),
        }
    )


def limits_for(
    golden_cpu_s: float, *, factor: float = 5.0, least_s: float = 10.0, floor: Limits = WORKSPACE_LIMITS
) -> Limits:
    """Bounds by the CPU time alone that the reference took, in the same steps; ``least_s`` at least.

    An answer that loops is ended soon, then; the wall, which a busy machine moves, is at six times the CPU time.
    """
    cpu_s = _bound(factor * golden_cpu_s, least_s)
    return floor.model_copy(update={"wall_s": max(_WALL_S, _WALLS_PER_CPU * cpu_s), "cpu_s": cpu_s})


def _bound(wanted: float, least: float) -> float:
    step = next((float(step) for step in _STEPS if step >= wanted), float(_STEPS[-1]))
    return max(least, step) if wanted > least else least


@dataclass
class _Job:
    """One distinct request, and all that are like it."""

    key: str
    request: WorkspaceRequest
    others: list[str] = field(default_factory=list)


class WorkspaceExecutor:
    """Runs commands in projects on this machine.

    Args:
        workers: Commands in flight; the number of processors by default.
        spaces: Where commands run; the user's snapshots by default.
        cache: Where verdicts are kept; the user's cache by default.
        use_cache: False: a cache for each ``submit`` alone, which forgets everything.
        progress: Called with the number of results given, after each.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        spaces: Workspaces | None = None,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        progress: Progress = lambda _given: None,
    ) -> None:
        self.spaces = spaces or Workspaces()
        self._workers = max(1, workers or os.cpu_count() or 1)
        self._cache = cache
        self._use_cache = use_cache or cache is not None
        self._progress = progress

    def isolation(self) -> Isolation:
        """The walls in force.

        Raises:
            SandboxUnavailable: no sandbox can be built here.
        """
        return self.spaces.sandbox.probe()

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Results as they come, one per request.

        A request that cannot be run as it stands (its patch leads out of the project, its bundle is not built) is
        ``skipped``, with the reason. A generator that is closed early ends the commands that still run.

        Raises:
            DataError: a snapshot is not here, or damaged.
            SandboxUnavailable: no sandbox can be built here.
        """
        self.spaces.sandbox.probe()
        given = 0
        with opened(self._cache, use_cache=self._use_cache) as cache:
            known = WorkspaceCache(cache, self.spaces)
            for result in _Submission(self.spaces, known, self._workers).results(requests):
                given += 1
                self._progress(given)
                yield result

    def close(self) -> None:
        """End the warm sandboxes, and let the snapshots go."""
        self.spaces.close()


class _Submission:
    """The state of one ``submit``. Its fields are touched by the caller's thread only; workers answer by a queue."""

    def __init__(self, spaces: Workspaces, cache: WorkspaceCache, workers: int) -> None:
        self._spaces = spaces
        self._cache = cache
        self._window = workers * _WINDOW_PER_WORKER
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="workspace")
        self._finished: queue.SimpleQueue[tuple[_Job, Future[WorkspaceResult]]] = queue.SimpleQueue()
        self._tasks = 0
        self._held = 0
        self._jobs: dict[str, _Job] = {}
        self._quiet: deque[tuple[_Job, WorkspaceResult]] = deque()

    def results(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Feed the workers and yield what they give."""
        try:
            source = iter(requests)
            exhausted = False
            while not exhausted or self._held:
                if not exhausted and self._held < self._window and len(self._quiet) < _QUIET_WAITING:
                    request = next(source, None)
                    if request is not None:
                        yield from self._take(request)
                        yield from self._collect(wait=False)
                        continue
                    exhausted = True
                if self._tasks:
                    yield from self._collect(wait=True)
                elif self._quiet:
                    yield from self._again_alone()
        finally:
            if self._tasks:
                self._spaces.sandbox.interrupt()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._spaces.sandbox.resume()

    def _take(self, request: WorkspaceRequest) -> Iterator[WorkspaceResult]:
        self._spaces.snapshot(request.snapshot)  # without it nothing can run: that is said, not skipped
        key = self._cache.key(request)
        running = self._jobs.get(key)
        if running is not None:
            running.others.append(request.id)
            self._held += 1
            return
        known = self._cache.get(key)
        if known is not None:
            yield known.model_copy(update={"id": request.id, "cached": True})
            return
        self._held += 1
        job = self._jobs[key] = _Job(key, request)
        self._tasks += 1
        future = self._pool.submit(self._run, request, 1)
        future.add_done_callback(lambda done: self._finished.put((job, done)))

    def _run(self, request: WorkspaceRequest, attempt: int) -> WorkspaceResult:
        try:
            return self._spaces.run(request, attempt)
        except DataError as error:
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=str(error))
        except (OSError, NoUsers) as error:
            reason = f"no process: {error}"
            return WorkspaceResult(id=request.id, status=Status.SANDBOX_ERROR, attempt=attempt, reason=reason)

    def _collect(self, *, wait: bool) -> Iterator[WorkspaceResult]:
        while self._tasks:
            try:
                job, future = self._finished.get(block=wait)
            except queue.Empty:
                return
            wait = False
            self._tasks -= 1
            result = future.result()
            late = held_up(result.status, result.reason, result.signal, result.cpu_s)
            if late or short_of_what_all_share(result.status, result.stderr.text):
                self._quiet.append((job, result))
            else:
                yield from self._give(job, result)

    def _again_alone(self) -> Iterator[WorkspaceResult]:
        """Nothing else runs now: commands that the machine's load may have held up get their second attempt."""
        while self._quiet:
            job, first = self._quiet.popleft()
            self._tasks += 1  # until it has ended: an interruption is for it too
            result = self._pool.submit(self._run, job.request, first.attempt + 1).result()
            self._tasks -= 1
            yield from self._give(job, result)

    def _give(self, job: _Job, result: WorkspaceResult) -> Iterator[WorkspaceResult]:
        self._cache.put(job.key, job.request, result)
        del self._jobs[job.key]
        self._held -= 1 + len(job.others)
        yield result
        for identity in job.others:
            yield result.model_copy(update={"id": identity, "cached": True})
