"""Execution of jobs on this machine, by worker threads that wait for sandboxes.

There is no event loop: running programs is waiting for subprocesses. Workers return results through a queue. Jobs that
other programs may have disturbed run again alone, references that fail too: as soon as all that still runs only waits.
"""

from __future__ import annotations

import queue
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from caretbench.execution.cache.result_cache import needs_confirmation
from caretbench.execution.classification import hit_shared_limit
from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import LONE_RUNS, REFERENCE_CPU, Status
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.sandbox.work_slots import WorkSlots
from caretbench.execution.submission import Job, Request, RequestKind, Result

_T = TypeVar("_T")


class LocalRequestKind(RequestKind[Request, Result]):
    """Kind of request that runs on this machine; ``compile`` and ``run`` are called on worker threads."""

    def batch(self, request: Request) -> tuple[int, Hashable]:
        """Return the number of requests per compiler call (0: nothing to compile), and their common group."""
        del request
        return 0, None

    def expect(self, request: Request) -> bool:
        """Note a request that will be compiled; return whether the first compiler should wait for others."""
        del request
        return False

    def compile(self, jobs: Sequence[Job[Request]]) -> Sequence[Result | None]:
        """Compile a batch; return None for each program that can run, else its final result."""
        return [None for _ in jobs]

    @abstractmethod
    def run(self, job: Job[Request], attempt: int) -> Result:
        """Run one job; from the second attempt on, alone."""

    def lone_run_count(self, job: Job[Request], result: Result) -> int:
        """Return the maximum number of runs alone before a result counts; the first pass is the last one."""
        if needs_confirmation(job.request, result):
            return LONE_RUNS
        # CPU time, too, is longer beside others: what ended by a limit of some seconds gets them for itself once.
        return int(self.confirms_limit(job, result) or self.needs_rerun(job, result))

    def confirms_limit(self, job: Job[Request], result: Result) -> bool:
        """Return whether a result that the bound of the reference's CPU time ended is confirmed by a run alone."""
        del job
        return result.limit == REFERENCE_CPU

    @abstractmethod
    def needs_rerun(self, job: Job[Request], result: Result) -> bool:
        """Return whether other programs may have changed the result, so that the job runs again alone."""

    def lacked_shared_limit(self, result: Result) -> bool:
        """Return whether a program may have lacked what all programs of a user share, waiting ones too."""
        return hit_shared_limit(result.run_outcome, result.stderr.text)


@dataclass(frozen=True)
class _LoneRun(Generic[Request, Result]):
    """The next run of a job alone: its number, and the maximum number of such runs.

    ``strict``: no other program may even wait.
    """

    job: Job[Request]
    result: Result
    number: int
    most: int
    strict: bool


