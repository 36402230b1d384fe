"""Batches of programs from concurrently scored samples, so that compilers get many at once.

Inspect scores each sample in a coroutine of its own; the executor wants a stream. Whoever has a program to run leaves
it here and waits; a thread takes what has come together and runs it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

from caretbench.execution.dispatcher import AnyExecutor, AnyRequest
from caretbench.execution.execution_types import ExecutionResult
from caretbench.files import sha256_text

LANES = 2
"""Maximum number of parallel batches: a program that hangs in one does not delay all others."""

SETTLING_S = 0.05
"""Seconds that a batch is left to fill."""


@dataclass
class _Waiting:
    key: str
    request: AnyRequest
    future: Future[ExecutionResult]


class ProgramBatcher:
    """Collector of programs from concurrent callers that runs them in batches; equal programs run once."""

    def __init__(self, executor: Callable[[], AnyExecutor], *, batch_delay_s: float = SETTLING_S) -> None:
        self._make = executor
        self._settling_s = batch_delay_s
        self._lock = threading.Lock()
        self._executor: AnyExecutor | None = None
        self._pending: list[_Waiting] = []
        self._under_way: dict[str, Future[ExecutionResult]] = {}
        self._lanes = 0

    def submit(self, request: AnyRequest) -> Future[ExecutionResult]:
        """Return the future result of ``request``; the result does not contain the request's id."""
        key = sha256_text(repr(request.model_copy(update={"id": ""})))
        with self._lock:
            future = self._under_way.get(key)
            if future is not None:
                return future
            future = Future()
            self._under_way[key] = future
            self._pending.append(_Waiting(key, request, future))
            if self._lanes < LANES:
                self._lanes += 1
                threading.Thread(target=self._lane, name="caretbench-scoring", daemon=True).start()
            return future

    def check(self) -> None:
        """Check that programs can be run here.

        Raises:
            MachineError: they cannot; the message says what is missing.
        """
        self._the_executor().isolation()

    def _lane(self) -> None:
        while True:
            time.sleep(self._settling_s)
            batch = self._take()
            if not batch:
                return
            self._run(batch)

    def _take(self) -> list[_Waiting]:
        """Return the collected requests; without any, the thread ends."""
        with self._lock:
            batch, self._pending = self._pending, []
            if not batch:
                self._lanes -= 1
            return batch

    def _run(self, batch: list[_Waiting]) -> None:
        given: dict[str, _Waiting] = {}

        def requests() -> Iterator[AnyRequest]:
            more = batch
            while more:
                for waiting in more:
                    identity = str(len(given))
                    given[identity] = waiting
                    yield waiting.request.model_copy(update={"id": identity})
                with self._lock:  # what came meanwhile
                    more, self._pending = self._pending, []

        fault: BaseException | None = None
        try:
            for result in self._the_executor().submit(requests()):
                self._settle(given[result.id], result)
        except BaseException as error:  # whatever it is, those who wait must hear of it
            fault = error
        for waiting in (*batch, *given.values()):
            if not waiting.future.done():
                self._settle(waiting, fault or RuntimeError("the executor gave no result"))

    def _the_executor(self) -> AnyExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = self._make()
            return self._executor

    def _settle(self, waiting: _Waiting, outcome: ExecutionResult | BaseException) -> None:
        with self._lock:
            self._under_way.pop(waiting.key, None)
        if isinstance(outcome, ExecutionResult):
            waiting.future.set_result(outcome)
        else:
            waiting.future.set_exception(outcome)
