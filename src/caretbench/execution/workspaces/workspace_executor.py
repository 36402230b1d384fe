"""Engine that runs commands in projects on this machine.

A test command has processes of its own, so one command a processor is in flight. The caller keeps results by their
``id``, and after an interruption asks for those that it does not have.
"""

from __future__ import annotations

import functools
import os

from caretbench.errors import DataError
from caretbench.execution.cache.cache_keys import path_fingerprint, project_command_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.classification import delayed_by_load, timed_out_by_clock
from caretbench.execution.execution_types import Engine, Isolation, Limits, Status
from caretbench.execution.local_jobs import LocalJobRunner, LocalRequestKind
from caretbench.execution.sandbox.host.program_users import NoProgramUsers
from caretbench.execution.submission import CachedExecutor, Job, Submission
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS, WorkspaceRunner

_WINDOW_PER_WORKER = 4
# Limits are a part of a verdict's key: without steps each measurement of a reference would make another one.
_STEPS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600)
# A busy machine stretches the wall time, and CPU time decides.
_WALL_S, _WALLS_PER_CPU = 60.0, 6.0


WorkspaceEngine = Engine[WorkspaceRequest, WorkspaceResult]
"""Runs commands in projects."""


def limits_from_cpu_time(
    reference_cpu_s: float, *, factor: float = 5.0, min_s: float = 10.0, min_limits: Limits = WORKSPACE_LIMITS
) -> Limits:
    """Return limits by the reference's CPU time alone: ``factor`` times that, at least ``min_s``.

    Times are rounded up to whole steps (10, 15, 20, 30 s and so on, an hour at most), so that the same bounds, which
    are a part of a verdict's key, come out of two measurements. Memory and the like are those of ``min_limits``.

    An answer that loops is ended soon, then; the wall time, which a busy machine stretches, is six times the CPU time.
    """
    cpu_s = _bound(factor * reference_cpu_s, min_s)
    return min_limits.model_copy(update={"wall_s": max(_WALL_S, _WALLS_PER_CPU * cpu_s), "cpu_s": cpu_s})


def _bound(value: float, least: float) -> float:
    step = next((float(step) for step in _STEPS if step >= value), float(_STEPS[-1]))
    return max(least, step) if value > least else least


class WorkspaceExecutor(CachedExecutor[WorkspaceRequest, WorkspaceResult]):
    """Executor of commands in projects on this machine.

    Args:
        workers: Commands in flight; the number of processors by default.
        workspace_runner: Runs the commands; by default in the user's snapshots.
        cache, use_cache: As for :class:`~caretbench.execution.submission.CachedExecutor`.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        workspace_runner: WorkspaceRunner | None = None,
        cache: ResultCache | None = None,
        use_cache: bool = True,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self.workspace_runner = workspace_runner or WorkspaceRunner()
        self._workers = max(1, workers or os.cpu_count() or 1)

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self.workspace_runner.sandbox.probe()

    def _submission(self, cache: ResultCache) -> Submission[WorkspaceRequest, WorkspaceResult]:
        sandbox = self.workspace_runner.sandbox
        sandbox.probe()
        projects = WorkspaceRequestKind(self.workspace_runner, cache)
        window = self._workers * _WINDOW_PER_WORKER
        return Submission(
            projects, LocalJobRunner(projects, sandbox, workers=self._workers, compilers=1, window=window)
        )

    def close(self) -> None:
        """End the warm sandboxes, and release the snapshots."""
        self.workspace_runner.close()


class WorkspaceRequestKind(LocalRequestKind[WorkspaceRequest, WorkspaceResult]):
    """Kind of request for commands in projects on this machine."""

    result_type = WorkspaceResult

    def __init__(self, workspace_runner: WorkspaceRunner, cache: ResultCache) -> None:
        super().__init__(cache)
        self._spaces = workspace_runner
        self._path_fingerprints = functools.cache(path_fingerprint)

    def rejection(self, request: WorkspaceRequest) -> WorkspaceResult | None:
        """Return None, or raise DataError if the request's snapshot is missing or damaged.

        Raises:
            DataError: the snapshot is not here, or damaged.
        """
        self._spaces.snapshot(request.snapshot)
        return None

    def key(self, request: WorkspaceRequest) -> str:
        """Return the cache key of a request: the hash of its result's inputs."""
        bundle = self._spaces.bundle(request.bundle)
        return project_command_key(
            request,
            bundle=bundle.lock_hash if bundle is not None else "",
            overlay=self._spaces.overlay,
            level=self._spaces.sandbox.probe().level,
            path_fingerprints=self._path_fingerprints,
        )

    def is_reusable(self, result: WorkspaceResult) -> bool:
        """Return False: results hold files, and only the cache keeps them."""
        del result
        return False

    def run(self, job: Job[WorkspaceRequest], attempt: int) -> WorkspaceResult:
        """Run a command."""
        request = job.request
        try:
            return self._spaces.run(request, attempt)
        except DataError as error:
            # The request is at fault, not the machine: another attempt would end alike.
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=str(error))
        except (OSError, NoProgramUsers) as error:
            reason = f"no process: {error}"
            return WorkspaceResult(id=request.id, status=Status.SANDBOX_ERROR, attempt=attempt, reason=reason)

    def needs_rerun(self, job: Job[WorkspaceRequest], result: WorkspaceResult) -> bool:
        """Return whether other programs may have changed the result, so that the job runs again alone.

        A build's own limit by the clock may be short, so what it ends runs again alone in any case.
        """
        late = delayed_by_load(result.status, result.reason, result.signal, result.cpu_s)
        late |= job.request.limits.wall_s < _WALL_S and timed_out_by_clock(result.status, result.reason)
        return late or self.lacked_shared_limit(result)