class LocalJobRunner(Generic[Request, Result]):
    """Runner of jobs in sandboxes on this machine.

    ``workers``, ``compilers`` and ``window`` are maximum numbers of jobs at work, of compilers at a time, and of
    requests held, not counting those that only wait. The sandbox is interrupted where jobs are ended early.
    """

    def __init__(
        self, kind: LocalRequestKind[Request, Result], sandbox: Sandbox, *, workers: int, compilers: int, window: int
    ) -> None:
        self._kind: LocalRequestKind[Request, Result] = kind
        self._sandbox = sandbox
        self._window = window
        self._ended: queue.SimpleQueue[Callable[[], list[tuple[Job[Request], Result]]] | None] = queue.SimpleQueue()
        """For each call that ended, what gives its results; None where a program began to wait."""
        self._slots = WorkSlots(workers, lambda: self._ended.put(None))
        self._compilers = ThreadPoolExecutor(compilers, thread_name_prefix="compiler")
        self._tasks = self._compiling = self._alone = 0
        self._strict = False
        self._batches: dict[Hashable, list[Job[Request]]] = {}
        self._lone_runs: deque[_LoneRun[Request, Result]] = deque()

    def has_room(self, waiting: int) -> bool:
        """Return whether one more request may be taken: not while a job runs alone."""
        lone_run_works = self._alone > 0 and self._slots.working > 0
        return waiting - self._slots.waiting < self._window and not lone_run_works and not self._strict

    def start(self, job: Job[Request]) -> None:
        """Run a job, or compile it with others once there are enough."""
        size, group = self._kind.batch(job.request)
        if size == 0:
            self._start_run(job)
            return
        holds = self._kind.expect(job.request)
        batch = self._batches.setdefault(group, [])
        batch.append(job)
        # Where programs share what can be prepared, none is compiled before the window is full: the first compiler
        # knows it then. For the others that was two idle seconds of C#'s 13.
        if len(batch) >= size and (self._tasks or not holds):
            self._start_batches(group)

    def completed(self) -> Iterator[tuple[Job[Request], Result]]:
        """Yield completed jobs, without waiting."""
        while not self._ended.empty():
            yield from self._next_results()

    def wait(self, *, all_started: bool) -> Iterator[tuple[Job[Request], Result]]:
        """Wait until a job has ended or begins to wait, and yield the completed ones."""
        # While something works, batches are left to fill: a compiler started for one program is a slow one.
        if all_started or not self._works():
            for group in tuple(self._batches):
                self._start_batches(group)
        idle = not self._works() and self._ended.empty() and not self._strict
        # A program that holds all descriptors in transit and sleeps made another one fail that ran beside it.
        if self._lone_runs and idle and not (self._lone_runs[0].strict and self._tasks):
            self._start_lone_run(self._lone_runs.popleft())
        if self._tasks:
            yield from self._next_results()
            yield from self.completed()

    def close(self) -> None:
        """Cancel the jobs that still run."""
        if self._tasks:
            # First of all: worker threads wait for their programs, and shutting them down would wait with them.
            self._sandbox.interrupt()
        self._compilers.shutdown(wait=True, cancel_futures=True)
        self._slots.close()
        self._sandbox.resume()

    def _works(self) -> bool:
        return self._compiling > 0 or self._slots.working > 0

    def _start_batches(self, group: Hashable) -> None:
        jobs = self._batches.pop(group)
        size, _ = self._kind.batch(jobs[0].request)
        for first in range(0, len(jobs), size):
            self._start_compile(jobs[first : first + size])

    def _start_compile(self, jobs: list[Job[Request]]) -> None:
        def collect(future: Future[Sequence[Result | None]]) -> list[tuple[Job[Request], Result]]:
            self._compiling -= 1
            failed = []
            for job, result in zip(jobs, future.result(), strict=True):
                if result is None:
                    self._start_run(job)
                else:
                    failed += self._ended_run(job, result)
            return failed

        self._compiling += 1
        self._watch(self._compilers.submit(self._kind.compile, jobs), collect)

    def _start_run(self, job: Job[Request]) -> None:
        self._watch(self._slots.submit(lambda: self._run(job, 1)), lambda future: self._ended_run(job, future.result()))

    def _run(self, job: Job[Request], attempt: int) -> Result:
        with ledger.during("lone runs" if attempt > 1 else "programs"):
            return self._kind.run(job, attempt)

    def _start_lone_run(self, run: _LoneRun[Request, Result]) -> None:
        def collect(future: Future[Result]) -> list[tuple[Job[Request], Result]]:
            self._alone -= 1
            self._strict = False
            result = future.result()
            # One pass is enough: the failure next to others was theirs.
            if result.status is Status.PASSED:
                return [(run.job, result)]
            if run.job.request.is_reference:
                result = result.model_copy(update={"runs_alone": run.number})
            # The reference may have come while the same text, an answer then, ran alone.
            most = LONE_RUNS if needs_confirmation(run.job.request, run.result) else run.most
            if run.number >= most:
                return [(run.job, result)]
            # First in the queue: a job's runs alone follow each other, while nothing else has started.
            self._lone_runs.appendleft(_LoneRun(run.job, result, run.number + 1, most, run.strict))
            return []

        self._alone += 1
        self._strict = run.strict
        self._watch(self._slots.submit(lambda: self._run(run.job, run.result.attempt + 1)), collect)

    def _ended_run(self, job: Job[Request], result: Result) -> list[tuple[Job[Request], Result]]:
        """Return the result if it counts; else the job runs again alone."""
        most = self._kind.lone_run_count(job, result)
        if not most:
            return [(job, result)]
        self._lone_runs.append(_LoneRun(job, result, 1, most, self._kind.lacked_shared_limit(result)))
        return []

    def _watch(self, future: Future[_T], collect: Callable[[Future[_T]], list[tuple[Job[Request], Result]]]) -> None:
        self._tasks += 1
        future.add_done_callback(lambda done: self._ended.put(lambda: collect(done)))

    def _next_results(self) -> list[tuple[Job[Request], Result]]:
        """Return the results of the next call that ends; none if a program begins to wait."""
        collect = self._ended.get()
        if collect is None:
            return []
        self._tasks -= 1
        return collect()
