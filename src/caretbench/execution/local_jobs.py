"""Execution of jobs on this machine, by worker threads that wait for sandboxes.

There is no event loop: running programs is waiting for subprocesses. Workers return results through a queue. Jobs that
other programs may have disturbed run again alone, references that fail too.
"""

from __future__ import annotations

import queue
from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic

from caretbench.execution.cache.cache_rule import needs_confirmation
from caretbench.execution.execution_types import LONE_RUNS, Status
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.submission import Job, Request, RequestKind, Result

_QUIET_WAITING = 32


class LocalRequestKind(RequestKind[Request, Result]):
    """Kind of request that runs on this machine; ``compile`` and ``run`` are called on worker threads."""

    def batch(self, request: Request) -> tuple[int, Hashable]:
        """Return the number of requests per compiler call (0: nothing to compile), and their common group."""
        del request
        return 0, None

    def compile(self, jobs: Sequence[Job[Request]]) -> Sequence[Result | None]:
        """Compile a batch; return None for each program that can run, else its final result."""
        return [None for _ in jobs]

    @abstractmethod
    def run(self, job: Job[Request], attempt: int) -> Result:
        """Run one job; from the second attempt on, alone."""

    def lone_run_count(self, job: Job[Request], result: Result) -> int:
        """Return the maximum number of runs alone before a result counts; the first pass is the last one."""
        return LONE_RUNS if needs_confirmation(job.request, result) else int(self.needs_rerun(job, result))

    @abstractmethod
    def needs_rerun(self, job: Job[Request], result: Result) -> bool:
        """Return whether other programs may have changed the result, so that the job runs again alone."""


class LocalJobRunner(Generic[Request, Result]):
    """Runner of jobs in sandboxes on this machine.

    ``workers``, ``compilers`` and ``window`` are maximum numbers of jobs in flight, of compilers at a time, and of
    requests held. The sandbox is interrupted where jobs are ended early.
    """

    def __init__(
        self, kind: LocalRequestKind[Request, Result], sandbox: Sandbox, *, workers: int, compilers: int, window: int
    ) -> None:
        self._kind: LocalRequestKind[Request, Result] = kind
        self._sandbox = sandbox
        self._window = window
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")
        self._compilers = ThreadPoolExecutor(compilers, thread_name_prefix="compiler")
        self._finished: queue.SimpleQueue[Future[list[tuple[Job[Request], Result | None]]]] = queue.SimpleQueue()
        self._tasks = 0
        self._batches: dict[Hashable, list[Job[Request]]] = {}
        self._quiet: deque[tuple[Job[Request], Result]] = deque()

    def has_room(self, waiting: int) -> bool:
        """Return whether one more request may be taken."""
        return waiting < self._window and len(self._quiet) < _QUIET_WAITING

    def start(self, job: Job[Request]) -> None:
        """Run a job, or compile it with others once there are enough."""
        size, group = self._kind.batch(job.request)
        if size == 0:
            self._start_run(job)
            return
        batch = self._batches.setdefault(group, [])
        batch.append(job)
        if len(batch) >= size:
            self._start_compile(self._batches.pop(group))

    def completed(self) -> Iterator[tuple[Job[Request], Result]]:
        """Yield completed jobs, without waiting."""
        return self._collect(wait=False)

    def wait(self, *, all_started: bool) -> Iterator[tuple[Job[Request], Result]]:
        """Wait for the next completed job; if none runs, for those that must run alone."""
        # While something runs, batches are left to fill: a compiler started for one program is a slow one.
        if all_started or not self._tasks:
            while self._batches:
                self._start_compile(self._batches.popitem()[1])
        return self._collect(wait=True) if self._tasks else self._again_alone()

    def close(self) -> None:
        """Cancel the jobs that still run."""
        if self._tasks:
            self._sandbox.interrupt()
        for pool in (self._compilers, self._pool):
            pool.shutdown(wait=True, cancel_futures=True)
        self._sandbox.resume()

    def _start_compile(self, jobs: list[Job[Request]]) -> None:
        self._watch(self._compilers.submit(lambda: list(zip(jobs, self._kind.compile(jobs), strict=True))))

    def _start_run(self, job: Job[Request]) -> None:
        self._watch(self._pool.submit(lambda: [(job, self._kind.run(job, 1))]))

    def _watch(self, future: Future[list[tuple[Job[Request], Result | None]]]) -> None:
        self._tasks += 1
        future.add_done_callback(self._finished.put)

    def _collect(self, *, wait: bool) -> Iterator[tuple[Job[Request], Result]]:
        while self._tasks:
            try:
                future = self._finished.get(block=wait)
            except queue.Empty:
                return
            wait = False
            self._tasks -= 1
            for job, result in future.result():
                if result is None:
                    self._start_run(job)
                elif self._kind.lone_run_count(job, result):
                    self._quiet.append((job, result))
                else:
                    yield job, result

    def _again_alone(self) -> Iterator[tuple[Job[Request], Result]]:
        """Retry jobs that other programs may have disturbed, now that nothing else runs."""
        while self._quiet:
            job, result = self._quiet.popleft()
            self._tasks += 1  # until it has ended: an interruption is for it too
            for number in range(1, self._kind.lone_run_count(job, result) + 1):
                result = self._pool.submit(self._kind.run, job, result.attempt + 1).result()
                if result.status is Status.PASSED:
                    break
                if job.request.is_reference:
                    result = result.model_copy(update={"runs_alone": number})
            self._tasks -= 1
            yield job, result
