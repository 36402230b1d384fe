"""Outcomes of DevBench's programs in one shared folder, next to those in a folder for each.

The released runner starts programs in Java, C++, C# and Python in its own working folder, where files of earlier
programs remain; Java programs that it builds with Gradle, and all scripts of Node.js, have a folder each. All
references of a language run first, then a model's samples of one category, in the order of the release, one after the
other in one sandbox, under the ``paper`` profile.

    python benchmarks/devbench_shared_folder.py DATA java --model gpt-4o --category syntax_completion
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, Limits
from caretbench.execution.local_executor import ProgramRunner
from caretbench.execution.sandbox.bubblewrap import WORK
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains.base_runtime import ARTEFACT
from caretbench.suites import load_suite

PROGRAMS = "/programs"
EACH = "/tmp/each"  # noqa: S108  inside the sandbox
SECONDS = 30
BUILT_WITH_GRADLE = re.compile(
    r"^\s*package\s+[\w.]+;|org\.apache\.(commons|poi|logging\.log4j)|com\.google\.(common|gson)|org\.(junit|json|jdom2|dom4j)"
    r"|org\.(springframework|hibernate)|com\.fasterxml\.jackson|(javax|jakarta)\.xml\.bind",
    re.MULTILINE,
)
"""Java programs that the released runner builds with Gradle, and starts in a folder of their own."""
BATCH = 32
LIMITS = Limits(
    wall_s=3000, cpu_s=2500, memory_mb=2048, pids=512, fsize_mb=64, tmp_mb=512, output_kb=1024, output_kill_mb=16
)


class Started(NamedTuple):
    """One program of the sequence: problem, number of the sample (-1: the reference), and its request."""

    problem: str
    sample: int
    request: ExecutionRequest


def sequence(data: Path, language: str, model: str, category: str) -> list[Started]:
    """Return the references of a language and then the samples of a model, in the order of the release."""
    suite = load_suite("devbench")
    problems = {p.id: p for p in suite.load(str(data)).problems if p.label("language") == language}
    chosen = {name: problem for name, problem in problems.items() if problem.label("category") == category}
    answers = [
        *((problem.id, -1, problem.reference) for problem in problems.values()),
        *((row.problem_id, row.sample, row.text) for row in suite.recorded_completions(data, chosen, [model])),
    ]
    requests = ((name, sample, suite.make_request(problems[name], text, "paper")) for name, sample, text in answers)
    return [Started(name, sample, one) for name, sample, one in requests if isinstance(one, ExecutionRequest)]


def compiled_programs(runner: ProgramRunner, started: Sequence[Started]) -> dict[str, CompileResult]:
    """Return what the compiler made of each distinct text."""
    texts = list({one.request.source: one.request for one in started}.values())
    found: dict[str, CompileResult] = {}
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        found |= zip((request.source for request in batch), runner.compile(batch), strict=True)
    return found


def run(started: Sequence[Started], *, shared: bool) -> list[bool]:
    """Run the programs one after the other; return which of them exit with status 0."""
    sandbox, cache = Sandbox(), ResultCache()
    runner = ProgramRunner(sandbox, cache, installed_bundle)
    compiled = compiled_programs(runner, started) if runner.compile_batch_size(started[0].request.language) else {}
    lines, files, binds, environment = [], {}, {}, {}
    for number, one in enumerate(started):
        result = compiled.get(one.request.source, CompileResult(artefact=Path()))
        if result.artefact is None:
            lines.append(f"echo {number} 1")
            continue
        plan = runner.runtime(one.request.language).plan(one.request, result.artefact)
        place = f"{PROGRAMS}/{result.artefact.name}"
        binds |= {place if inside == ARTEFACT else inside: path for inside, path in plan.read_only.items()}
        environment |= plan.environment
        names = {name: f"program_{number}.py" for name in plan.files if name.endswith(".py")}
        files |= {names.get(name, name): text for name, text in plan.files.items()}
        command = shlex.join(names.get(word, word.replace(ARTEFACT, place)) for word in plan.argv)
        command = command.replace("program_", f"{WORK}/program_")
        apart = not shared or (one.request.language == "java" and BUILT_WITH_GRADLE.search(one.request.source))
        folder = f"{EACH}/{number}" if apart else "."
        lines.append(f"(mkdir -p {folder}; cd {folder}; timeout {SECONDS} {command}) >/dev/null 2>&1; echo {number} $?")
    done = sandbox.run(
        Invocation(
            ["/bin/sh", "sequence.sh"], limits=LIMITS, files=files | {"sequence.sh": "\n".join(lines)},
            read_only=binds, environment=environment, address_space_limit=False,
        )
    )  # fmt: skip
    ends = dict(line.split() for line in done.stdout.text.splitlines() if line)
    if len(ends) != len(started):
        raise SystemExit(f"{len(ends)} of {len(started)} programs ended: {done.killed or done.error}")
    return [ends[str(number)] == "0" for number in range(len(started))]


def main() -> None:
    """Print the passes in both kinds of folder, and the problems where they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("language")
    parser.add_argument("--model", default="gpt-4o")
    parser.add_argument("--category", default="syntax_completion")
    chosen = parser.parse_args()
    started = sequence(chosen.data, chosen.language, chosen.model, chosen.category)
    each, shared = run(started, shared=False), run(started, shared=True)
    lines = []
    for name, kept in (("references", True), ("samples", False)):
        places = [n for n, one in enumerate(started) if (one.sample < 0) is kept]
        alone, together = (sum(passed[n] for n in places) for passed in (each, shared))
        lines.append(f"{name}: {len(places)}, {alone} pass each in a folder, {together} in a shared one")
    changed = Counter((one.problem, one.sample < 0, shared[n]) for n, one in enumerate(started) if each[n] != shared[n])
    for (problem, reference, passed), count in sorted(changed.items()):
        kind = "reference" if reference else "samples"
        lines.append(f"{problem}: {count} {kind} {'pass' if passed else 'fail'} in the shared folder only")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
