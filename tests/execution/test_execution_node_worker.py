"""Batches in a worker process of a node, without a cluster."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster import node_worker
from caretbench.execution.cluster.node_messages import NodeInfo, NodeRequirements, ProgramBatch, ProgramBatchResult
from caretbench.execution.cluster.node_worker import NodeWorker
from caretbench.execution.cluster.remote_executor import RemoteExecutor
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable

PYTHON = NodeRequirements("python")


@pytest.fixture(scope="module")
def worker() -> Iterator[NodeWorker]:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    worker = NodeWorker(4)
    yield worker
    worker.close()


class OneNode:
    """A cluster of this process: batches run when they are fetched, through the same dictionaries as elsewhere."""

    def __init__(self, worker: NodeWorker) -> None:
        self.worker = worker
        self.batches: list[ProgramBatch] = []

    def processor_count(self) -> int:
        return 1

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        return [NodeInfo.model_validate(self.worker.node_info(requirements).model_dump())]

    def send(self, batch: ProgramBatch) -> int:
        self.batches.append(ProgramBatch.model_validate(batch.model_dump()))
        return len(self.batches) - 1

    def wait(self, handles: Sequence[int], seconds: float) -> int | None:
        return handles[0] if seconds else None

    def fetch(self, handle: int) -> ProgramBatchResult:
        return ProgramBatchResult.model_validate(self.worker.run_batch(self.batches[handle]).model_dump())

    def cancel(self, handles: Sequence[int]) -> None:
        raise AssertionError(f"{handles} are left over")


def program(identity: str, source: str) -> ExecutionRequest:
    return ExecutionRequest(id=identity, language="python", source=source)


def batch(worker: NodeWorker, *requests: ExecutionRequest, **tools: Any) -> ProgramBatch:
    footing = worker.node_info(PYTHON)
    changed = footing.model_copy(update={"toolchain": footing.toolchain.model_copy(update=tools)})
    return ProgramBatch(requirements=PYTHON, node_info=changed, requests=requests)


def test_programs_run_as_on_one_machine(worker: NodeWorker, tmp_path: Path) -> None:
    texts = {"passed": "x = 1", "failed": "assert False", "incomplete": "import sys; sys.exit(0)"}
    requests = [program(name, f"# {text}\n{text}") for name, text in texts.items()]
    executor = RemoteExecutor(OneNode(worker), cache=ResultCache(tmp_path))
    results = {result.id: result for result in executor.submit(requests)}
    assert {name: result.status.value for name, result in results.items()} == {name: name for name in texts}
    assert {result.isolation for result in results.values()} == {executor.isolation()}


def test_a_node_that_is_not_as_the_others_runs_nothing(worker: NodeWorker) -> None:
    answer = worker.run_batch(batch(worker, program("a", "x = 1"), fingerprint="other"))
    assert answer.results == ()
    assert answer.mismatch == worker.node_info(PYTHON)


def test_what_a_node_offers(worker: NodeWorker) -> None:
    assert worker.node_info(PYTHON).toolchain.available
    assert "not run; known: python" in worker.node_info(NodeRequirements("cobol")).skip_reason
    assert "network" in worker.node_info(NodeRequirements("python", None, ("network",))).skip_reason


def test_whatever_is_wrong_is_said_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(max_parallel_programs: int) -> NodeWorker:
        raise OSError("no space left")

    monkeypatch.setattr(node_worker, "_worker", broken)
    assert node_worker.describe_node(("python", None, ()), 1)["fault"] == "OSError: no space left"
    assert node_worker.run_batch({}, 1)["fault"] == "OSError: no space left"


def test_an_order_of_another_version_is_a_fault(worker: NodeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_worker, "_worker", lambda _programs: worker)
    fault = node_worker.run_batch(batch(worker).model_dump() | {"colour": "green"}, 1)["fault"]
    assert "ValidationError" in fault
    assert "colour" in fault


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that runs tests for another may ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_batch_that_is_cancelled_ends_its_programs(worker: NodeWorker) -> None:
    begin = time.monotonic()
    threading.Timer(1.0, _thread.interrupt_main).start()
    sleepers = [program(str(n), f"import time\ntime.sleep({50 + n})") for n in range(8)]
    with pytest.raises(KeyboardInterrupt):
        worker.run_batch(batch(worker, *sleepers))
    assert time.monotonic() - begin < 40
    [result] = worker.run_batch(batch(worker, program("after", "x = 1"))).results
    assert result.status is Status.PASSED
