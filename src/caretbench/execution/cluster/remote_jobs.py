"""Batches of jobs on several machines: sending, receiving, and sending again after losses.

The same for programs and for commands in projects; what differs between the two is a :class:`RemoteRequestKind`.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic

from caretbench.errors import MachineError
from caretbench.execution.cluster.node_messages import AnyBatch, AnyBatchResult, BatchLost, NodePool
from caretbench.execution.execution_types import Status
from caretbench.execution.submission import Job, Request, RequestKind, Result

_BATCHES_PER_PROCESSOR = 2  # one that runs, one that waits behind it
_LEAST_BATCHES = 4
_FAULTS = 3
_LOOK_S = 0.5
_COUNT_S = 2.0
_WAIT_S = 2.0


class RemoteRequestKind(RequestKind[Request, Result]):
    """Kind of request that runs on other machines."""

    max_requests: int
    """Maximum number of requests in a batch."""
    max_characters: int
    """Maximum number of characters in a batch."""

    @abstractmethod
    def batch_group(self, request: Request) -> Hashable:
        """Return the properties that the requests of one batch share."""

    @abstractmethod
    def character_count(self, request: Request) -> int:
        """Return the number of characters of a request."""

    def unrun_result(self, request: Request, status: Status, reason: str) -> Result:
        """Return the result of a request that did not run."""
        return self.result_type(id=request.id, status=status, reason=reason)

    def is_reusable(self, result: Result) -> bool:
        """Return True, so that a request that crashed a node is not sent again."""
        del result
        return True

    @abstractmethod
    def batch(self, requests: tuple[Request, ...], *, with_archive: bool) -> AnyBatch:
        """Return a batch to send; ``with_archive`` adds the project's archive, which the node lacks."""

    @abstractmethod
    def check_node(self, request: Request, result: AnyBatchResult) -> None:
        """Raise MachineError if the node differs from the others, with the difference."""

    @abstractmethod
    def results(self, result: AnyBatchResult) -> tuple[Result, ...]:
        """Return the results of a batch."""


@dataclass
class _Filling(Generic[Request]):
    """Batch that is being filled."""

    jobs: list[Job[Request]] = field(default_factory=list)
    characters: int = 0
    faults: int = 0
    with_archive: bool = False


class RemoteJobRunner(Generic[Request, Result]):
    """Runner of jobs on other machines, as :class:`caretbench.execution.submission.JobRunner`."""

    def __init__(self, nodes: NodePool, kind: RemoteRequestKind[Request, Result]) -> None:
        self._nodes = nodes
        self._kind: RemoteRequestKind[Request, Result] = kind
        self._out: dict[Any, _Filling[Request]] = {}
        self._again: deque[_Filling[Request]] = deque()
        self._filling: dict[Hashable, _Filling[Request]] = {}
        self._processors = 0
        self._counted = float("-inf")
        self._looked = time.monotonic()

    def has_room(self, waiting: int) -> bool:
        """Return whether one more request may be taken."""
        most = self._send_again()
        return len(self._out) < most and waiting < 2 * self._kind.max_requests * most

    def _send_again(self) -> int:
        """Send lost requests again, as far as there is room; return the maximum number of batches in flight."""
        if time.monotonic() - self._counted > _COUNT_S:  # machines come and go
            self._processors = self._nodes.processor_count()
            self._counted = time.monotonic()
        most = max(_LEAST_BATCHES, _BATCHES_PER_PROCESSOR * self._processors)
        while self._again and len(self._out) < most:
            self._send(self._again.popleft())
        return most

    def start(self, job: Job[Request]) -> None:
        """Put a job into a batch, and send the batch once it is full."""
        group = self._kind.batch_group(job.request)
        batch = self._filling.setdefault(group, _Filling())
        batch.jobs.append(job)
        batch.characters += self._kind.character_count(job.request)
        if len(batch.jobs) >= self._kind.max_requests or batch.characters >= self._kind.max_characters:
            self._send(self._filling.pop(group))

    def completed(self) -> Iterator[tuple[Job[Request], Result]]:
        """Yield completed jobs; results are collected at intervals, not at every call."""
        if time.monotonic() - self._looked > _LOOK_S:
            yield from self._collect(0.0)

    def wait(self, *, all_started: bool) -> Iterator[tuple[Job[Request], Result]]:
        """Wait for the next results, for some seconds."""
        most = self._send_again()
        # While machines work, batches are left to fill.
        while self._filling and len(self._out) < most and (all_started or not self._out):
            self._send(self._filling.pop(next(iter(self._filling))))
        if self._out:
            yield from self._collect(_WAIT_S)

    def close(self) -> None:
        """Cancel the jobs that still run."""
        if self._out:
            self._nodes.cancel(list(self._out))

    def _send(self, batch: _Filling[Request]) -> None:
        requests = tuple(job.request.model_copy(update={"id": job.key}) for job in batch.jobs)
        self._out[self._nodes.send(self._kind.batch(requests, with_archive=batch.with_archive))] = batch

    def _collect(self, seconds: float) -> Iterator[tuple[Job[Request], Result]]:
        """Yield the results that are there, after waiting so long for the first."""
        while self._out:
            handle = self._nodes.wait(list(self._out), seconds)
            self._looked = time.monotonic()
            if handle is None:
                return
            batch = self._out.pop(handle)
            seconds = 0.0
            try:
                result = self._nodes.fetch(handle)
            except BatchLost as lost:
                yield from self._divide(batch, str(lost))
                continue
            if result.mismatch is not None:
                self._kind.check_node(batch.jobs[0].request, result)
            yield from self._answered(batch, result)

    def _answered(self, batch: _Filling[Request], answer: AnyBatchResult) -> Iterator[tuple[Job[Request], Result]]:
        waiting = {job.key: job for job in batch.jobs}
        for result in self._kind.results(answer):
            job = waiting.pop(result.id, None)
            if job is not None:
                yield job, result.model_copy(update={"id": job.request.id, "cached": False})
        if not waiting:
            return
        if answer.needs_archive and not batch.with_archive:
            batch.with_archive = True
            self._again.append(batch)
            return
        faults = batch.faults + 1 if len(waiting) == len(batch.jobs) else 0
        if faults >= _FAULTS:
            raise MachineError(f"{answer.node or 'a machine'} cannot run programs: {answer.fault or 'no answer'}")
        self._again.append(_Filling(list(waiting.values()), faults=faults, with_archive=batch.with_archive))

    def _divide(self, batch: _Filling[Request], why: str) -> Iterator[tuple[Job[Request], Result]]:
        """Halve a batch that takes down its workers, until the request that causes it is alone."""
        if len(batch.jobs) == 1:
            [job] = batch.jobs
            reason = f"no machine came back with its result: {why}"
            yield job, self._kind.unrun_result(job.request, Status.SANDBOX_ERROR, reason)
            return
        middle = len(batch.jobs) // 2
        for jobs in (batch.jobs[:middle], batch.jobs[middle:]):
            self._again.append(_Filling(jobs, with_archive=batch.with_archive))
