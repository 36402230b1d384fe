"""The engine over several machines: requests in, results out as they come, chunk by chunk.

The caller's process holds everything that must not be lost: what was asked, which verdicts are known, and the results,
which it takes from a machine one chunk at a time and gives out at once. Machines hold nothing, so one that goes away
costs the time of the chunks it was working on. Memory stays bounded: only so many chunks are out at a time, and the
requests behind them are not asked for before there is room.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from caretbench.errors import MachineError
from caretbench.execution.bundles import installed
from caretbench.execution.cache import ResultCache, opened, verdict_key
from caretbench.execution.nodes import Answer, Footing, Lost, Nodes, Order, Want
from caretbench.execution.runtimes.base import BundleLookup
from caretbench.execution.types import ExecutionRequest, ExecutionResult, Isolation, Status, Toolchain

CHUNK = 25
"""Programs that travel together: as many as a compiler takes at a time; sending them costs little beside that."""

_CHUNKS_PER_PROCESSOR = 2  # one that runs, one that waits behind it
_LEAST_CHUNKS = 4
_CHUNK_CHARACTERS = 4_000_000
_FAULTS = 3
_REMEMBERED = 256
_LOOK_S = 0.5
_COUNT_S = 2.0
_WAIT_S = 2.0

_Group = tuple[Want, str, str | None]


@dataclass
class _Job:
    """One distinct program, and every request for it."""

    key: str
    request: ExecutionRequest
    others: list[str] = field(default_factory=list)


@dataclass
class _Chunk:
    want: Want
    footing: Footing
    jobs: list[_Job] = field(default_factory=list)
    characters: int = 0
    faults: int = 0


class SpreadingExecutor:
    """Runs programs on other machines. Identical programs run once; known verdicts come from this machine's cache.

    Args:
        nodes: The machines.
        cache: Where verdicts are kept, on this machine; the user's cache by default.
        use_cache: False: a cache for each ``submit`` alone, which forgets everything.
        bundles: From a bundle's name to the bundle that is built on this machine.
    """

    def __init__(
        self,
        nodes: Nodes,
        *,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        bundles: BundleLookup = installed,
    ) -> None:
        self._nodes = nodes
        self._cache = cache
        self._use_cache = use_cache
        self._bundles = bundles
        self._footings: dict[Want, Footing] = {}

    def isolation(self) -> Isolation:
        """The walls on all machines; what differs among them is ``mixed``, and stands in every result as it was.

        Raises:
            MachineError: there is no machine, or no sandbox on one of them.
        """
        footings = _usable(self._nodes.survey(Want("python")))
        walls = [footing.isolation.model_dump() for footing in footings if footing.isolation is not None]
        joined = {
            name: value if all(other[name] == value for other in walls) else "mixed"
            for name, value in walls[0].items()
        }
        return Isolation.model_validate(joined | {"seccomp": all(wall["seccomp"] for wall in walls)})

    def toolchain(self, language: str) -> Toolchain:
        """The language's tools, which are the same on all machines.

        Raises:
            MachineError: they are not, or there is no machine.
        """
        return self._footing(Want(language)).toolchain

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Results as they come, one per request.

        A generator that is closed early ends the programs that still run.

        Raises:
            MachineError: machines differ in what decides a verdict, or cannot run programs; what came before holds.
        """
        with opened(self._cache, use_cache=self._use_cache) as cache:
            yield from _Submission(self._nodes, cache, self._footing).results(requests)

    def _footing(self, want: Want) -> Footing:
        if want not in self._footings:
            footing, *others = _usable(self._nodes.survey(want))
            for other in others:
                _check_alike(footing, other, want)
            if want.bundle and not footing.bundle and self._bundles(want.bundle) is not None:
                raise MachineError(
                    f"the bundle {want.bundle} is built here, but not on {footing.node}: run "
                    f"`caretbench deps build {want.bundle}` on every machine"
                )
            self._footings[want] = footing
        return self._footings[want]


def _usable(footings: Sequence[Footing]) -> Sequence[Footing]:
    if not footings:
        raise MachineError(
            "the cluster has no machine with a processor; add one: ray start --address=HEAD:PORT"
        )
    for footing in footings:
        if footing.fault:
            raise MachineError(f"{footing.node} cannot run programs: {footing.fault}")
    return footings


def _check_alike(footing: Footing, other: Footing, want: Want) -> None:
    """Verdicts of machines that differ are not mixed.

    Raises:
        MachineError: they differ; the message says in what.
    """
    if footing.ground == other.ground:
        return
    if footing.toolchain.fingerprint != other.toolchain.fingerprint:
        what = f"tools for {want.language}"
        said = [f.toolchain.version or f.toolchain.remedy or "none" for f in (footing, other)]
        said = [f"{text} [{f.toolchain.fingerprint}]" for text, f in zip(said, (footing, other), strict=True)]
    elif footing.bundle != other.bundle:
        what = f"bundle {want.bundle}"
        said = [f.bundle[:16] or f"not built: caretbench deps build {want.bundle}" for f in (footing, other)]
    else:
        what = f"needs {', '.join(want.needs)}"
        said = [f.obstacle or "met" for f in (footing, other)]
    raise MachineError(
        f"machines of one run must be alike ({what}): {footing.node}: {said[0]}; {other.node}: {said[1]}"
    )


