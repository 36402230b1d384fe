"""Submission of requests: identical requests are grouped, known results come from the cache, the others are run.

It is the same for programs and for commands in projects, on this machine and on others. A :class:`RequestKind` defines
keys and caching, a :class:`JobRunner` runs the jobs. The number of requests in memory is bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar, cast

from caretbench.execution.cache.result_cache import ResultCache, is_usable, needs_confirmation, open_cache
from caretbench.execution.cache.stored_kinds import cache_limit_bytes, keep_cache_limit
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult

Request = TypeVar("Request", ExecutionRequest, WorkspaceRequest)
Result = TypeVar("Result", ExecutionResult, WorkspaceResult)
_Result = TypeVar("_Result", ExecutionResult, WorkspaceResult, covariant=True)

# Identical answers are samples of one problem, which follow each other; a result holds up to 128 kB of output.
_REMEMBERED = 256


_END: Final = object()


@dataclass
class Job(Generic[Request]):
    """Distinct request, with the ids of all identical ones.

    ``key`` tells it from the other jobs of a submission: programs that are equal but for their bound of CPU time, which
    is no part of the ``cache_key``, are different jobs.
    """

    key: str
    cache_key: str
    request: Request
    duplicate_ids: list[str] = field(default_factory=list)


class RequestKind(ABC, Generic[Request, Result]):
    """Kind of request: its keys and its result cache."""

    result_type: type[Result]

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache

    @abstractmethod
    def rejection(self, request: Request) -> Result | None:
        """Return the result of a request that cannot run here; None if it can."""

    @abstractmethod
    def key(self, request: Request) -> str:
        """Return the cache key of a request: the hash of its result's inputs."""

    @abstractmethod
    def is_reusable(self, result: Result) -> bool:
        """Return whether identical requests of the same submission get this result, whether or not it is cached."""

    def cached_result(self, key: str) -> Result | None:
        """Return the cached result, or None."""
        return self._cache.get(key, self.result_type)

    def store_result(self, job: Job[Request], result: Result) -> None:
        """Store a result if it is repeatable."""
        self._cache.store(job.cache_key, job.request, result)


class JobRunner(Protocol[Request, _Result]):
    """Protocol of a runner of jobs, on this machine or on others. Its methods are called by one thread."""

    def has_room(self, waiting: int) -> bool:
        """Return whether another request may be accepted; ``waiting`` is the number of those without a result."""

    def start(self, job: Job[Request]) -> None:
        """Accept a job; it runs now, or together with later ones."""

    def completed(self) -> Iterator[tuple[Job[Request], _Result]]:
        """Yield completed jobs, without waiting."""

    def wait(self, *, all_started: bool) -> Iterator[tuple[Job[Request], _Result]]:
        """Wait for at least one completed job and yield the completed ones; ``all_started``: no more jobs follow."""

    def close(self) -> None:
        """Cancel the jobs that still run."""


class Submission(Generic[Request, Result]):
    """State of one submission; used by the caller's thread only."""

    def __init__(self, kind: RequestKind[Request, Result], runs: JobRunner[Request, Result]) -> None:
        self._kind: RequestKind[Request, Result] = kind
        self._runs: JobRunner[Request, Result] = runs
        self._jobs: dict[str, Job[Request]] = {}
        self._undelivered = 0
        self._recent: OrderedDict[str, Result] = OrderedDict()

    def results(self, requests: Iterable[Request | None]) -> Iterator[Result]:
        """Yield results as they complete, one per request. Closed early, it cancels running jobs.

        None among the requests: the next one depends on a result that is still due.
        """
        source = iter(requests)
        exhausted = False
        try:
            while not exhausted or self._undelivered:
                dry = exhausted
                if not exhausted and self._runs.has_room(self._undelivered):
                    request = next(source, _END)
                    if request is not None and request is not _END:
                        yield from self._accept(cast("Request", request))
                        yield from self._deliver(self._runs.completed())
                        continue
                    exhausted, dry = request is _END, True
                    if not exhausted and not self._undelivered:
                        # A caller that waits for a result of nothing would wait for ever.
                        raise RuntimeError("requests wait for a result, but none is due")
                yield from self._deliver(self._runs.wait(all_started=dry))
        finally:
            self._runs.close()

    def _accept(self, request: Request) -> Iterator[Result]:
        refused = self._kind.rejection(request)
        if refused is not None:
            yield refused
            return
        key = self._kind.key(request)
        bounded = request.run_limits != request.limits
        identity = f"{key}/{request.run_limits.cpu_s:g}" if bounded else key
        running = self._jobs.get(identity)
        if running is not None:
            running.duplicate_ids.append(request.id)
            if request.is_reference:
                # The stricter rule holds for all copies: the reference is confirmed though an answer of its text came
                # first.
                running.request = running.request.model_copy(update={"is_reference": True})
            self._undelivered += 1
            return
        earlier = self._recent.get(key) or self._kind.cached_result(key)
        if earlier is not None and is_usable(request, earlier) and not needs_confirmation(request, earlier):
            yield earlier.model_copy(update={"id": request.id, "cached": True})
            return
        job = self._jobs[identity] = Job(identity, key, request)
        self._undelivered += 1
        self._runs.start(job)

    def _deliver(self, ended: Iterator[tuple[Job[Request], Result]]) -> Iterator[Result]:
        for job, result in ended:
            # The reference came when the same program ran already, as an answer's.
            if needs_confirmation(job.request, result):
                self._runs.start(job)
                continue
            self._kind.store_result(job, result)
            if self._kind.is_reusable(result):
                self._recent[job.cache_key] = result
                if len(self._recent) > _REMEMBERED:
                    self._recent.popitem(last=False)
            del self._jobs[job.key]
            self._undelivered -= 1 + len(job.duplicate_ids)
            yield result
            for identity in job.duplicate_ids:
                yield result.model_copy(update={"id": identity, "cached": True})


class CachedExecutor(ABC, Generic[Request, Result]):
    """Executor of one kind of request, in any order. Identical ones run once; known results come from the cache here.

    Args:
        cache: Cache of results and compiled programs; the user's cache by default.
        use_cache: False: a cache for each ``submit`` alone, which forgets everything.
    """

    def __init__(self, cache: ResultCache | None = None, *, use_cache: bool = True) -> None:
        self._cache = cache
        self._use_cache = use_cache

    def submit(self, requests: Iterable[Request | None]) -> Iterator[Result]:
        """Yield results as they complete, one per request. Closed early, it cancels running jobs.

        A request that cannot be run as it is (its patch leads out of the project, its bundle is not built, it
        binds folders and should travel) is ``skipped``, with the reason.

        Raises:
            DataError: a snapshot is not here, damaged, or too large to be sent.
            MachineError: no sandbox can be built here, or machines differ in what decides a verdict.
        """
        limited = self._cache is None and self._use_cache
        if limited:
            # A wrong setting ends the run here, before anything is paid or run.
            cache_limit_bytes()
        with open_cache(self._cache, use_cache=self._use_cache) as cache:
            yield from self._submission(cache).results(requests)
        if limited:
            keep_cache_limit()

    @abstractmethod
    def _submission(self, cache: ResultCache) -> Submission[Request, Result]: ...

    @abstractmethod
    def isolation(self) -> Isolation:
        """Return the isolation in force, determined by running a program.

        Raises:
            MachineError: no sandbox can be built here, or on one of the machines; there is no unsandboxed way.
        """
