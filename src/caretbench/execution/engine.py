"""The local engine: requests in, results out as they come, many sandboxes at a time on this machine.

Synchronous by design: worker threads wait for subprocesses, which is all that running programs is; there is no event
loop. The caller's thread feeds them and yields results. Memory stays bounded: only a window of requests is held.
"""

from __future__ import annotations

import os
import queue
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from caretbench.execution.bundles import installed
from caretbench.execution.cache.verdicts import ResultCache, opened, verdict_key
from caretbench.execution.classification import held_up, short_of_what_all_share
from caretbench.execution.running import Runner
from caretbench.execution.sandbox.program import Sandbox
from caretbench.execution.scan.nesting import DEEPEST, nests_too_deep
from caretbench.execution.toolchains.base import BundleLookup
from caretbench.execution.types import CompileResult, ExecutionRequest, ExecutionResult, Isolation, Status

_WINDOW_PER_WORKER = 16
_QUIET_WAITING = 32
_REMEMBERED = 256
_LONGEST_PROGRAM = 4_000_000
"""Bytes. A longer text fails as the program's own fault: no sandbox could hold it, nor a compiler with others."""

_Group = tuple[str, str, str | None, str | None]


@dataclass
class _Job:
    """One distinct program, and every request for it."""

    key: str
    request: ExecutionRequest
    others: list[str] = field(default_factory=list)
    compiled: CompileResult = field(default_factory=lambda: CompileResult(artefact=None))


class LocalExecutor:
    """Runs programs on this machine. Identical programs run once; known verdicts come from the cache.

    Args:
        workers: Programs in flight; eight times the processors by default, since many programs do nothing but wait
            (for a port, a timer, a network that is not there). Compilers never wait: one a processor.
        cache: Where verdicts and compiled programs are kept; the user's cache by default.
        use_cache: False: a cache for this executor alone, which forgets everything.
        bundles: From a bundle's name to the built bundle.
        sandbox: The walls.
        compilers: Compilers at a time; one a processor by default.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        bundles: BundleLookup = installed,
        sandbox: Sandbox | None = None,
        compilers: int | None = None,
    ) -> None:
        self._workers = max(1, workers or 8 * (os.cpu_count() or 1))
        self._cache = cache
        self._use_cache = use_cache or cache is not None
        self._bundles = bundles
        self._sandbox = sandbox or Sandbox()
        self._compilers = min(self._workers, compilers or os.cpu_count() or 1)

    def isolation(self) -> Isolation:
        """The walls in force, found by really running a program.

        Raises:
            SandboxUnavailable: no sandbox can be built here; there is no unsandboxed way.
        """
        return self._sandbox.probe()

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Results as they come, one per request.

        A generator that is closed early ends the programs that still run.

        Raises:
            SandboxUnavailable: no sandbox can be built here.
        """
        self._sandbox.probe()
        with opened(self._cache, use_cache=self._use_cache) as cache:
            runner = Runner(self._sandbox, cache, self._bundles)
            yield from _Submission(runner, cache, self._workers, self._compilers).results(requests)


