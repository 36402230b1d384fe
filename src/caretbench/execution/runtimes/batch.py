"""Batch compilers: one sandboxed process compiles many programs, and no program harms another.

Compilers take a second to warm up and milliseconds for a program, so many programs share one process. The
process says which program it begins and what came of it, one JSON line each. When it dies, the program
that it had begun is the suspect: it is compiled again alone, and the others in a fresh process.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from caretbench.execution.runtimes.base import compile_limits, shorten
from caretbench.execution.sandbox import Sandbox
from caretbench.execution.supervisor import SandboxResult
from caretbench.execution.types import CompileResult, ExecutionRequest, Status
from caretbench.files import cache_folder

CHUNK = 40
"""Programs per compiler process: start-up is well spread by then, and its memory stays far below the limit."""
CPU_PER_PROGRAM_S = 30.0
"""CPU time, in seconds, that a compiler may spend on one program."""
OUTPUT = "/out"

_OUT_OF_MEMORY = ("OutOfMemory", "Out of memory", "heap out of memory")
_PROGRAM_BYTES = 16 << 20


class Answer(BaseModel):
    """What a batch compiler says of one program; ``kind`` is ``ok`` or a word for what is wrong."""

    index: int
    kind: str
    missing: str | None = None
    diagnostics: str = ""
    seconds: float = 0.0


class BatchCompiler(NamedTuple):
    """How a language's batch compiler is started.

    ``arguments`` gives the command for programs with the given options. Their texts are ``0.source`` and so
    on in the work folder, to be compiled into ``OUTPUT/0`` and so on. ``verdict`` gives an answer as a
    status, or None where the program can run.
    """

    arguments: Callable[[Sequence[str]], Sequence[str]]
    verdict: Callable[[Answer, ExecutionRequest], Status | None]
    read_only: Mapping[str, str]
    environment: Mapping[str, str]


class Program(NamedTuple):
    """A request, the empty folder for its artefact, and a word that the compiler takes as an argument."""

    request: ExecutionRequest
    folder: Path
    option: str


def plain_verdict(answer: Answer, request: ExecutionRequest) -> Status | None:
    """The verdict of compilers whose every complaint but a missing module is a compile error."""
    del request
    statuses = {"ok": None, "module": Status.UNRESOLVED_IMPORT, "timeout": Status.TIMEOUT}
    return statuses.get(answer.kind, Status.COMPILE_ERROR)


def compile_batch(
    sandbox: Sandbox,
    compiler_for: Callable[[ExecutionRequest], BatchCompiler],
    programs: Sequence[Program],
) -> list[CompileResult]:
    """Compile programs, each into its own folder; one result each, in order.

    Args:
        sandbox: Where the compiler runs: it reads untrusted text.
        compiler_for: The compiler for a request's bundle; programs with the same bundle share a process.
        programs: What to compile.
    """
    results: dict[int, CompileResult] = {}
    by_bundle: dict[str | None, list[int]] = {}
    for index, program in enumerate(programs):
        by_bundle.setdefault(program.request.bundle, []).append(index)
    waiting = list(by_bundle.values())
    while waiting:
        chunk = waiting.pop()
        compiler = compiler_for(programs[chunk[0]].request)
        done, again = _compile_chunk(sandbox, compiler, [programs[index] for index in chunk])
        results.update((chunk[place], result) for place, result in done.items())
        waiting += [[chunk[place] for place in places] for places in again]
    return [results[index] for index in range(len(programs))]


def _compile_chunk(
    sandbox: Sandbox, compiler: BatchCompiler, programs: Sequence[Program]
) -> tuple[dict[int, CompileResult], list[list[int]]]:
    """Results by place in the chunk, and the places to compile again, grouped by process."""
    outcome = _run(sandbox, compiler, programs)
    answers, begun = _answers(outcome.stdout.text, len(programs))
    results = {place: _result(answer, programs[place], compiler) for place, answer in answers.items()}
    left = [place for place in range(len(programs)) if place not in answers]
    if not left:
        return results, []
    if outcome.error is not None or begun is None:
        return results | {place: _failure(outcome, ours=True) for place in left}, []
    if begun in answers:  # it ended itself, after saying why
        return results, [left]
    if len(programs) == 1:
        return {begun: _failure(outcome, ours=False)}, []
    others = [place for place in left if place != begun]
    return results, [[begun], *([others] if others else [])]


def _run(sandbox: Sandbox, compiler: BatchCompiler, programs: Sequence[Program]) -> SandboxResult:
    limits = programs[0].request.limits
    return sandbox.run(
        compiler.arguments([program.option for program in programs]),
        limits=compile_limits(limits, len(programs)).model_copy(
            update={"output_kb": 16 << 10, "output_kill_mb": 32}
        ),
        files={f"{place}.source": program.request.source for place, program in enumerate(programs)},
        read_only=compiler.read_only,
        writable={f"{OUTPUT}/{place}": program.folder for place, program in enumerate(programs)},
        environment=compiler.environment,
        address_space_limit=False,
        # Only a backstop: the compilers watch their CPU time, and they never sleep.
        wall_s=limits.compile_wall_s * (1 + len(programs) / 10),
    )


def _answers(text: str, count: int) -> tuple[dict[int, Answer], int | None]:
    """The answers by place, and the place of the program that was begun last."""
    answers: dict[int, Answer] = {}
    begun: int | None = None
    for line in _json_objects(text):
        if "begin" in line:
            begun = int(line["begin"])
            continue
        try:
            answer = Answer.model_validate(line)
        except ValidationError:
            continue
        if 0 <= answer.index < count:
            answers.setdefault(answer.index, answer)
    return answers, begun


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _result(answer: Answer, program: Program, compiler: BatchCompiler) -> CompileResult:
    status = compiler.verdict(answer, program.request)
    return CompileResult(
        artefact=program.folder if status is None else None,
        status=status,
        diagnostics=shorten(answer.diagnostics),
        missing_module=answer.missing,
        compile_s=answer.seconds,
    )


def _failure(outcome: SandboxResult, *, ours: bool) -> CompileResult:
    """The compiler died of one program, or never came to compile anything, which is our fault."""
    stderr = outcome.stderr.text
    if ours:
        status, said = Status.SANDBOX_ERROR, outcome.error or f"the compiler does not start: {stderr}"
    elif outcome.killed == "memory" or any(sign in stderr for sign in _OUT_OF_MEMORY):
        status, said = Status.OUT_OF_MEMORY, "the compiler ran out of memory"
    elif outcome.killed in ("wall", "cpu"):
        status, said = Status.TIMEOUT, "the compiler took too long"
    else:
        status, said = Status.COMPILE_ERROR, f"the compiler crashed: {stderr}"
    return CompileResult(artefact=None, status=status, diagnostics=shorten(said), compile_s=outcome.cpu_s)


def read_artefact(path: Path) -> str:
    """The text of a file that a sandboxed compiler left: links are not followed, lengths are bounded."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_PROGRAM_BYTES).decode("utf-8", "replace")


def outside_usr(*folders: Path) -> dict[str, str]:
    """Read-only binds for the folders of tools that the sandbox does not hold anyway."""
    return {str(folder): str(folder) for folder in folders if not folder.is_relative_to("/usr")}


@contextmanager
def tool_folder(name: str) -> Iterator[tuple[Path, bool]]:
    """A folder of the cache for our own compiled tools, and whether it is still to be filled.

    One process fills it at a time; it counts as filled once the block has ended without an exception.
    """
    folder = cache_folder() / "tools" / name
    folder.mkdir(parents=True, exist_ok=True)
    filled = folder / ".filled"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, not filled.exists()
        filled.touch()
