"""Base of the language runtimes: bundles, versions of tools, harness files, our own tools, limits of compilers."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from caretbench.execution.bundles import Bundle, installed_bundle
from caretbench.execution.cache.cache_folders import TOOLS
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    Limits,
    RunPlan,
    Status,
    Toolchain,
)
from caretbench.execution.sandbox.program_sandbox import HOME, Sandbox
from caretbench.execution.toolchain_tables import toolchain_table
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
    variants: tuple[str, ...] = ()

    def __init__(self, sandbox: Sandbox, bundles: BundleLookup = installed_bundle) -> None:
        self.sandbox = sandbox
        self._bundles = bundles
        self._found: dict[str, Bundle | None] = {}
        self._toolchain: Toolchain | None = None

    def set_bundle_lookup(self, bundles: BundleLookup) -> None:
        """Use another function to find bundles."""
        self._bundles = bundles
        self._found.clear()

    def bundle(self, request: ExecutionRequest) -> Bundle | None:
        """Return the built bundle that the request names, cached."""
        name = request.bundle
        if name is None:
            return None
        if name not in self._found:
            self._found[name] = self._bundles(name)
        return self._found[name]

    @abstractmethod
    def find_toolchain(self) -> Toolchain:
        """Return the installed tools or how to get them."""

    def toolchain(self) -> Toolchain:
        """Return the installed tools, cached per process."""
        if self._toolchain is None:
            self._toolchain = self.find_toolchain()
        return self._toolchain

    def expect(self, request: ExecutionRequest) -> bool:
        """Return False: nothing is to be learned from a request before it is compiled."""
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
