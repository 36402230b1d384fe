"""Engine that runs commands in projects within a bound that its caller checks, of time for example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner


class BoundedExecutor(WorkspaceExecutor):
    """Executor that calls ``check`` before it runs requests and after each result; its error ends the others.

    ``cpu_s`` are the CPU seconds of its commands so far; results from the cache cost nothing.
    """

    def __init__(
        self, workers: int | None = None, *, workspace_runner: WorkspaceRunner | None = None, check: Callable[[], None]
    ) -> None:
        super().__init__(workers, workspace_runner=workspace_runner)
        self._check = check
        self.cpu_s = 0.0

    def submit(self, requests: Iterable[WorkspaceRequest | None]) -> Iterator[WorkspaceResult]:
        """Yield results as they complete; closed early, or after an error of the check, it cancels running jobs."""
        self._check()
        for result in super().submit(requests):
            self.cpu_s += 0.0 if result.cached else result.cpu_s
            yield result
            self._check()
