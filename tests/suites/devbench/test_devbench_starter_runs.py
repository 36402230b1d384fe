"""Every reference of the starter set, run: what ships with the package has to pass."""

from __future__ import annotations

from functools import cache

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.toolchains import load_runtime
from caretbench.suites import load_suite

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

DEVBENCH = load_suite("devbench")
PROBLEMS = {problem.id: problem for problem in DEVBENCH.load("starter").problems}


@cache
def _results(language: str) -> dict[str, ExecutionResult]:
    toolchain = load_runtime(language).toolchain()
    if not toolchain.available:
        pytest.skip(f"no toolchain for {language}: {toolchain.remedy}")
    requests = []
    for problem in PROBLEMS.values():
        request = DEVBENCH.request(problem, problem.reference, "default", {})
        if isinstance(request, ExecutionRequest) and request.language == language:
            requests.append(request)
    return {result.id: result for result in LocalExecutor(workers=4, use_cache=False).submit(requests)}


@pytest.mark.parametrize("identity", PROBLEMS)
def test_a_reference_passes(identity: str) -> None:
    result = _results(PROBLEMS[identity].caret.language)[identity]
    assert result.status is Status.PASSED, (result.reason, result.diagnostics, result.stderr.text[-2000:])
