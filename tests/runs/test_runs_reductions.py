"""Reductions: rounds of runs, limits, and rows of equal answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.runs.reductions import MAX_CPU_S, MAX_RUNS, ReducedAnswer, reduce_answers
from caretbench.suites.suite_types import Measurement, Reduction


def halved(text: str) -> Reduction:
    """Halve a text while it passes."""
    while len(text) > 1:
        passes = yield text[: len(text) // 2]
        if passes is None:
            return Measurement("reduction@1", {"not_reduced": 1.0})
        if not passes:
            break
        text = text[: len(text) // 2]
    return Measurement("reduction@1", {"left": float(len(text))})


def endless() -> Reduction:
    while (yield "x") is not None:
        pass
    return Measurement("reduction@1", {"not_reduced": 1.0})


def result(identity: str, status: Status, cpu_s: float = 0.1) -> ExecutionResult:
    return ExecutionResult(id=identity, status=status, cpu_s=cpu_s)


def test_all_answers_go_on_together_until_each_ends() -> None:
    rounds = []

    def submit(requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        asked = list(requests)
        rounds.append(sorted(one.id for one in asked))
        assert not any(one.confirms_cpu_limit for one in asked)  # an endless text does not run once more
        yield from (result(one.id, Status.PASSED if len(one.source) > 2 else Status.FAILED) for one in asked)

    def request(_key: str, text: str) -> ExecutionRequest:
        return ExecutionRequest(id="", language="python", source=text)

    answers = {
        "long": ReducedAnswer(halved("x" * 16)),
        "short": ReducedAnswer(halved("xx")),
        "one": ReducedAnswer(halved("x")),
    }
    found = {key: one.values for key, one in reduce_answers(answers, request, submit)}
    assert found == {"long": {"left": 4.0}, "short": {"left": 2.0}, "one": {"left": 1.0}}
    assert rounds == [["long", "short"], ["long"], ["long"]]


@pytest.mark.parametrize(
    ("cpu_s", "status", "runs"),
    [(0.0, Status.PASSED, MAX_RUNS), (MAX_CPU_S / 4, Status.FAILED, 4), (0.0, Status.SANDBOX_ERROR, 1)],
)
def test_a_reduction_ends_at_its_limits_and_with_the_machine(cpu_s: float, status: Status, runs: int) -> None:
    answer = ReducedAnswer(endless())
    while answer.text is not None:
        answer.tell(result("a", status, cpu_s))
    assert answer.runs == runs
    assert answer.measured == Measurement("reduction@1", {"not_reduced": 1.0})
