"""Event loop in a background thread for synchronous code, and threads for asynchronous code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import threading
from collections.abc import Callable, Coroutine, Set
from concurrent.futures import Future
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

Result = TypeVar("Result")
Tasks = set["asyncio.Task[Any]"]

_PATIENCE_S = 5.0


class BackgroundLoop:
    """Event loop in a background thread. Tasks are in groups (sets) that are cancelled together."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def start(
        self, group: Tasks, coroutine: Coroutine[Any, Any, Result], done: Callable[[asyncio.Task[Result]], None]
    ) -> None:
        """Start ``coroutine``; ``done`` is called in the loop's thread when it returns, raises or is cancelled."""

        def begin() -> None:
            task = self._loop.create_task(coroutine)
            group.add(task)
            task.add_done_callback(group.discard)
            task.add_done_callback(done)

        self._loop.call_soon_threadsafe(begin)

    def call(self, coroutine: Coroutine[Any, Any, Result], timeout: float = _PATIENCE_S) -> Result:
        """Return the result of ``coroutine``.

        Raises:
            TimeoutError: it did not end in time.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise

    def cancel(self, group: Tasks) -> None:
        """Cancel the tasks of ``group`` and wait, shortly, until they have released their resources."""
        if not self._loop.is_closed():
            # Longer than the wait inside, so that its end is heard of.
            self.call(_cancel(group), _PATIENCE_S + 1)

    def close(self) -> None:
        """Cancel all remaining tasks, then stop the loop and its thread. May be called twice."""
        if self._loop.is_closed():
            return

        async def end() -> None:
            await _cancel(asyncio.all_tasks() - {asyncio.current_task()})
            await self._loop.shutdown_asyncgens()
            await asyncio.wait_for(self._loop.shutdown_default_executor(), _PATIENCE_S)

        try:
            self.call(end(), 3 * _PATIENCE_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE_S)
            # A loop that still runs cannot be closed; the thread is a daemon and ends with the process.
            if not self._thread.is_alive():
                self._loop.close()


async def _cancel(group: Set[asyncio.Task[Any]]) -> None:
    """Cancel those tasks that have not ended, and wait, shortly, for their ends."""
    tasks = [task for task in group if not task.done()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_PATIENCE_S)


_waiters: RunVar[anyio.CapacityLimiter] = RunVar("caretbench waiters")
_workers: RunVar[anyio.CapacityLimiter] = RunVar("caretbench workers")


async def await_future(future: Future[Result]) -> Result:
    """Await ``future`` and return its result; cancelling the caller does not cancel the work."""
    if future.done():
        return future.result()
    # They only wait, so their number needs no limit; anyio's own is 40 threads.
    limiter = _limiter(_waiters, math.inf)
    return await anyio.to_thread.run_sync(future.result, abandon_on_cancel=True, limiter=limiter)


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Return the result of ``work``, run in a thread; one call at a time, since parsers are not thread-safe."""
    return await anyio.to_thread.run_sync(work, limiter=_limiter(_workers, 1))


def _limiter(variable: RunVar[anyio.CapacityLimiter], tokens: float) -> anyio.CapacityLimiter:
    try:
        return variable.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(tokens)
        variable.set(limiter)
        return limiter
