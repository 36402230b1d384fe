"""What a program costs: CPU of everything, by language, beside the command lines that one would type.

Every program is taken through four ways, one after another, one program at a time, so that whatever else the machine
does meets them all alike:

* ours: compiled and run as the executor does it, warm, nothing from a cache. Counted by an event of the kernel
  (accounting.py): compiler, program, walls, supervision, this process;
* plain, released: the command lines of ``command_lines.py`` in a fresh sandbox, the program's and the tools' own CPU as
  the launcher inside saw it, the sandbox's not counted;
* limit: the program's process alone, as ours ran it.

Medians over the references of a sample. Needs DevBench's data.
Usage: python benchmarks/execution_speed.py DATA [PROGRAMS] [LANGUAGE ...]
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from accounting import CpuClock, accounted
from command_lines import COMMAND_LINES

from caretbench.execution.bundles import installed_bundle
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, Limits
from caretbench.execution.program_runner import ProgramRunner
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.toolchains.csharp import find_dotnet_sdk
from caretbench.execution.toolchains.java import main_class_name
from caretbench.execution.toolchains.typescript import COMPILER_BUNDLE, find_typescript
from caretbench.suites import load_suite

WARM_UP = 8  # other programs before the first that counts: warm workers and compile servers come up
LIMITS = Limits(wall_s=300, compile_wall_s=300, cpu_s=300, memory_mb=2048, pids=256, tmp_mb=512, nofile=1024)


class Row(NamedTuple):
    """Milliseconds of CPU of one program; None where the command line did not come to its end."""

    ours: float
    compiled: float
    limit: float
    plain: float | None
    released: float | None


class Ways:
    """The ways to run one program."""

    def __init__(self, sandbox: Sandbox, runner: ProgramRunner, clock: CpuClock) -> None:
        self.sandbox, self.runner, self._clock = sandbox, runner, clock

    def ours(self, request: ExecutionRequest) -> tuple[float, float, float]:
        """CPU of everything, of compiling with all around it, and of the program's process."""
        begin = self._milliseconds()
        compiled = CompileResult(artefact=None)
        if self.runner.compile_batch_size(request.language):
            compiled = self.runner.compile([request])[0]
        between = self._milliseconds()
        if compiled.status is not None:
            return between - begin, between - begin, 0.0
        result = self.runner.run(request, compiled)
        return self._milliseconds() - begin, between - begin, result.cpu_s * 1e3

    def typed(self, request: ExecutionRequest, *, released: bool) -> float | None:
        """CPU of a command line; None where it did not end by itself."""
        lines = COMMAND_LINES[request.language]
        words = self._words(request)
        name = lines.program.format(**words)
        script = lines.released if released else lines.plain
        for word, value in words.items():
            script = script.replace(f"{{{word}}}", value)
        plan = self.runner.runtime("javascript" if request.language == "typescript" else request.language).plan(
            request.model_copy(update={"profile": "paper"}), Path("/nonexistent")
        )  # fmt: skip
        result = self.sandbox.run(
            Invocation(
                ["/bin/sh", "-c", script],
                files={name: (lines.header if released else "") + request.source},
                read_only={**{k: v for k, v in plan.read_only.items() if Path(v).exists()}, **self._tools(request)},
                environment={**plan.environment, "PATH": self._path(plan.argv[0])},
                limits=LIMITS,
                address_space_limit=False,
            )
        )
        return None if result.error or result.killed else result.cpu_s * 1e3

    def _words(self, request: ExecutionRequest) -> Mapping[str, str]:
        bundle = installed_bundle(request.bundle) if request.bundle else None
        words = {"CLASS": main_class_name(request.source), "JARS": ":".join(bundle.class_path) if bundle else ""}
        words["COMPILE"] = " ".join(bundle.compile_flags) if bundle else ""
        words["LINK"] = " ".join(bundle.link_flags(request.source)) if bundle else ""
        own = bundle is not None and find_typescript(bundle.root) is not None
        words["TSC"] = f"{'/bundle' if own else '/compiler'}/node_modules/typescript/lib/tsc.js"
        sdk = find_dotnet_sdk()
        if sdk is not None:
            framework = {"name": "Microsoft.NETCore.App", "version": sdk.framework}
            words |= {
                "DOTNET": str(sdk.root / "dotnet"),
                "CSC": str(sdk.compiler / "csc.dll"),
                "REFERENCES": str(sdk.references),
                "RUNTIME": json.dumps({"runtimeOptions": {"framework": framework}}),
            }
        return words

    def _tools(self, request: ExecutionRequest) -> dict[str, str]:
        if request.language != "typescript":
            return {}
        tools = installed_bundle(COMPILER_BUNDLE)
        return {"/compiler": str(tools.root)} if tools is not None else {}

    def _path(self, program: str) -> str:
        return f"{Path(program).parent}:/usr/local/bin:/usr/bin:/bin"

    def _milliseconds(self) -> float:
        return self._clock() * 1e3


def measure(ways: Ways, requests: Sequence[ExecutionRequest]) -> list[Row]:
    """Every program through every way, but for the first few, which do not count."""
    rows = []
    for number, request in enumerate(requests):
        ours, compiled, limit = ways.ours(request)
        if number >= WARM_UP:
            plain, released = (ways.typed(request, released=released) for released in (False, True))
            rows.append(Row(ours, compiled, limit, plain, released))
    return rows


def show(language: str, rows: Sequence[Row], seconds: float) -> None:
    """One line of a table."""

    def median(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{statistics.median(known):.0f} ({len(known)})" if known else "-"

    ours, compiled, limit, plain, released = zip(*rows, strict=True)
    rest = [row.ours - row.compiled - row.limit for row in rows]
    cells = [language, *(median(column) for column in (ours, compiled, limit, rest, plain, released))]
    mean = statistics.fmean(ours)
    sys.stdout.write(f"| {' | '.join(cells)} | {mean:.0f} | {seconds:.0f} s |\n")
    sys.stdout.flush()


def main(data: str, programs: int, languages: Sequence[str]) -> None:
    """One table."""
    devbench = load_suite("devbench")
    problems = devbench.load(data).problems
    columns = ["language", "ours", "compiling", "limit", "rest", "plain", "released", "ours, mean", "took"]
    sys.stdout.write(f"| {' | '.join(columns)} |\n|{len(columns) * ' --- |'}\n")
    with tempfile.TemporaryDirectory() as folder, accounted() as clock:
        Path(folder).chmod(0o755)
        sandbox = Sandbox()
        sandbox.probe()
        for language in languages:
            chosen = [problem for problem in problems if problem.caret and problem.caret.language == language]
            sample = random.Random(0).sample(chosen, min(programs + WARM_UP, len(chosen)))  # noqa: S311  no secret
            wanted = (devbench.request(problem, problem.reference, "default") for problem in sample)
            requests = [request for request in wanted if request is not None]
            begin = time.monotonic()
            cache = ResultCache(Path(folder, language))
            ways = Ways(sandbox, ProgramRunner(sandbox, cache, installed_bundle), clock)
            show(language, measure(ways, requests), time.monotonic() - begin)
            cache.close()
        sandbox.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300, sys.argv[3:] or list(COMMAND_LINES))
