"""Jobs on this machine: batches for a compiler fill, and references that fail run again alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, ExecutionResult, Status, Toolchain
from caretbench.execution.local_executor import local_submission

BATCH = 10


class CountingRunner:
    """Stands where programs are compiled and run; notes how many programs each compiler was given."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.expected: list[str] = []
        self.learns = True
        self.expected_at_first = 0
        self.sandbox = SimpleNamespace(interrupt=lambda: None, resume=lambda: None)

    def skip_reason(self, _request: ExecutionRequest) -> str | None:
        return None

    def toolchain(self, language: str) -> Toolchain:
        return Toolchain(language=language, available=True, fingerprint="one")

    def lock_hash(self, _bundle: str | None) -> str:
        return ""

    def compile_batch_size(self, _language: str) -> int:
        return BATCH

    def expect(self, request: ExecutionRequest) -> bool:
        self.expected.append(request.id)
        return self.learns

    def compile(self, requests: Sequence[ExecutionRequest]) -> list[CompileResult]:
        self.expected_at_first = self.expected_at_first or len(self.expected)
        self.batches.append(len(requests))
        time.sleep(0.01)
        return [CompileResult(artefact=Path("/nowhere")) for _ in requests]

    def run(self, request: ExecutionRequest, _compiled: CompileResult, _attempt: int = 1) -> ExecutionResult:
        time.sleep(0.002)
        return ExecutionResult(id=request.id, status=Status.PASSED)


def test_compilers_are_not_started_for_single_programs(tmp_path: Path) -> None:
    runner: Any = CountingRunner()
    requests = [ExecutionRequest(id=str(n), language="java", source=f"class A{n} {{}}") for n in range(300)]
    results = list(local_submission(runner, ResultCache(tmp_path), workers=2, compilers=2).results(requests))
    assert sorted(int(result.id) for result in results) == list(range(300))
    assert sum(runner.batches) == 300
    # Two partial batches at the end of the requests or of a window are fine, a compiler for each program is not.
    assert len(runner.batches) <= 300 / BATCH + 2


@pytest.mark.parametrize("size", [1, BATCH])
def test_what_a_whole_window_will_compile_is_known_before_the_first_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(CountingRunner, "compile_batch_size", lambda *_: size)
    runner: Any = CountingRunner()
    requests = [ExecutionRequest(id=str(n), language="cpp", source=f"int a{n};") for n in range(40)]
    results = list(local_submission(runner, ResultCache(tmp_path), workers=2, compilers=2).results(requests))
    assert len(results) == 40
    assert runner.expected_at_first == 32  # sixteen a worker
    assert sorted(map(int, runner.expected)) == list(range(40))
    assert max(runner.batches) <= size


def test_where_nothing_is_learned_the_first_compiler_does_not_wait(tmp_path: Path) -> None:
    """With a hold for all languages C#'s compiler began two seconds later, of 13."""
    runner: Any = CountingRunner()
    runner.learns = False

    def requests() -> Iterator[ExecutionRequest]:
        for number in range(30):
            yield ExecutionRequest(id=str(number), language="java", source=f"class A{number} {{}}")
            time.sleep(0.005)

    list(local_submission(runner, ResultCache(tmp_path), workers=2, compilers=2).results(requests()))
    assert len(runner.expected) == 30
    assert runner.expected_at_first < 30


class UnluckyRunner(CountingRunner):
    """Ends runs of ``source`` with the given statuses, one after the other; the last one stays."""

    def __init__(self, source: str, *statuses: Status) -> None:
        super().__init__()
        self.source = source
        self.statuses = list(statuses)
        self.runs: list[str] = []
        self.running = 0

    def run(self, request: ExecutionRequest, _compiled: CompileResult, attempt: int = 1) -> ExecutionResult:
        self.running += 1
        assert attempt == 1 or self.running == 1  # alone
        self.runs.append(request.source)
        time.sleep(0.002)
        status = Status.PASSED
        if request.source == self.source:
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        self.running -= 1
        return ExecutionResult(id=request.id, status=status, stage="run", exit_code=0, attempt=attempt)


def submit(runner: UnluckyRunner, folder: Path, *requests: ExecutionRequest) -> dict[str, ExecutionResult]:
    submission = local_submission(runner, ResultCache(folder), workers=4, compilers=1)  # type: ignore[arg-type]
    return {result.id: result for result in submission.results(requests)}


def program(name: str, source: str, *, is_reference: bool = False) -> ExecutionRequest:
    return ExecutionRequest(id=name, language="java", source=source, is_reference=is_reference)


OTHERS = [program(f"other {n}", f"class Other{n} {{}}") for n in range(20)]
REFERENCE = program("reference", "class A {}", is_reference=True)
ANSWER = program("answer", "class A {}")


@pytest.mark.parametrize("lost", [1, 3])
def test_a_reference_that_fails_by_bad_luck_passes_alone_and_nothing_else_is_kept(tmp_path: Path, lost: int) -> None:
    runner = UnluckyRunner("class A {}", *[Status.FAILED] * lost, Status.PASSED)
    results = submit(runner, tmp_path, ANSWER, *OTHERS, REFERENCE)
    # The answer with the same text ran first; its verdict is that of the reference.
    assert {results[name].status for name in ("reference", "answer")} == {Status.PASSED}
    assert runner.runs.count("class A {}") == lost + 1
    again = UnluckyRunner("class A {}", Status.FAILED)
    assert submit(again, tmp_path, REFERENCE)["reference"].cached


def test_a_reference_that_always_fails_runs_three_more_times_once_and_for_all(tmp_path: Path) -> None:
    runner = UnluckyRunner("class A {}", Status.FAILED)
    found = submit(runner, tmp_path, REFERENCE, *OTHERS)["reference"]
    assert (found.status, found.runs_alone) == (Status.FAILED, 3)
    assert runner.runs.count("class A {}") == 4
    assert runner.runs[-3:] == ["class A {}"] * 3
    again = UnluckyRunner("class A {}", Status.PASSED)
    assert submit(again, tmp_path, REFERENCE)["reference"].status is Status.FAILED
    assert again.runs == []


def test_a_stored_failure_of_an_answer_is_no_verdict_on_the_reference(tmp_path: Path) -> None:
    assert submit(UnluckyRunner("class A {}", Status.FAILED), tmp_path, ANSWER)["answer"].status is Status.FAILED
    lucky = UnluckyRunner("class A {}", Status.PASSED)
    assert submit(lucky, tmp_path, REFERENCE)["reference"].status is Status.PASSED
    assert submit(lucky, tmp_path, ANSWER)["answer"].status is Status.PASSED
    assert lucky.runs == ["class A {}"]


@pytest.mark.parametrize("status", [Status.COMPILE_ERROR, Status.UNRESOLVED_IMPORT])
def test_a_failure_that_luck_cannot_cause_is_final_at_once(tmp_path: Path, status: Status) -> None:
    runner = UnluckyRunner("class A {}", status)
    assert submit(runner, tmp_path, REFERENCE)["reference"].status is status
    assert runner.runs == ["class A {}"]


def test_answers_run_once(tmp_path: Path) -> None:
    runner = UnluckyRunner("class A {}", Status.FAILED)
    submit(runner, tmp_path, ANSWER)
    assert runner.runs == ["class A {}"]
