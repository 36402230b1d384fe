"""The engine of commands in projects on this machine: requests in, one result out for each, as they come.

A test command has processes of its own, so one command a processor is in flight. The caller keeps results by their
``id``, and after an interruption asks for those that it does not have.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol

from caretbench.errors import DataError
from caretbench.execution.cache.keys import PathMarks, project_key
from caretbench.execution.cache.verdicts import ResultCache, opened
from caretbench.execution.classification import held_up, short_of_what_all_share
from caretbench.execution.local import LocalRuns
from caretbench.execution.sandbox.host.users import NoUsers
from caretbench.execution.submission import Job, Submission
from caretbench.execution.types import Isolation, Limits, Progress, Status
from caretbench.execution.workspaces.workspace import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
    Workspaces,
)

_WINDOW_PER_WORKER = 4
_STEPS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600)
_WALL_S, _WALLS_PER_CPU = 60.0, 6.0


class WorkspaceEngine(Protocol):
    """Runs commands in projects, in any order; every request gives exactly one result."""

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Results as they come; identical requests run once."""

    def isolation(self) -> Isolation:
        """The walls in force, found by really running a program."""


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
        with opened(self._cache, use_cache=self._use_cache) as cache:
            projects = Projects(self.spaces, cache)
            runs = LocalRuns(
                projects,
                self.spaces.sandbox,
                workers=self._workers,
                compilers=1,
                window=self._workers * _WINDOW_PER_WORKER,
            )
            for given, result in enumerate(Submission(projects, runs).results(requests), 1):
                self._progress(given)
                yield result

    def close(self) -> None:
        """End the warm sandboxes, and let the snapshots go."""
        self.spaces.close()


class Projects:
    """Commands in projects as a kind of request, and as work on this machine."""

    def __init__(self, spaces: Workspaces, cache: ResultCache) -> None:
        self._spaces = spaces
        self._cache = cache
        self._marks = PathMarks()

    # --- requests and their results -------------------------------------------------------------------------------

    def refused(self, request: WorkspaceRequest) -> WorkspaceResult | None:
        """Return None: whether a command runs is known when it is run, but without its snapshot nothing can.

        Raises:
            DataError: the snapshot is not here, or damaged.
        """
        self._spaces.snapshot(request.snapshot)
        return None

    def key(self, request: WorkspaceRequest) -> str:
        """Return the hash of what decides its result."""
        bundle = self._spaces.bundle(request.bundle)
        return project_key(
            request,
            bundle=bundle.lock_hash if bundle is not None else "",
            overlay=self._spaces.overlay,
            level=self._spaces.sandbox.probe().level,
            marks=self._marks,
        )

    def known(self, key: str) -> WorkspaceResult | None:
        """Return the result in the cache."""
        return self._cache.get_project(key)

    def keep(self, key: str, request: WorkspaceRequest, result: WorkspaceResult) -> None:
        """Keep a result in the cache."""
        self._cache.put(key, request, result)

    def remembers(self, result: WorkspaceResult) -> bool:
        """Return False: results hold files, and only the cache keeps them."""
        del result
        return False

    # --- on the workers -------------------------------------------------------------------------------------------

    def batch(self, request: WorkspaceRequest) -> tuple[int, Hashable]:
        """Return that nothing is compiled."""
        del request
        return 0, None

    def compile(self, jobs: Sequence[Job[WorkspaceRequest]]) -> Sequence[WorkspaceResult | None]:
        """Compile nothing."""
        return [None for _ in jobs]

    def run(self, job: Job[WorkspaceRequest], attempt: int) -> WorkspaceResult:
        """Run a command."""
        request = job.request
        try:
            return self._spaces.run(request, attempt)
        except DataError as error:
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=str(error))
        except (OSError, NoUsers) as error:
            reason = f"no process: {error}"
            return WorkspaceResult(id=request.id, status=Status.SANDBOX_ERROR, attempt=attempt, reason=reason)

    def held_up(self, job: Job[WorkspaceRequest], result: WorkspaceResult) -> bool:
        """Return whether other programs may have had a part in the result."""
        del job
        late = held_up(result.status, result.reason, result.signal, result.cpu_s)
        return late or short_of_what_all_share(result.status, result.stderr.text)
