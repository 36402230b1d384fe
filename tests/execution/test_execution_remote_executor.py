"""Batches over machines: what is sent, what is given out, and what happens when machines go away or differ."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.errors import MachineError
from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    BatchLost,
    NodeInfo,
    NodeRequirements,
    ProgramBatch,
    ProgramBatchResult,
)
from caretbench.execution.cluster.remote_executor import BATCH, RemoteExecutor
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status, Toolchain

WALLS = Isolation(
    backend="bubblewrap", level="namespaces", memory="watchdog", network="none", seccomp=True, user="unprivileged"
)


def node_info(node: str = "one", language: str = "python", print_: str = "f1", **fields: Any) -> NodeInfo:
    tools = Toolchain(language=language, available=True, version=f"tools {print_}", fingerprint=print_)
    return NodeInfo(node=node, toolchain=tools, isolation=fields.pop("isolation", WALLS), **fields)


Mishap = Callable[[ProgramBatch], ProgramBatchResult | None]


class FakeNodes:
    """Machines that judge by the program's text. ``mishap`` may answer, or lose, a batch in their place."""

    def __init__(self, *node_infos: NodeInfo, mishap: Mishap = lambda _batch: None, processors: int = 2) -> None:
        self.node_infos = node_infos or (node_info(),)
        self.mishap = mishap
        self.count = processors
        self.batches: dict[int, ProgramBatch] = {}
        self.sent: list[ProgramBatch] = []
        self.cancelled: list[int] = []
        self.surveys: list[NodeRequirements] = []
        self.most_out = 0
        self._numbers = itertools.count()

    def processor_count(self) -> int:
        return self.count

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        self.surveys.append(requirements)
        return list(self.node_infos)

    def send(self, batch: ProgramBatch) -> int:
        number = next(self._numbers)
        self.batches[number] = batch
        self.sent.append(batch)
        self.most_out = max(self.most_out, len(self.batches))
        return number

    def wait(self, handles: Sequence[int], seconds: float) -> int | None:
        assert set(handles) == set(self.batches)
        return max(handles) if seconds else None  # the newest first: batch must not matter

    def fetch(self, handle: int) -> ProgramBatchResult:
        batch = self.batches.pop(handle)
        answer = self.mishap(batch)
        return answer or ProgramBatchResult(node="one", results=tuple(map(judged, batch.requests)))

    def cancel(self, handles: Sequence[int]) -> None:
        self.cancelled += handles


def judged(request: ExecutionRequest) -> ExecutionResult:
    status = Status.FAILED if "wrong" in request.source else Status.PASSED
    return ExecutionResult(id=request.id, status=status, stage="run", exit_code=0, isolation=WALLS)


def program(number: int, text: str | None = None, **fields: Any) -> ExecutionRequest:
    return ExecutionRequest(
        id=f"r{number}", language=fields.pop("language", "python"),
        source=text if text is not None else f"x = {number}", **fields,
    )  # fmt: skip


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "cache")


def test_every_request_gives_one_result_and_travels_in_batches(cache: ResultCache) -> None:
    nodes = FakeNodes()
    results = list(RemoteExecutor(nodes, cache=cache).submit(program(n) for n in range(10 * BATCH + 7)))
    assert Counter(result.id for result in results) == {f"r{n}": 1 for n in range(10 * BATCH + 7)}
    assert [len(batch.requests) for batch in nodes.sent] == [BATCH] * 10 + [7]
    assert nodes.most_out <= 4
    assert not nodes.cancelled
    assert {result.isolation for result in results} == {WALLS}


def test_known_verdicts_are_not_sent_and_identical_programs_once(cache: ResultCache) -> None:
    first, second = FakeNodes(), FakeNodes()
    texts = ["x = 1", "wrong = 1", "x = 1", "x = 2"]
    requests = [program(n, text) for n, text in enumerate(texts)]
    results = {r.id: r for r in RemoteExecutor(first, cache=cache).submit(requests)}
    assert [len(batch.requests) for batch in first.sent] == [3]
    assert [results[f"r{n}"].status.value for n in range(4)] == ["passed", "failed", "passed", "passed"]
    assert [results[f"r{n}"].cached for n in range(4)] == [False, False, True, False]
    again = list(RemoteExecutor(second, cache=cache).submit(requests))
    assert not second.sent
    assert all(result.cached for result in again)
    assert {r.id: r.status for r in again} == {r.id: r.status for r in results.values()}