class _Submission:
    """The state of one ``submit``. Its fields are touched by the caller's thread only; workers answer by a queue."""

    def __init__(self, runner: Runner, cache: ResultCache, workers: int, compilers: int) -> None:
        self._runner = runner
        self._cache = cache
        self._window = workers * _WINDOW_PER_WORKER
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")
        self._compilers = ThreadPoolExecutor(compilers, thread_name_prefix="compiler")
        self._finished: queue.SimpleQueue[Future[list[tuple[_Job, ExecutionResult | None]]]] = (
            queue.SimpleQueue()
        )
        self._tasks = 0
        self._held = 0
        self._jobs: dict[str, _Job] = {}
        self._chunks: dict[_Group, list[_Job]] = {}
        self._quiet: deque[tuple[_Job, ExecutionResult]] = deque()
        self._recent: OrderedDict[str, ExecutionResult] = OrderedDict()

    def results(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
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
                # While something runs, chunks are left to fill: a compiler started for one program is a slow one.
                if exhausted or not self._tasks:
                    self._flush()
                if self._tasks:
                    yield from self._collect(wait=True)
                elif self._quiet:
                    yield from self._again_alone()
        finally:
            if self._tasks:
                self._runner.sandbox.interrupt()
            for pool in (self._compilers, self._pool):
                pool.shutdown(wait=True, cancel_futures=True)
            self._runner.sandbox.resume()

    # --- taking requests in -----------------------------------------------------------------------------------

    def _take(self, request: ExecutionRequest) -> Iterator[ExecutionResult]:
        obstacle = self._runner.obstacle(request)
        if obstacle is not None:
            yield ExecutionResult(id=request.id, status=Status.SKIPPED, reason=obstacle)
            return
        if len(request.source.encode("utf-8", "surrogatepass")) > _LONGEST_PROGRAM:
            reason = f"its text is longer than {_LONGEST_PROGRAM} bytes"
            yield ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, reason=reason)
            return
        if nests_too_deep(request.source, request.language):
            reason = f"its brackets nest deeper than {DEEPEST}"
            yield ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, stage="compile", reason=reason)
            return
        key = verdict_key(
            request,
            toolchain=self._runner.toolchain(request.language).fingerprint,
            bundle=self._runner.lock_hash(request.bundle),
        )
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
        size = self._runner.chunk_size(request.language)
        if size == 0:
            self._start_run(job)
            return
        group = (request.language, request.profile, request.variant, request.bundle)
        chunk = self._chunks.setdefault(group, [])
        chunk.append(job)
        if len(chunk) >= size:
            self._start_compile(self._chunks.pop(group))

    def _flush(self) -> None:
        """Compile what waits for a chunk to fill."""
        while self._chunks:
            self._start_compile(self._chunks.popitem()[1])

    # --- on the workers ---------------------------------------------------------------------------------------

    def _start_compile(self, jobs: list[_Job]) -> None:
        def work() -> list[tuple[_Job, ExecutionResult | None]]:
            answers: list[tuple[_Job, ExecutionResult | None]] = []
            for job, compiled in zip(jobs, self._runner.compile([job.request for job in jobs]), strict=True):
                job.compiled = compiled
                failed = compiled.artefact is None
                answers.append((job, self._runner.not_compiled(job.request, compiled) if failed else None))
            return answers

        self._watch(self._compilers.submit(work))

    def _start_run(self, job: _Job) -> None:
        def work() -> list[tuple[_Job, ExecutionResult | None]]:
            return [(job, self._runner.run(job.request, job.compiled))]

        self._watch(self._pool.submit(work))

    def _watch(self, future: Future[list[tuple[_Job, ExecutionResult | None]]]) -> None:
        self._tasks += 1
        future.add_done_callback(self._finished.put)

    # --- giving results out -----------------------------------------------------------------------------------

    def _collect(self, *, wait: bool) -> Iterator[ExecutionResult]:
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
                elif _held_up(result) or job.compiled.by_wall:
                    self._quiet.append((job, result))
                else:
                    yield from self._give(job, result)

    def _again_alone(self) -> Iterator[ExecutionResult]:
        """Nothing else runs now: programs that the machine's load may have held up get their second attempt."""
        while self._quiet:
            job, first = self._quiet.popleft()
            self._tasks += 1  # until it has ended: an interruption is for it too
            result = self._pool.submit(self._second, job, first.attempt + 1).result()
            self._tasks -= 1
            yield from self._give(job, result)

    def _second(self, job: _Job, attempt: int) -> ExecutionResult:
        """On a worker: the whole program again where its compiler was held up, else its run."""
        if job.compiled.by_wall:
            job.compiled = self._runner.compile([job.request])[0]
            if job.compiled.artefact is None:
                result = self._runner.not_compiled(job.request, job.compiled)
                return result.model_copy(update={"attempt": attempt})
        return self._runner.run(job.request, job.compiled, attempt)

    def _give(self, job: _Job, result: ExecutionResult) -> Iterator[ExecutionResult]:
        self._cache.put(job.key, job.request, result)
        if result.status is not Status.SANDBOX_ERROR:  # the next one like it is tried again
            self._recent[job.key] = result
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        del self._jobs[job.key]
        self._held -= 1 + len(job.others)
        yield result
        for identity in job.others:
            yield result.model_copy(update={"id": identity, "cached": True})


def _held_up(result: ExecutionResult) -> bool:
    """Whether other programs may have had a part in the result: by the machine's load, or by a limit of a user."""
    ran = result.stage == "run" or result.run_status is not None
    return ran and (
        held_up(result.ended, result.reason, result.signal, result.cpu_s)
        or short_of_what_all_share(result.ended, result.stderr.text)
    )
