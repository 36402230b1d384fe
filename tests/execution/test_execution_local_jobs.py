"""Batches of programs for a compiler fill even when the window of requests is full."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, ExecutionResult, Status, Toolchain
from caretbench.execution.local_executor import local_submission

BATCH = 10


class CountingRunner:
    """Stands where programs are compiled and run; notes how many programs each compiler was given."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.sandbox = SimpleNamespace(interrupt=lambda: None, resume=lambda: None)

    def skip_reason(self, _request: ExecutionRequest) -> str | None:
        return None

    def toolchain(self, language: str) -> Toolchain:
        return Toolchain(language=language, available=True, fingerprint="one")

    def lock_hash(self, _bundle: str | None) -> str:
        return ""

    def compile_batch_size(self, _language: str) -> int:
        return BATCH

    def compile(self, requests: Sequence[ExecutionRequest]) -> list[CompileResult]:
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