def test_without_cache_each_submission_begins_anew() -> None:
    nodes = FakeNodes()
    executor = RemoteExecutor(nodes, use_cache=False)
    for _ in range(2):
        assert len(list(executor.submit([program(1), program(2, "x = 1")]))) == 2
    assert [len(batch.requests) for batch in nodes.sent] == [1, 1]


def test_verdicts_belong_to_the_nodes_tools(cache: ResultCache) -> None:
    for print_ in ("f1", "f2", "f1"):
        nodes = FakeNodes(node_info(print_=print_))
        list(RemoteExecutor(nodes, cache=cache).submit([program(1)]))
    assert not nodes.sent
    assert cache.statistics().verdicts == 2


def test_batches_hold_programs_of_one_kind(cache: ResultCache) -> None:
    nodes = FakeNodes()
    kinds: list[dict[str, Any]] = [{}, {"language": "java"}, {"profile": "paper"}, {"needs": ("display",)}]
    requests = [program(n, **kinds[n % 4]) for n in range(60)]
    assert len(list(RemoteExecutor(nodes, cache=cache).submit(requests))) == 60
    assert sorted(len(batch.requests) for batch in nodes.sent) == [15, 15, 15, 15]
    assert len(nodes.surveys) == 3


def test_large_programs_travel_in_small_batches(cache: ResultCache) -> None:
    nodes = FakeNodes()
    requests = [program(n, f"x = {n}\n" + "#" * 3_000_000) for n in range(4)]
    assert len(list(RemoteExecutor(nodes, cache=cache).submit(requests))) == 4
    assert [len(batch.requests) for batch in nodes.sent] == [2, 2]


def test_requests_are_asked_for_as_there_is_room(cache: ResultCache) -> None:
    asked = 0

    def endless() -> Iterator[ExecutionRequest]:
        nonlocal asked
        for asked in itertools.count(1):
            yield program(asked)

    nodes = FakeNodes()
    results = RemoteExecutor(nodes, cache=cache).submit(endless())
    for _ in range(300):
        next(results)
    assert asked <= 300 + 6 * BATCH
    results.close()  # type: ignore[attr-defined]  # a generator
    assert set(nodes.cancelled) == set(nodes.batches) != set()


def test_copies_of_a_program_under_way_are_bounded(cache: ResultCache) -> None:
    asked = 0

    def same() -> Iterator[ExecutionRequest]:
        nonlocal asked
        for asked in itertools.count(1):
            yield program(asked, "x = 1")

    results = RemoteExecutor(FakeNodes(), cache=cache).submit(same())
    next(results)
    assert asked <= 10 * BATCH
    results.close()  # type: ignore[attr-defined]


