"""Executor for both kinds of request: single programs, and commands in projects. Results have the same type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from caretbench.errors import UsageError
from caretbench.execution.execution_types import (
    Engine,
    ExecutionRequest,
    ExecutionResult,
    Isolation,
    Status,
    TestTally,
    run_fields,
)
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult

AnyRequest = ExecutionRequest | WorkspaceRequest
"""A program, or a command in a project."""

_NAMES = 20
"""Maximum number of failing tests that are named."""
_OUTPUT_CHARACTERS = 2000
"""Characters kept of a build's first or a test runner's last output: many write nothing to standard error."""


AnyExecutor = Engine[AnyRequest | None, ExecutionResult]
"""Runs requests of both kinds. None among them: the next one depends on a result that is still due."""


class Dispatcher:
    """Dispatcher of requests to the engines of programs and of projects, the latter created on first use."""

    def __init__(
        self,
        programs: Engine[ExecutionRequest | None, ExecutionResult],
        projects: Callable[[], Engine[WorkspaceRequest | None, WorkspaceResult]] = WorkspaceExecutor,
    ) -> None:
        self.programs = programs
        self._make = projects
        self._projects: Engine[WorkspaceRequest | None, WorkspaceResult] | None = None

    @property
    def projects(self) -> Engine[WorkspaceRequest | None, WorkspaceResult]:
        """Executor of commands in projects."""
        if self._projects is None:
            self._projects = self._make()
        return self._projects

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self.programs.isolation()

    def submit(self, requests: Iterable[AnyRequest | None]) -> Iterator[ExecutionResult]:
        """Yield one result per request, in order of completion. Requests are read as capacity allows.

        A run of requests of one kind goes to its engine together; a set of problems is of one kind.

        Raises:
            DataError: a snapshot is not here, or damaged.
            SandboxUnavailable: no sandbox can be built here.
        """
        is_of_project = False

        def kind(request: AnyRequest | None) -> bool:
            nonlocal is_of_project
            if request is not None:  # None is of the kind before it
                is_of_project = isinstance(request, WorkspaceRequest)
            return is_of_project

        for of_project, run in groupby(requests, key=kind):
            if of_project:
                wanted = (request for request in run if not isinstance(request, ExecutionRequest))
                yield from map(as_execution_result, self.projects.submit(wanted))
            else:
                programs = (request for request in run if not isinstance(request, WorkspaceRequest))
                yield from self.programs.submit(programs)


def open_executor(workers: int | None = None, *, use_cache: bool = True, engine: str = "local") -> Dispatcher:
    """Return the executor of programs and of commands in projects, on this machine or on a Ray cluster.

    Args:
        workers: Programs, or commands, in flight; on a cluster, programs for each processor.
        use_cache: Use known verdicts.
        engine: ``local``, ``ray``, or ``ray://HOST:PORT``.

    Raises:
        UsageError: no such engine.
        MachineError: Ray is not installed, or the cluster does not answer.
    """
    if engine == "local":
        # Imported here: a run on a cluster needs no compilers of this machine, and only such a run needs what imports
        # Ray.
        from caretbench.execution.local_executor import LocalExecutor

        return Dispatcher(
            LocalExecutor(workers=workers, use_cache=use_cache), lambda: WorkspaceExecutor(workers, use_cache=use_cache)
        )
    if engine == "ray" or engine.startswith("ray://"):
        from caretbench.execution.cluster.ray_cluster import RayNodePool
        from caretbench.execution.cluster.remote_executor import RemoteExecutor, RemoteWorkspaceExecutor

        nodes = RayNodePool(None if engine == "ray" else engine, workers)
        spread = RemoteExecutor(nodes, use_cache=use_cache)
        return Dispatcher(spread, lambda: RemoteWorkspaceExecutor(spread, use_cache=use_cache))
    raise UsageError(f"--engine {engine!r}: expected local, ray or ray://HOST:PORT")


def as_execution_result(result: WorkspaceResult) -> ExecutionResult:
    """Return the result of a command in a project in the form of a program's result."""
    compiled = result.status is not Status.COMPILE_ERROR
    # Of a build the first error is the cause of the others; of a test run the summary at the end says most.
    output = "\n".join(filter(None, (result.stderr.text, result.stdout.text)))[:_OUTPUT_CHARACTERS]
    if compiled:
        output = result.stdout.text[-_OUTPUT_CHARACTERS:] if result.status is not Status.PASSED else ""
    counts = result.test_counts
    failing = sorted({*counts.names("failed"), *counts.names("error")})
    tally = TestTally(
        passed=counts.passed,
        failed=counts.failed + counts.errors,
        skipped=counts.skipped,
        failing=tuple(failing[:_NAMES]),
    )
    return ExecutionResult(
        id=result.id,
        status=result.status,
        # A command for which no sandbox was built has run nothing.
        stage="none" if result.isolation is None else "run" if compiled else "compile",
        diagnostics=output,
        missing_module=result.missing_module,
        run_s=result.wall_s,
        attempt=result.attempt,
        runs_alone=result.runs_alone,
        cached=result.cached,
        reason=result.reason,
        tests=tally if result.tests else None,
        **run_fields(result),
    )