class _Submission:
    """The state of one ``submit``."""

    def __init__(self, nodes: Nodes, cache: ResultCache, footing_of: Callable[[Want], Footing]) -> None:
        self._nodes = nodes
        self._cache = cache
        self._footing_of = footing_of
        self._out: dict[Any, _Chunk] = {}
        self._again: deque[_Chunk] = deque()
        self._filling: dict[_Group, _Chunk] = {}
        self._jobs: dict[str, _Job] = {}
        self._held = 0
        self._recent: OrderedDict[str, ExecutionResult] = OrderedDict()
        self._processors = 0
        self._counted = float("-inf")
        self._looked = time.monotonic()

    def results(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Feed the machines and yield what they give."""
        source = iter(requests)
        exhausted = False
        try:
            while not exhausted or self._held:
                room = self._room()
                while self._again and len(self._out) < room:
                    self._send(self._again.popleft())
                if not exhausted and len(self._out) < room and self._held < 2 * CHUNK * room:
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

    def _take(self, request: ExecutionRequest) -> Iterator[ExecutionResult]:
        want = Want.of(request)
        footing = self._footing_of(want)
        if footing.obstacle:
            yield ExecutionResult(id=request.id, status=Status.SKIPPED, reason=footing.obstacle)
            return
        key = verdict_key(request, toolchain=footing.toolchain.fingerprint, bundle=footing.bundle)
        running = self._jobs.get(key)
        if running is not None:
            running.others.append(request.id)
            self._held += 1
            return
        known = self._recent.get(key) or self._cache.get(key)
        if known is not None:
            yield known.model_copy(update={"id": request.id, "cached": True})
            return
        job = self._jobs[key] = _Job(key, request)
        self._held += 1
        group = (want, request.profile, request.variant)
        chunk = self._filling.setdefault(group, _Chunk(want, footing))
        chunk.jobs.append(job)
        chunk.characters += len(request.source)
        if len(chunk.jobs) >= CHUNK or chunk.characters >= _CHUNK_CHARACTERS:
            self._send(self._filling.pop(group))

    def _send(self, chunk: _Chunk) -> None:
        order = Order(
            want=chunk.want,
            footing=chunk.footing,
            requests=tuple(job.request.model_copy(update={"id": job.key}) for job in chunk.jobs),
        )
        self._out[self._nodes.send(order)] = chunk

    # --- giving results out -----------------------------------------------------------------------------------

    def _collect(self, seconds: float) -> Iterator[ExecutionResult]:
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
                _check_alike(chunk.footing, answer.unlike, chunk.want)
            yield from self._answered(chunk, answer)

    def _answered(self, chunk: _Chunk, answer: Answer) -> Iterator[ExecutionResult]:
        waiting = {job.key: job for job in chunk.jobs}
        for result in answer.results:
            job = waiting.pop(result.id, None)
            if job is not None:
                yield from self._give(job, result)
        if not waiting:
            return
        faults = chunk.faults + 1 if len(waiting) == len(chunk.jobs) else 0
        if faults >= _FAULTS:
            raise MachineError(
                f"{answer.node or 'a machine'} cannot run programs: {answer.fault or 'no answer'}"
            )
        self._again.append(_Chunk(chunk.want, chunk.footing, list(waiting.values()), faults=faults))

    def _divide(self, chunk: _Chunk, why: str) -> Iterator[ExecutionResult]:
        """A chunk that takes down whatever works on it is halved, until the program that does so stands alone."""
        if len(chunk.jobs) == 1:
            reason = f"no machine came back with its result: {why}"
            yield from self._give(
                chunk.jobs[0], ExecutionResult(id="", status=Status.SANDBOX_ERROR, reason=reason)
            )
            return
        middle = len(chunk.jobs) // 2
        for jobs in (chunk.jobs[:middle], chunk.jobs[middle:]):
            self._again.append(_Chunk(chunk.want, chunk.footing, jobs))

    def _give(self, job: _Job, result: ExecutionResult) -> Iterator[ExecutionResult]:
        result = result.model_copy(update={"id": job.request.id, "cached": False})
        self._cache.put(job.key, job.request, result)
        self._recent[job.key] = result
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        del self._jobs[job.key]
        self._held -= 1 + len(job.others)
        yield result
        for identity in job.others:
            yield result.model_copy(update={"id": identity, "cached": True})
