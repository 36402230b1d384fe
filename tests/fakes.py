"""An executor that runs nothing: it decides by what a program's text holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from caretbench.execution.types import ExecutionRequest, ExecutionResult, Isolation, Status

ISOLATION = Isolation(
    backend="fake", level="none", memory="none", network="none", seccomp=False, user="unprivileged"
)


class FakeExecutor:
    """Gives each request the status that ``decide`` finds; counts what it was asked."""

    def __init__(self, decide: Callable[[ExecutionRequest], Status]) -> None:
        self.decide = decide
        self.asked: list[ExecutionRequest] = []

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Results in order, one request pulled at a time."""
        for request in requests:
            self.asked.append(request)
            status = self.decide(request)
            module = "numpy" if status is Status.UNRESOLVED_IMPORT else None
            yield ExecutionResult(id=request.id, status=status, missing_module=module, isolation=ISOLATION)

    def isolation(self) -> Isolation:
        """No walls: nothing runs."""
        return ISOLATION
