"""Programs of many waiters in few batches, each once, and nobody holds up the event loop."""

import threading
import time
from collections.abc import Iterable, Iterator

import anyio
import pytest

from caretbench.errors import MachineError
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status
from caretbench.inspect.client.background_loop import await_future, run_in_thread
from caretbench.inspect.tasks.answer_scorer import LANES, ProgramBatcher
from tests.support.fakes import ISOLATION


class Slow:
    """An executor that takes a while for each batch, and keeps what came together."""

    def __init__(self, seconds: float = 0.1, fault: Exception | None = None) -> None:
        self.seconds = seconds
        self.fault = fault
        self.batches: list[list[str]] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        batch = list(requests)
        self.batches.append([request.source for request in batch])
        time.sleep(self.seconds)
        with self._lock:
            self.at_once -= 1
        if self.fault is not None:
            raise self.fault
        for request in batch:
            yield ExecutionResult(id=request.id, status=Status.PASSED, reason=request.source)

    def isolation(self) -> Isolation:
        return ISOLATION


def request(source: str) -> ExecutionRequest:
    return ExecutionRequest(id="x", language="python", source=source)


def test_what_comes_at_once_goes_in_one_batch_and_each_gets_its_own_result() -> None:
    executor = Slow()
    gatherer = ProgramBatcher(lambda: executor)
    futures = {source: gatherer.submit(request(source)) for source in map(str, range(20))}
    assert all(future.result(10).reason == source for source, future in futures.items())
    assert len(executor.batches) == 1


def test_a_program_under_way_is_not_started_again() -> None:
    executor = Slow()
    gatherer = ProgramBatcher(lambda: executor)
    first, second = gatherer.submit(request("same")), gatherer.submit(request("same"))
    assert first.result(10).status is second.result(10).status is Status.PASSED
    assert executor.batches == [["same"]]
    gatherer.submit(request("same")).result(10)  # later it is a question for the cache
    assert len(executor.batches) == 2


def test_lanes_are_few() -> None:
    executor = Slow(0.15)
    gatherer = ProgramBatcher(lambda: executor, batch_delay_s=0.0)
    futures = []
    for number in range(12):
        futures.append(gatherer.submit(request(str(number))))
        time.sleep(0.02)
    for future in futures:
        future.result(10)
    assert 1 <= executor.most_at_once <= LANES
    assert sorted(source for batch in executor.batches for source in batch) == sorted(map(str, range(12)))


def test_everybody_hears_of_a_fault_and_the_next_batch_is_tried() -> None:
    executor = Slow(0.01, MachineError("no sandbox"))
    gatherer = ProgramBatcher(lambda: executor)
    futures = [gatherer.submit(request(source)) for source in "ab"]
    for future in futures:
        with pytest.raises(MachineError, match="no sandbox"):
            future.result(10)
    executor.fault = None
    assert gatherer.submit(request("a")).result(10).status is Status.PASSED


def test_the_event_loop_goes_on() -> None:
    gatherer = ProgramBatcher(lambda: Slow(0.3))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.sleep(0.01)

    async def wait(source: str) -> None:
        assert (await await_future(gatherer.submit(request(source)))).reason == source
        assert await run_in_thread(lambda: source * 2) == source * 2

    async def main() -> None:
        async with anyio.create_task_group() as outer:
            outer.start_soon(tick)
            async with anyio.create_task_group() as waiters:
                for number in range(100):  # more than anyio's own threads
                    waiters.start_soon(wait, str(number))
            outer.cancel_scope.cancel()

    anyio.run(main)
    assert ticks >= 5