def test_more_batches_are_out_where_machines_join(cache: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caretbench.execution.cluster.remote_executor._COUNT_S", 0.0)
    nodes = FakeNodes(processors=1)

    def joining(batch: ProgramBatch) -> None:
        nodes.count = 8

    nodes.mishap = joining
    assert len(list(RemoteExecutor(nodes, cache=cache).submit(program(n) for n in range(1000)))) == 1000
    assert nodes.most_out == 16


def test_a_batch_that_is_lost_is_halved_until_the_culprit_stands_alone(cache: ResultCache) -> None:
    def mishap(batch: ProgramBatch) -> None:
        if any("poison" in request.source for request in batch.requests):
            raise BatchLost("the worker died")

    nodes = FakeNodes(mishap=mishap)
    requests = [program(n, "poison" if n == 13 else None) for n in range(BATCH)]
    results = {r.id: r for r in RemoteExecutor(nodes, cache=cache).submit(requests)}
    assert len(results) == BATCH
    bad = results.pop("r13")
    assert bad.status is Status.SANDBOX_ERROR
    assert "worker died" in bad.reason
    assert {result.status for result in results.values()} == {Status.PASSED}
    assert cache.statistics().verdicts == BATCH - 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_is_lost_every_request_gives_one_result(data: st.DataObject) -> None:
    def mishap(batch: ProgramBatch) -> ProgramBatchResult | None:
        fate = data.draw(st.sampled_from(["fine", "fine", "lost", "part", "foreign"]))
        if fate == "lost" and len(batch.requests) > 1:
            raise BatchLost("gone")
        results = [judged(request) for request in batch.requests]
        if fate == "part" and len(batch.requests) > 1:
            return ProgramBatchResult(results=tuple(results[: max(1, len(results) // 2)]))
        if fate == "foreign":
            return ProgramBatchResult(results=(*results, *results, judged(program(9999))))
        return None

    nodes = FakeNodes(mishap=mishap)
    texts = data.draw(st.lists(st.integers(0, 60), max_size=150))
    requests = [program(n, f"{'wrong' if text % 3 else 'x'} = {text}") for n, text in enumerate(texts)]
    results = list(RemoteExecutor(nodes, use_cache=False).submit(requests))
    assert sorted(result.id for result in results) == sorted(request.id for request in requests)
    by_id = {request.id: request for request in requests}
    assert all((result.status is Status.FAILED) == ("wrong" in by_id[result.id].source) for result in results)


def test_a_fault_is_tried_again_and_then_said(cache: ResultCache) -> None:
    left = 2

    def mishap(batch: ProgramBatch) -> ProgramBatchResult | None:
        nonlocal left
        left -= 1
        return ProgramBatchResult(node="two", fault="OSError: disk full") if left >= 0 else None

    assert len(list(RemoteExecutor(FakeNodes(mishap=mishap), cache=cache).submit([program(1)]))) == 1
    left = 99
    nodes = FakeNodes(mishap=mishap)
    with pytest.raises(MachineError, match=r"two .*OSError: disk"):
        list(RemoteExecutor(nodes, cache=cache).submit([program(2)]))
    assert len(nodes.sent) == 3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (node_info("two", print_="f2"), r"alike \(tools for python\): one: tools f1 \[f1\]; two: tools f2 \[f2\]"),
        (node_info("two", bundle="b2"), r"bundle devbench/python\): one: not built: caretbench deps build devbench"),
        (node_info("two", skip_reason="no display"), r"needs display\): one: met; two: no display"),
        (node_info("two", fault="no sandbox"), r"two cannot run programs: no sandbox"),
    ],
)
def test_machines_that_differ_are_not_mixed(cache: ResultCache, other: NodeInfo, said: str) -> None:
    nodes = FakeNodes(node_info(), other)
    wanting = program(1, bundle="devbench/python", needs=("display",))
    with pytest.raises(MachineError, match=said):
        list(RemoteExecutor(nodes, cache=cache, bundles=lambda _name: None).submit([wanting]))
    assert not nodes.sent


def test_a_machine_that_joins_and_differs_ends_the_run_but_not_what_came_before(cache: ResultCache) -> None:
    def mishap(batch: ProgramBatch) -> ProgramBatchResult | None:
        late = any(request.source == "x = 90" for request in batch.requests)
        return ProgramBatchResult(node="late", mismatch=node_info("late", print_="f9")) if late else None

    nodes = FakeNodes(mishap=mishap)
    executor = RemoteExecutor(nodes, cache=cache)
    results = list(executor.submit(program(n) for n in range(90)))
    with pytest.raises(MachineError, match=r"one: tools f1 \[f1\]; late: tools f9 \[f9\]"):
        results.extend(executor.submit(program(n) for n in range(500)))
    assert len({result.id for result in results}) >= 90
    assert {result.status for result in results} == {Status.PASSED}
    assert set(nodes.cancelled) == set(nodes.batches)


def test_a_bundle_that_only_this_machine_has_is_said(cache: ResultCache) -> None:
    built = Bundle.model_construct(lock_hash="b")
    executor = RemoteExecutor(FakeNodes(), cache=cache, bundles=lambda _name: built)
    with pytest.raises(MachineError, match=r"devbench/python .*on one"):
        list(executor.submit([program(1, bundle="devbench/python")]))


def test_what_no_machine_can_run_is_skipped(cache: ResultCache) -> None:
    nodes = FakeNodes(node_info(skip_reason="no toolchain for java: install it"))
    [result] = RemoteExecutor(nodes, cache=cache).submit([program(1, language="java")])
    assert (result.status, result.reason) == (Status.SKIPPED, "no toolchain for java: install it")
    assert not nodes.sent


def test_no_machine_at_all(cache: ResultCache) -> None:
    nodes = FakeNodes()
    nodes.node_infos = ()
    with pytest.raises(MachineError, match="no machine with a processor"):
        RemoteExecutor(nodes, cache=cache).isolation()


def test_the_walls_of_all_machines() -> None:
    weaker = WALLS.model_copy(update={"user": "caller", "seccomp": False})
    walls = RemoteExecutor(FakeNodes(node_info(), node_info("two", isolation=weaker))).isolation()
    assert walls == WALLS.model_copy(update={"user": "mixed", "seccomp": False})
    assert RemoteExecutor(FakeNodes()).toolchain("python").fingerprint == "f1"
