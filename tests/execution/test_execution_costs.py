"""Costs of a run: the ledger finds all CPU time, and workers serve many programs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import accounting
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.costs import CostLedger, CostMeter, RunCosts, ledger
from caretbench.execution.execution_types import ExecutionRequest, Limits
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains import load_runtime

LIMITS = Limits(cpu_s=20, wall_s=30, compile_wall_s=120, memory_mb=1024)

PROGRAMS = {
    "python": "x = {number}\nassert x == {number}\n",
    "javascript": "const x = {number}; if (x !== {number}) throw new Error();\n",
    "typescript": "const x: number = {number}; if (x !== {number}) throw new Error();\n",
    "java": "public class Main {{ public static void main(String[] a) {{ System.out.print({number}); }} }}\n",
    "cpp": "int main() {{ return {number} - {number}; }}\n",
    "csharp": "class Program {{ static void Main() {{ System.Console.Write({number}); }} }}\n",
    "go": "package main\nfunc main() {{ print({number}) }}\n",
    "rust": 'fn main() {{ print!("{{}}", {number}); }}\n',
}


def _limits(source: str) -> Limits:
    return LIMITS.model_copy(update={"wall_s": 3}) if source.startswith("while") else LIMITS


@pytest.fixture
def box() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    if sandbox.level != "namespaces":
        pytest.skip("only sandboxes in namespaces are warm")
    yield sandbox
    sandbox.close()


def _run(box: Sandbox, folder: Path, language: str, sources: list[str]) -> RunCosts:
    """Run programs that differ in their text and in the lines of their answers; return the costs."""
    executor = LocalExecutor(8, sandbox=box, cache=ResultCache(folder))
    requests = [
        ExecutionRequest(
            id=str(number), language=language, source=source, answer_lines=(1, 1 + number % 2), limits=_limits(source)
        )
        for number, source in enumerate(sources)
    ]
    with CostMeter() as meter:
        results = list(executor.submit(requests))
    assert len(results) == len(sources)
    return meter.costs


@pytest.mark.long
@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_start_few_workers(box: Sandbox, tmp_path: Path, language: str) -> None:
    """200 programs where they cost milliseconds, 40 where each is compiled alone: 1 worker, compilers 1 more."""
    if not load_runtime(language).toolchain().available:
        pytest.skip(f"no toolchain for {language}")
    number = 200 if language in ("python", "javascript", "java") else 40
    costs = _run(box, tmp_path, language, [PROGRAMS[language].format(number=each) for each in range(number)])
    assert costs.programs >= number
    assert costs.workers <= 4  # today 1 or 2
    assert costs.reused >= number - 4
    assert costs.sandboxes <= 5  # today 0 to 3: compile servers and what is compiled once


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_the_parts_are_the_cpu_of_all_processes(box: Sandbox, tmp_path: Path, language: str) -> None:
    """Programs that end and one that is killed at its limit: all parts add up to the whole."""
    if not load_runtime(language).toolchain().available:
        pytest.skip(f"no toolchain for {language}")
    try:
        os.close(accounting._task_clock())
    except OSError as error:
        pytest.skip(f"no events of the kernel: {error}")
    # What a compiler takes is the same for each program of C++, so six show its share as well as 20.
    sources = [PROGRAMS[language].format(number=each) for each in range(20 if language == "python" else 6)]
    if language == "python":
        burn = "import time\nwhile time.process_time() < 0.5: pass\n"
        sources += [burn, "while True: pass\n"]
    with accounting.accounted() as clock:
        begin = clock()
        costs = _run(box, tmp_path, language, sources)
        whole = clock() - begin
    parts = costs.programs_cpu_s + costs.compilers_cpu_s + costs.sandboxes_cpu_s + costs.own_cpu_s
    assert parts == pytest.approx(whole, rel=0.1, abs=0.1)
    busiest = "compilers_cpu_s" if language == "cpp" else "programs_cpu_s"
    assert getattr(costs, busiest) > 0.3 * whole


def test_time_in_which_nothing_works_has_its_reason(box: Sandbox, tmp_path: Path) -> None:
    costs = _run(box, tmp_path, "python", ["import time; time.sleep(5)\n"])
    assert 1 <= costs.idle_s["programs"] <= costs.wall_s
    with CostMeter() as meter:
        end = time.process_time() + 2
        while time.process_time() < end:
            pass
    assert sum(meter.costs.idle_s.values()) < 0.5 * meter.costs.wall_s
    assert meter.costs.own_cpu_s >= 2


def test_costs_of_resumed_runs_are_added() -> None:
    first = RunCosts(programs_cpu_s=1.5, workers=1, idle_s={"programs": 2.0})
    assert first + RunCosts(workers=2, idle_s={"programs": 1.0, "compilers": 1.0}) == RunCosts(
        programs_cpu_s=1.5, workers=3, idle_s={"programs": 3.0, "compilers": 1.0}
    )


def test_what_is_waited_for_first_is_a_lone_run() -> None:
    assert ledger.waited_for() == "other"
    with ledger.during("programs"), ledger.during("compilers", waited_for=False):
        assert ledger.waited_for() == "programs"
        with ledger.during("lone runs"):
            assert ledger.waited_for() == "lone runs"
    assert ledger.waited_for() == "other"


def test_a_pool_that_ends_while_costs_are_added_holds_nobody_up() -> None:
    """Memory is collected at any moment, also in the thread that adds to the ledger."""
    own = CostLedger()
    own.worker_started(0)

    class Collecting(float):
        def __add__(self, other: object) -> float:
            own.worker_ends(0)
            return float(self)

    own.add(wall_s=1.0)
    thread = threading.Thread(target=own.add, kwargs={"wall_s": Collecting(2.0)}, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
