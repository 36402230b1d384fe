"""Requests in chunks over several machines: what is out, what comes back, what goes out again.

The same for programs and for commands in projects; what differs between the two is a :class:`Trade`.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from caretbench.errors import MachineError
from caretbench.execution.cluster.nodes import AnyAnswer, AnyOrder, Lost, Nodes
from caretbench.execution.types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.workspaces.workspace import WorkspaceRequest, WorkspaceResult

_CHUNKS_PER_PROCESSOR = 2  # one that runs, one that waits behind it
_LEAST_CHUNKS = 4
_FAULTS = 3
_REMEMBERED = 256
_LOOK_S = 0.5
_COUNT_S = 2.0
_WAIT_S = 2.0

Asked = TypeVar("Asked", ExecutionRequest, WorkspaceRequest)
Given = TypeVar("Given", ExecutionResult, WorkspaceResult)


_Asked = TypeVar("_Asked", ExecutionRequest, WorkspaceRequest, contravariant=True)


class Trade(Protocol[_Asked, Given]):
    """What one kind of request needs on its way to other machines."""

    chunk: int
    """Requests that travel together."""
    most_characters: int
    """So large may they be together."""

    def obstacle(self, request: _Asked) -> str:
        """Why it cannot run on these machines; empty where it can.

        Raises:
            MachineError: machines differ in what decides a verdict.
            DataError: what it needs is not here.
        """
        ...

    def key(self, request: _Asked) -> str:
        """The hash of what decides its verdict."""
        ...

    def group(self, request: _Asked) -> Hashable:
        """Requests of one chunk are of one group."""
        ...

    def size(self, request: _Asked) -> int:
        """Its characters."""
        ...

    def known(self, key: str) -> Given | None:
        """The verdict that is kept."""
        ...

    def keep(self, key: str, request: _Asked, result: Given) -> None:
        """Keep a verdict, where it would come out the same again."""
        ...

    def without(self, request: _Asked, status: Status, reason: str) -> Given:
        """The result of a request that did not run."""
        ...

    def order(self, requests: tuple[_Asked, ...], *, full: bool) -> AnyOrder:
        """A chunk as it is sent; ``full``: with what the node said that it lacks."""
        ...

    def refuse(self, request: _Asked, answer: AnyAnswer) -> None:
        """Say in what the node is unlike the others.

        Raises:
            MachineError: always, where it is.
        """
        ...

    def results(self, answer: AnyAnswer) -> tuple[Given, ...]:
        """The results of an answer."""
        ...


@dataclass
class _Job(Generic[Asked]):
    """One distinct request, and every one that is like it."""

    key: str
    request: Asked
    others: list[str] = field(default_factory=list)


@dataclass
class _Chunk(Generic[Asked]):
    jobs: list[_Job[Asked]] = field(default_factory=list)
    characters: int = 0
    faults: int = 0
    full: bool = False


class Chunks(Generic[Asked, Given]):
    """The state of one submission."""

    def __init__(self, nodes: Nodes, trade: Trade[Asked, Given]) -> None:
        self._nodes = nodes
        self._trade: Trade[Asked, Given] = trade
        self._out: dict[Any, _Chunk[Asked]] = {}
        self._again: deque[_Chunk[Asked]] = deque()
        self._filling: dict[Hashable, _Chunk[Asked]] = {}
        self._jobs: dict[str, _Job[Asked]] = {}
        self._held = 0
        self._recent: OrderedDict[str, Given] = OrderedDict()
        self._processors = 0
        self._counted = float("-inf")
        self._looked = time.monotonic()

    def results(self, requests: Iterable[Asked]) -> Iterator[Given]:
        """Feed the machines and yield what they give."""
        source = iter(requests)
        exhausted = False
        try:
            while not exhausted or self._held:
                room = self._room()
                while self._again and len(self._out) < room:
                    self._send(self._again.popleft())
                most = 2 * self._trade.chunk * room
                if not exhausted and len(self._out) < room and self._held < most:
                    request = next(source, None)
                    if request is not None:
                        yield from self._take(request)
                        if time.monotonic() - self._looked > _LOOK_S:
                            yield from self._collect(0.0)
                        continue
                    exhausted = True
                # While machines work, chunks are left to fill.
                while self._filling and len(self._out) < room and (exhausted or not self._out):
                    self._send(self._filling.pop(next(iter(self._filling))))
                if self._out:
                    yield from self._collect(_WAIT_S)
        finally:
            if self._out:
                self._nodes.cancel(list(self._out))

    def _room(self) -> int:
        """How many chunks may be out; machines come and go."""
        if time.monotonic() - self._counted > _COUNT_S:
            self._processors = self._nodes.processors()
            self._counted = time.monotonic()
        return max(_LEAST_CHUNKS, _CHUNKS_PER_PROCESSOR * self._processors)

    # --- taking requests in -----------------------------------------------------------------------------------

    def _take(self, request: Asked) -> Iterator[Given]:
        obstacle = self._trade.obstacle(request)
        if obstacle:
            yield self._trade.without(request, Status.SKIPPED, obstacle)
            return
        key = self._trade.key(request)
        running = self._jobs.get(key)
        if running is not None:
            running.others.append(request.id)
            self._held += 1
            return
        known = self._recent.get(key) or self._trade.known(key)
        if known is not None:
            yield known.model_copy(update={"id": request.id, "cached": True})
            return
        job = self._jobs[key] = _Job(key, request)
        self._held += 1
        group = self._trade.group(request)
        chunk = self._filling.setdefault(group, _Chunk())
        chunk.jobs.append(job)
        chunk.characters += self._trade.size(request)
        if len(chunk.jobs) >= self._trade.chunk or chunk.characters >= self._trade.most_characters:
            self._send(self._filling.pop(group))

    def _send(self, chunk: _Chunk[Asked]) -> None:
        requests = tuple(job.request.model_copy(update={"id": job.key}) for job in chunk.jobs)
        self._out[self._nodes.send(self._trade.order(requests, full=chunk.full))] = chunk

    # --- giving results out -----------------------------------------------------------------------------------

    def _collect(self, seconds: float) -> Iterator[Given]:
        """The answers that are there, after waiting so long for the first."""
        while self._out:
            handle = self._nodes.wait(list(self._out), seconds)
            self._looked = time.monotonic()
            if handle is None:
                return
            chunk = self._out.pop(handle)
            seconds = 0.0
            try:
                answer = self._nodes.fetch(handle)
            except Lost as lost:
                yield from self._divide(chunk, str(lost))
                continue
            if answer.unlike is not None:
                self._trade.refuse(chunk.jobs[0].request, answer)
            yield from self._answered(chunk, answer)

    def _answered(self, chunk: _Chunk[Asked], answer: AnyAnswer) -> Iterator[Given]:
        waiting = {job.key: job for job in chunk.jobs}
        for result in self._trade.results(answer):
            job = waiting.pop(result.id, None)
            if job is not None:
                yield from self._give(job, result)
        if not waiting:
            return
        if answer.lacks and not chunk.full:
            chunk.full = True
            self._again.append(chunk)
            return
        faults = chunk.faults + 1 if len(waiting) == len(chunk.jobs) else 0
        if faults >= _FAULTS:
            raise MachineError(
                f"{answer.node or 'a machine'} cannot run programs: {answer.fault or 'no answer'}"
            )
        self._again.append(_Chunk(list(waiting.values()), faults=faults, full=chunk.full))

    def _divide(self, chunk: _Chunk[Asked], why: str) -> Iterator[Given]:
        """A chunk that takes down whatever works on it is halved, until the request that does so stands alone."""
        if len(chunk.jobs) == 1:
            [job] = chunk.jobs
            reason = f"no machine came back with its result: {why}"
            yield from self._give(job, self._trade.without(job.request, Status.SANDBOX_ERROR, reason))
            return
        middle = len(chunk.jobs) // 2
        for jobs in (chunk.jobs[:middle], chunk.jobs[middle:]):
            self._again.append(_Chunk(jobs, full=chunk.full))

    def _give(self, job: _Job[Asked], result: Given) -> Iterator[Given]:
        result = result.model_copy(update={"id": job.request.id, "cached": False})
        self._trade.keep(job.key, job.request, result)
        self._recent[job.key] = result
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        del self._jobs[job.key]
        self._held -= 1 + len(job.others)
        yield result
        for identity in job.others:
            yield result.model_copy(update={"id": identity, "cached": True})
