"""Slots of running programs: waiting programs lend them, and nothing that works waits for one that does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import work_slots
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxResult, SandboxUnavailable
from caretbench.execution.sandbox.work_slots import WorkSlots, report_activity

SLEEPS = "import time\ntime.sleep({})\n"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


def python(name: str, source: str, *, is_reference: bool = False) -> ExecutionRequest:
    return ExecutionRequest(
        id=name, language="python", source=source, is_reference=is_reference, limits=Limits(wall_s=40)
    )


def run(box: Sandbox, folder: Path, workers: int, *requests: ExecutionRequest) -> list[ExecutionResult]:
    return list(LocalExecutor(workers, sandbox=box, cache=ResultCache(folder)).submit(requests))


def test_a_call_that_waits_lends_its_slot_and_takes_it_back() -> None:
    told, go_on, works_again, end = (threading.Event() for _ in range(4))
    slots = WorkSlots(1, told.set)

    def waits() -> None:
        report_activity(works=False, memory_mb=1)
        go_on.wait(10)
        report_activity(works=True)
        works_again.set()
        end.wait(10)

    first = slots.submit(waits)
    assert told.wait(10)
    assert slots.submit(lambda: "second").result(10) == "second"
    assert (slots.waiting, slots.working) == (1, 0)
    go_on.set()
    assert works_again.wait(10)
    third = slots.submit(lambda: "third")
    assert (slots.waiting, slots.working, third.done()) == (0, 2, False)
    end.set()
    first.result(10)
    assert third.result(10) == "third"
    slots.close()


def test_waiting_programs_keep_their_slots_beyond_the_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_slots, "_MEMORY_SHARE", 0.0)
    end = threading.Event()

    def waits() -> None:
        report_activity(works=False, memory_mb=1)
        end.wait(10)

    slots = WorkSlots(1, lambda: None)
    first, second = slots.submit(waits), slots.submit(lambda: None)
    assert not second.done()
    end.set()
    first.result(10)
    second.result(10)
    slots.close()


def test_a_call_that_fails_frees_its_slot() -> None:
    slots = WorkSlots(1, lambda: None)
    with pytest.raises(ZeroDivisionError):
        slots.submit(lambda: 1 // 0).result(10)
    assert slots.submit(lambda: 1).result(10) == 1
    slots.close()


def test_a_program_that_sleeps_delays_no_lone_run_and_no_other_program(box: Sandbox, tmp_path: Path) -> None:
    """Costs 8 s: a program counts as waiting after two seconds only."""
    sleeps = python("sleeps", SLEEPS.format(8))
    fails = python("fails", "assert False\n", is_reference=True)
    results = run(box, tmp_path, 1, sleeps, fails, python("passes", "x = 1\n"))
    assert [result.id for result in results] == ["passes", "fails", "sleeps"]
    assert [result.status for result in results] == [Status.PASSED, Status.FAILED, Status.PASSED]
    assert results[1].runs_alone == 3


def test_lone_runs_of_programs_that_only_wait_wait_together(box: Sandbox, tmp_path: Path) -> None:
    """Costs 10 s: three lone runs that wait 3 s, begun two seconds after each other."""
    source = SLEEPS.format(3) + "assert False, {}\n"
    requests = [python(str(number), source.format(number), is_reference=True) for number in range(2)]
    begun, running, most_alone = 0, 0, 0
    run_in_box, lock = box.run, threading.Lock()

    def watched(invocation: Invocation) -> SandboxResult:
        nonlocal begun, running, most_alone
        with lock:
            begun, running = begun + 1, running + 1
            if begun >= 4:  # both have run together, and each once alone
                most_alone = max(most_alone, running)
        try:
            return run_in_box(invocation)
        finally:
            with lock:
                running -= 1

    box.run = watched  # type: ignore[method-assign]
    results = run(box, tmp_path, 2, *requests)
    assert [result.runs_alone for result in results] == [3, 3]
    assert (begun, most_alone) == (8, 2)
