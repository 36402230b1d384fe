"""Base of the language runtimes, and the runtimes of any language with an interpreter or a compiler of one file.

The tables ``[interpreter]`` and ``[compiler]`` of a language's ``toolchain.toml`` hold all that differs, so that
another language is a folder and no code: Ruby, JavaScript and Rust run by them as they are. The sentinel of an
interpreted program is loaded before it; that of a compiled one is an object of the harness's source, which is compiled
once per process and linked to every program.
"""

from __future__ import annotations

import os
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ClassVar

from caretbench.errors import UsageError
from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.cache_folders import TOOLS
from caretbench.execution.classification import missing_module
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    Limits,
    ProjectTree,
    RunPlan,
    Status,
    Toolchain,
    WarmSettings,
)
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.sandbox.program_sandbox import HOME, Sandbox
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchain_tables import (
    CompilerTable,
    InterpreterTable,
    ToolchainTable,
    toolchain_table,
    toolchain_tables,
)
from caretbench.file_locks import lock_file
from caretbench.files import cache_folder, sha256_text
from caretbench.languages.table_reader import language_file

_PROGRAM_BYTES = 16 << 20


def read_artefact(path: Path) -> str:
    """Return the text of a sandboxed compiler's file: links are not followed, its length is bounded."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_PROGRAM_BYTES).decode("utf-8", "replace")


def binds_outside_usr(*folders: Path) -> dict[str, str]:
    """Return read-only binds for tool folders outside ``/usr``, which the sandbox lacks."""
    return {str(folder): str(folder) for folder in folders if not folder.is_relative_to("/usr")}


@contextmanager
def cached_tool_folder(name: str) -> Iterator[tuple[Path, bool]]:
    """Yield a cache folder for compiled helper tools, and whether it must still be filled.

    One process fills it at a time; it counts as filled once the block has ended without an exception.
    """
    folder = cache_folder() / TOOLS / name
    folder.mkdir(parents=True, exist_ok=True)
    filled = folder / ".filled"
    with (folder / ".lock").open("w") as lock:
        lock_file(lock)
        yield folder, not filled.exists()
        filled.touch()


BundleLookup = Callable[[str], Bundle | None]
"""From a bundle's name to the built bundle, or None where it is not built."""

HARNESS = f"{HOME}/.harness"
"""Path of harness files inside the sandbox."""

ARTEFACT = "/artefact"
"""Path of a compiled program inside the sandbox."""

_DIAGNOSTICS_CHARACTERS = 4000


class BaseRuntime(ABC):
    """Base of the runtimes: an interpreted language, whose programs need no compiling."""

    language = ""
    compile_batch_size = 0
    """Number of programs per call of ``compile``; 0 if there is nothing to compile."""
    variants: tuple[str, ...] = ()
    """Names of the build variants that a request may choose."""

    def __init__(self, sandbox: Sandbox, bundles: BundleLookup = installed_bundle) -> None:
        self.sandbox = sandbox
        self._bundles = cache(bundles)
        self._toolchain: Toolchain | None = None

    def bundle(self, request: ExecutionRequest) -> Bundle | None:
        """Return the built bundle that the request names, cached."""
        return self._bundles(request.bundle) if request.bundle is not None else None

    @abstractmethod
    def find_toolchain(self) -> Toolchain:
        """Return the installed tools or how to get them."""

    def toolchain(self) -> Toolchain:
        """Return the installed tools, cached per process."""
        if self._toolchain is None:
            self._toolchain = self.find_toolchain()
        return self._toolchain

    def expect(self, request: ExecutionRequest) -> bool:
        """Note a request that will be compiled; return whether the first compiler should wait for others."""
        del request
        return False

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """Return success without compiling; the folders stay empty."""
        return [CompileResult(artefact=folder) for _, folder in zip(requests, artefacts, strict=True)]

    @abstractmethod
    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return the plan to run the program."""

    def merge_compile_result(self, artefact: Path, result: ExecutionResult) -> ExecutionResult:
        """Return the result of the run unchanged, because nothing was compiled."""
        del artefact
        return result

    def strip_harness_frames(self, stderr: str) -> str:
        """Return standard error without the harness's frames."""
        table = toolchain_table(self.language)
        return table.harness_frames.sub("", stderr) if table is not None and table.harness_frames else stderr

    def classify_failure(self, exit_code: int | None, stderr: str, stdout: str) -> Status:
        """Return the status by the patterns of the language's table; a runtime error if none fits."""
        table = toolchain_table(self.language)
        outputs = {"stderr": stderr, "stdout": stdout}
        statuses = (
            failure.status
            for failure in (table.failures if table is not None else ())
            if failure.exit_code in (None, exit_code) and failure.pattern.search(outputs[failure.stream])
        )
        return next(statuses, Status.RUNTIME_ERROR)


