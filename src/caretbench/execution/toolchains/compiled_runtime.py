"""Runtime of any language with a compiler of one source file: one sandboxed compiler process per program.

The table ``[compiler]`` of the language's ``toolchain.toml`` holds all that differs. The sentinel is an object of the
harness's source, which is compiled once per process and linked to every program.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from caretbench.execution.classification import missing_module
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    Limits,
    ProjectTree,
    RunPlan,
    Status,
    Toolchain,
    WarmSettings,
)
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchain_tables import CompilerTable, ToolchainTable, toolchain_tables
from caretbench.execution.toolchains.base_runtime import (
    ARTEFACT,
    HARNESS,
    BaseRuntime,
    compile_limits,
    fingerprint,
    harness_file,
    shorten_diagnostics,
    tool_version,
)

EXECUTABLE = "program"
"""Name of the executable in its folder."""

MAX_OUTPUT_BYTES = 64 << 20
"""Maximum size of a file that is read out of a compiler's sandbox."""

_OBJECT = "sentinel.o"
_KILLED = {"wall": Status.TIMEOUT, "cpu": Status.TIMEOUT, "memory": Status.OUT_OF_MEMORY}


class ExecutableRuntime(BaseRuntime):
    """Base of the runtimes whose compiler makes an executable: one compiler process per program."""

    compile_batch_size = 1

    @property
    @abstractmethod
    def run_environment(self) -> Mapping[str, str]:
        """Environment variables of the program."""

    @abstractmethod
    def compile_one(self, request: ExecutionRequest, folder: Path) -> CompileResult:
        """Compile a program into ``folder``."""

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """Compile one program after another; they share nothing."""
        return [self.compile_one(request, folder) for request, folder in zip(requests, artefacts, strict=True)]

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return a plan that runs the executable, bound read-only."""
        del request
        return RunPlan(
            argv=(f"{ARTEFACT}/{EXECUTABLE}",), read_only={ARTEFACT: str(artefact)}, environment=self.run_environment
        )


def write_program(folder: Path, content: bytes) -> None:
    """Write an executable."""
    program = folder / EXECUTABLE
    program.write_bytes(content)
    program.chmod(0o755)


def compile_result(result: SandboxResult, artefact: Path | None, module: str | None) -> CompileResult:
    """Return the compile result from a compiler's run; it is a machine fault only if it never started.

    Args:
        result: The compiler's run.
        artefact: The folder of the executable; None if there is none.
        module: A module that is not there, if that is what the compiler objects to.
    """
    words = shorten_diagnostics(result.error or result.stderr.text)
    if artefact is not None:
        return CompileResult(artefact=artefact, diagnostics=words, compile_s=result.wall_s)
    if result.error is not None:
        status = Status.SANDBOX_ERROR
    elif result.killed is not None:
        status = _KILLED.get(result.killed, Status.COMPILE_ERROR)
    else:
        status = Status.UNRESOLVED_IMPORT if module else Status.COMPILE_ERROR
    return CompileResult(
        artefact=None,
        status=status,
        diagnostics=words,
        missing_module=module,
        compile_s=result.wall_s,
        wall_timeout=result.killed == "wall",
    )


class CompiledRuntime(ExecutableRuntime):
    """Runtime with the compiler of the language's table. ``paper``: its ``paper_flags`` and no sentinel."""

    _objects: ClassVar[dict[tuple[str, str], bytes]] = {}
    _lock = threading.Lock()

    @property
    def _table(self) -> ToolchainTable:
        return toolchain_tables()[self.language]

    @property
    def _compiler(self) -> CompilerTable:
        compiler = self._table.compiler
        if compiler is None:
            raise ValueError(f"{self.language}: its toolchain.toml names no compiler")
        return compiler

    def find_toolchain(self) -> Toolchain:
        """Return the compiler of the table."""
        compiler = self._compiler
        version = tool_version(compiler.command, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy=compiler.remedy)
        flags = (*compiler.flags, *compiler.paper_flags, *compiler.sentinel_flags, *compiler.link)
        text = harness_file(self.language, compiler.sentinel)
        mark = fingerprint(version, text, flags=flags, environment={**compiler.environment, **compiler.run_environment})
        return Toolchain(language=self.language, available=True, version=version, fingerprint=mark)

    @property
    def run_environment(self) -> Mapping[str, str]:
        """Environment variables of the program."""
        return self._compiler.run_environment

    def compile_one(self, request: ExecutionRequest, folder: Path) -> CompileResult:
        """Compile a program into ``folder``."""
        compiler = self._compiler
        files: dict[str, str | bytes] = {compiler.program: request.source}
        arguments = [*compiler.paper_flags]
        if request.sentinel:
            place = f"{HARNESS}/{_OBJECT}"
            arguments = [*compiler.flags, *(word.replace("@object", place) for word in compiler.link)]
            files[place] = self._sentinel()
        result, content = self._run([*arguments, compiler.program, "-o", EXECUTABLE], files, request.limits, EXECUTABLE)
        # A compiler may end well and leave a file that is too large to be read.
        if not result.ok or content is None:
            return compile_result(result, None, self._lacks(result.stderr.text))
        write_program(folder, content)
        return compile_result(result, folder, None)

    def _run(
        self, arguments: Sequence[str], files: Mapping[str, str | bytes], limits: Limits, made: str
    ) -> tuple[SandboxResult, bytes | None]:
        """Run the compiler in a sandbox; return the outcome, and the file that it made."""
        result = self.sandbox.run(
            Invocation(
                [self._compiler.command, *arguments],
                files=files,
                environment={"LC_ALL": "C", **self._compiler.environment},
                limits=compile_limits(limits),
                warm=WarmSettings(),
                tree=ProjectTree(results=(made,), max_file_bytes=MAX_OUTPUT_BYTES, max_total_bytes=MAX_OUTPUT_BYTES),
                address_space_limit=False,
            )
        )
        content = next((file.data for file in result.files if not file.problem), None)
        return result.model_copy(update={"files": ()}), content

    def _sentinel(self) -> bytes:
        """Return the compiled sentinel: built once per process, passed to every link."""
        key = self.language, self.toolchain().fingerprint
        # Other compilers wait: each would build the same object.
        with CompiledRuntime._lock:
            if key not in CompiledRuntime._objects:
                compiler = self._compiler
                files = {compiler.sentinel: harness_file(self.language, compiler.sentinel)}
                arguments = [*compiler.sentinel_flags, compiler.sentinel, "-o", _OBJECT]
                result, content = self._run(arguments, files, Limits(), _OBJECT)
                if content is None:
                    words = result.error or result.stderr.text
                    raise RuntimeError(f"the sentinel of {self.language} does not compile: {words}")
                CompiledRuntime._objects[key] = content
            return CompiledRuntime._objects[key]

    def _lacks(self, words: str) -> str | None:
        """Return the module that is not there, where that is all that the compiler objects to."""
        errors = len(self._compiler.errors.findall(words))
        named = sum(len(pattern.findall(words)) for pattern in self._table.missing_modules)
        return missing_module(words) if 0 < errors <= named else None
