"""Bound of an answer's CPU time by that of its reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import (
    REFERENCE_CPU,
    ExecutionRequest,
    ExecutionResult,
    Limits,
    Status,
    bounded_by_reference,
)
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable

ENDLESS = "while True:\n    pass\n"
BUSY = "import time\nwhile time.process_time() < 1.2:\n    pass\n"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize(
    ("reference_cpu_s", "bound"),
    [(None, 15), (0.0, 1), (0.02, 1), (0.1, 1), (0.11, 2), (0.2, 2), (0.35, 4), (0.8, 8), (0.81, 15), (9, 15)],
)
def test_the_bound_is_ten_times_the_reference_in_steps(reference_cpu_s: float | None, bound: float) -> None:
    limits = Limits(cpu_s=15, wall_s=60)
    assert bounded_by_reference(limits, reference_cpu_s) == Limits(cpu_s=bound, wall_s=60)


def test_an_endless_loop_ends_after_a_second_of_cpu_and_once_more_alone(box: Sandbox, tmp_path: Path) -> None:
    """Costs 8 s of CPU: two loops of 1 s, one of 2 s, one of 3 s; and two programs of 1.2 s."""
    executor = LocalExecutor(2, sandbox=box, cache=ResultCache(tmp_path))

    def run(source: str, reference_cpu_s: float | None) -> ExecutionResult:
        limits = Limits(wall_s=40, cpu_s=3)
        request = ExecutionRequest(
            id="a", language="python", source=source, limits=limits, reference_cpu_s=reference_cpu_s
        )
        [result] = executor.submit([request])
        return result

    cut = run(ENDLESS, 0.02)
    assert (cut.status, cut.limit, cut.limit_cpu_s, cut.attempt) == (Status.TIMEOUT, REFERENCE_CPU, 1.0, 2)
    assert cut.cpu_s < 1.7
    assert run(ENDLESS, 0.05).cached
    assert not (longer := run(ENDLESS, 0.2)).cached  # a second says nothing about two
    assert (longer.limit, longer.limit_cpu_s) == (REFERENCE_CPU, 2.0)
    assert run(ENDLESS, 0.02).cached
    assert not (whole := run(ENDLESS, None)).cached
    assert (whole.status, whole.limit, whole.attempt) == (Status.TIMEOUT, "cpu", 1)
    # A verdict does not depend on what the cache knows: what took longer than the bound ends by it.
    assert run(BUSY, None).status is Status.PASSED
    assert run(BUSY, 0.02).limit == REFERENCE_CPU
    assert run(BUSY, 0.2).cached is False


def test_requests_may_wait_for_a_result_that_is_due(tmp_path: Path) -> None:
    results: list[str] = []

    def requests() -> Iterator[ExecutionRequest | None]:
        yield ExecutionRequest(id="first", language="python", source="x = 1\n")
        while "first" not in results:
            yield None
        yield ExecutionRequest(id="second", language="python", source="x = 2\n")

    for result in LocalExecutor(2, cache=ResultCache(tmp_path)).submit(requests()):
        results += [result.id]  # at once: the next request waits for it
    assert results == ["first", "second"]
    with pytest.raises(RuntimeError, match="none is due"):
        list(LocalExecutor(2, cache=ResultCache(tmp_path)).submit(iter([None])))