def compile_limits(limits: Limits) -> Limits:
    """Return the limits of a compiler: 2 GB, larger files than a program's, and the request's wall time."""
    seconds = limits.compile_wall_s
    return Limits(
        wall_s=seconds, compile_wall_s=seconds, cpu_s=seconds, memory_mb=2048, pids=256, fsize_mb=256, tmp_mb=512,
        nofile=1024, output_kb=256, output_kill_mb=16,
    )  # fmt: skip


def shorten_diagnostics(diagnostics: str) -> str:
    """Return a compiler's output, cut to a readable length."""
    text = diagnostics.strip()
    return text if len(text) <= _DIAGNOSTICS_CHARACTERS else f"{text[:_DIAGNOSTICS_CHARACTERS]}\n[...]"


@cache
def harness_file(language: str, name: str) -> str:
    """Return the text of a file in the folder ``harness`` of a language.

    Raises:
        FileNotFoundError: there is none.
    """
    text = language_file(language, "harness", name)
    if text is None:
        raise FileNotFoundError(f"{language}/harness/{name}")
    return text


@cache
def tool_version(*command: str) -> str | None:
    """Return the first line of a trusted tool's version output, or None if it is missing or does not start."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        # A tool that is broken, or hangs at its start, is as good as absent.
        return None
    # Some tools print their version on standard error.
    output = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return output[0] if done.returncode == 0 and output else None


def fingerprint(*parts: str, flags: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> str:
    """Return 16 hexadecimal digits over versions, harness texts, flags and environment."""
    settings = [f"{name}={value}" for name, value in sorted((environment or {}).items())]
    return sha256_text(*parts, *flags, *settings)[:16]


class InterpretedRuntime(BaseRuntime):
    """Runtime with the interpreter of the language's table. ``paper``: the plain command, without the sentinel."""

    @property
    def interpreter(self) -> InterpreterTable:
        """The language's table.

        Raises:
            UsageError: it has none.
        """
        interpreter = toolchain_tables()[self.language].interpreter
        if interpreter is None:
            raise UsageError(f"{self.language}: its toolchain.toml names no interpreter")
        return interpreter

    def harness_texts(self) -> dict[str, str]:
        """Return the harness's files by name."""
        table = self.interpreter
        return {name: harness_file(table.harness_language or self.language, name) for name in table.harness}

    def find_toolchain(self) -> Toolchain:
        """Return the interpreter of the table."""
        table = self.interpreter
        version = tool_version(table.command, *table.version)
        if version is None:
            return Toolchain(language=self.language, available=False, remedy=table.remedy)
        # The whole table: a verdict by another start, heap or folder of packages is another verdict.
        mark = fingerprint(version, *self.harness_texts().values(), table.model_dump_json())
        return Toolchain(
            language=self.language, available=True, version=f"{table.title} {version}".strip(), fingerprint=mark
        )

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return the plan to run the program; the sentinel is loaded first where the profile asks for it."""
        del artefact
        table, bundle = self.interpreter, self.bundle(request)
        files, arguments = {table.program: request.source}, [*table.flags, table.program]
        if request.sentinel:
            files |= {f"{HARNESS}/{name}": text for name, text in self.harness_texts().items()}
            start = [word.replace("@harness", HARNESS) for word in table.sentinel]
            arguments = [*table.flags, *start, table.program]
        packages = {
            inside: str(bundle.root / folder)
            for folder, inside in table.packages.items()
            if bundle is not None and (bundle.root / folder).is_dir()
        }
        # A quarter is left for what is no heap.
        heap = str(request.limits.memory_mb * 3 // 4)
        bounded = [word.replace("@heap", heap) for word in table.heap_flags]
        return RunPlan(
            argv=(table.command, *arguments),
            bounded_argv=(table.command, *bounded, *arguments) if bounded else (),
            environment={**table.environment, **(bundle.environment if bundle else {})},
            read_only={**(bundle.read_only if bundle else {}), **packages},
            files=files,
            answer_lines=request.answer_lines,
            address_space_limit=table.address_space_limit,
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
            sentinel = f"{HARNESS}/{_OBJECT}"
            arguments = [*compiler.flags, *(word.replace("@object", sentinel) for word in compiler.link)]
            files[sentinel] = self._sentinel()
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
