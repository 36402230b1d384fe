"""Calls of one ``submit``: waiting, in flight, completed."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections import deque
from collections.abc import Iterator

from caretbench.inspect.client.background_loop import BackgroundLoop, Tasks
from caretbench.inspect.client.error_classification import RequestFault
from caretbench.inspect.client.model_caller import CallOutcome, ModelCall, ModelCaller
from caretbench.models import ModelFailure, ModelRequest


class CallsInFlight:
    """Calls of one ``submit``: waiting, in flight, completed."""

    def __init__(self, background: BackgroundLoop, exchange: ModelCaller) -> None:
        self._background = background
        self._exchange = exchange
        self._tasks: Tasks = set()
        self._landed: queue.SimpleQueue[tuple[ModelCall, asyncio.Task[CallOutcome]]] = queue.SimpleQueue()
        self._calls: list[ModelCall] = []
        self.waiting: deque[ModelCall] = deque()

    @property
    def active(self) -> int:
        """Number of calls that were sent and whose outcome has not been returned yet."""
        return len(self._calls)

    @property
    def idle(self) -> bool:
        """Return whether no completed call can be returned at once."""
        return self._landed.empty()

    def add(self, request: ModelRequest) -> None:
        """Divide a request into calls (one for all samples, or one per sample) and queue them."""
        together = self._exchange.together and len(request.samples) > 1
        # A seed belongs to one sample: together, all but the first would have none of their own.
        if together and (request.sampling.seed is None):
            self.waiting.append(ModelCall(request, request.samples))
        else:
            self.waiting.extend(ModelCall(request, (sample,)) for sample in request.samples)

    def submit_next(self) -> None:
        """Send the next waiting call."""
        call = self.waiting.popleft()
        self._calls.append(call)
        self._background.start(self._tasks, self._exchange.ask(call), lambda task: self._landed.put((call, task)))

    def next_completed(self) -> CallOutcome:
        """Wait until a call ends, and return its outcome."""
        call, task = self._wait_for_completed()
        self._calls.remove(call)
        outcome = task.result()
        if outcome.retryable:
            self.waiting.extendleft(ModelCall(call.request, (sample,)) for sample in reversed(outcome.retryable))
        return outcome

    def _wait_for_completed(self) -> tuple[ModelCall, asyncio.Task[CallOutcome]]:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._landed.get(timeout=1)  # without one, Windows hears of no Ctrl-C meanwhile

    def cancel_all(self, fault: RequestFault) -> Iterator[ModelFailure]:
        """Cancel all calls; yield a failure for each call in flight or waiting."""
        self.cancel()
        for call in [*self._calls, *self.waiting]:
            yield ModelFailure(
                request_id=call.request.id, samples=call.samples, kind=fault.kind, message=fault.message, attempts=0
            )
        self._calls.clear()
        self.waiting.clear()

    def cancel(self) -> None:
        """Cancel the calls in flight, and wait until they have ended."""
        if self._calls:
            self._background.cancel(self._tasks)
