"""Waiting for threads and for work on the processor without holding up the event loop, whichever loop it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

Value = TypeVar("Value")

_waiters: RunVar[anyio.CapacityLimiter] = RunVar("caretbench waiters")
_workers: RunVar[anyio.CapacityLimiter] = RunVar("caretbench workers")


async def result_of(future: Future[Value]) -> Value:
    """What ``future`` brings; a waiter that is cancelled leaves, the work goes on."""
    if future.done():
        return future.result()
    limiter = _limiter(_waiters, math.inf)  # they only wait
    return await anyio.to_thread.run_sync(future.result, abandon_on_cancel=True, limiter=limiter)


async def computed(work: Callable[[], Value]) -> Value:
    """What ``work`` gives; one at a time, since parsers are not shared between threads."""
    return await anyio.to_thread.run_sync(work, limiter=_limiter(_workers, 1))


def _limiter(place: RunVar[anyio.CapacityLimiter], tokens: float) -> anyio.CapacityLimiter:
    try:
        return place.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(tokens)
        place.set(limiter)
        return limiter
