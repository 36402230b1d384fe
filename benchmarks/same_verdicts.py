"""Does a verdict depend on how a program was run, or on what else the machine did?

Recorded samples of DevBench's models, the same number of distinct ones from each language, are run three times, nothing
from a cache: by warm workers and compile servers; with every compiler and every sandbox of its own; and by warm ones
again while busy loops run (``--busy 0``: not so). Every difference is printed.

Usage: python benchmarks/same_verdicts.py DATA [--samples 2000] [--busy 8] [--no-cold] [--seed 0] [--only LANGUAGE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchains import compile_server
from caretbench.suites import load_suite

LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "csharp")


_PROGRAMS_PER_SERVER = compile_server.PROGRAMS_PER_SERVER


class ColdSandbox(Sandbox):
    """Walls of its own for every program."""

    def run(self, invocation: Invocation) -> SandboxResult:
        """As ever, but never in a warm sandbox."""
        return super().run(replace(invocation, warm=None))


def samples(data: str, count: int, seed: int, languages: Sequence[str]) -> list[ExecutionRequest]:
    """Distinct programs, as many from each language."""
    devbench = load_suite("devbench")
    loaded = devbench.load(data)
    problems = {problem.id: problem for problem in loaded.problems}
    programs: dict[str, dict[str, ExecutionRequest]] = {language: {} for language in languages}
    for number, completion in enumerate(devbench.recorded_completions(Path(data), problems, ())):
        request = devbench.make_request(problems[completion.problem_id], completion.text, "default")
        if request is not None and request.language in programs:
            known = programs[request.language]
            known.setdefault(request.source, request.model_copy(update={"id": f"{number} {request.id}"}))
    chooser = random.Random(seed)  # noqa: S311  no secret
    share = count // len(languages)
    return [
        request
        for known in programs.values()
        for request in chooser.sample(list(known.values()), min(share, len(known)))
    ]


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    processes = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(loops)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def _spin() -> None:
    while True:
        pass


def run(name: str, requests: Sequence[ExecutionRequest], *, warm: bool) -> dict[str, ExecutionResult]:
    """All of them, one language at a time."""
    results: dict[str, ExecutionResult] = {}
    compile_server.PROGRAMS_PER_SERVER = _PROGRAMS_PER_SERVER if warm else 1
    executor = LocalExecutor(use_cache=False, sandbox=Sandbox() if warm else ColdSandbox())
    for language in dict.fromkeys(request.language for request in requests):
        begin = time.monotonic()
        chosen = [request for request in requests if request.language == language]
        results |= {result.id: result for result in executor.submit(chosen)}
        passed = sum(results[request.id].status is Status.PASSED for request in chosen)
        sys.stdout.write(f"{name}: {language}: {passed} of {len(chosen)} pass, {time.monotonic() - begin:.0f} s\n")
        sys.stdout.flush()
    return results


def compare(name: str, one: dict[str, ExecutionResult], other: dict[str, ExecutionResult]) -> None:
    """Print what differs."""
    verdicts = [key for key in one if (one[key].status is Status.PASSED) != (other[key].status is Status.PASSED)]
    statuses = [key for key in one if one[key].status != other[key].status]
    sys.stdout.write(f"{name}: {len(one)} programs, verdict differs for {len(verdicts)}, status for {len(statuses)}\n")
    for key in statuses:
        first, second = one[key], other[key]
        sys.stdout.write(
            f"  {key}: {first.status} {first.cpu_s:.2f} s CPU, {second.status} {second.cpu_s:.2f} s CPU "
            f"{second.reason or second.stderr.text[-160:]!r}\n"
        )


def main() -> None:
    """Three runs, two comparisons."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--busy", type=int, default=8)
    parser.add_argument("--no-cold", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=LANGUAGES)
    wanted = parser.parse_args()
    languages = (wanted.only,) if wanted.only else LANGUAGES
    requests = samples(wanted.data, wanted.samples, wanted.seed, languages)
    sys.stdout.write(f"{len(requests)} distinct programs, load {os.getloadavg()[0]:.1f}\n")
    warm = run("warm", requests, warm=True)
    sys.stdout.write(f"{dict(Counter(str(result.status) for result in warm.values()))}\n")
    if wanted.busy:
        with busy(wanted.busy):
            loaded = run(f"warm, {wanted.busy} busy loops", requests, warm=True)
        compare("warm beside busy", warm, loaded)
    if not wanted.no_cold:
        cold = run("cold", requests, warm=False)
        compare("warm beside cold", warm, cold)


if __name__ == "__main__":
    main()
