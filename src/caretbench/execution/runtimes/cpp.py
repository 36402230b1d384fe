"""C++: one compiler process per program, in the sandbox; the executable is kept."""

from __future__ import annotations

import base64
import re
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.execution.classification import missing_module
from caretbench.execution.runtimes.base import (
    ARTEFACT,
    HARNESS,
    Runtime,
    compile_limits,
    fingerprint,
    harness_file,
    shorten,
    tool_version,
)
from caretbench.execution.supervisor import SandboxResult
from caretbench.execution.types import CompileResult, ExecutionRequest, Limits, RunPlan, Status, Toolchain
from caretbench.files import cache_folder

if TYPE_CHECKING:
    from caretbench.execution.bundles import Bundle

COMPILER = "/usr/bin/g++"
MOLD = "/usr/bin/mold"
PROGRAM = "main.cpp"
OUT = "/out"

PAPER_FLAGS = ("-std=c++17", "-Wall", "-O2")
DEFAULT_FLAGS = ("-std=c++17", "-O0", "-w", f"-I{HARNESS}")
LINK_FLAGS = ("-Wl,--wrap=main", *(("-fuse-ld=mold",) if Path(MOLD).exists() else ()))
COMMON_HEADERS = "common_headers"
"""The variant that puts the usual standard headers first."""
_HEADERS = "common_headers.hpp"
_PRECOMPILED = "/precompiled"
_HARNESS_FILES = ("assert.h", "common_headers.hpp", "sentinel.cpp")

_KILLED = {"wall": Status.TIMEOUT, "cpu": Status.TIMEOUT, "memory": Status.OUT_OF_MEMORY}


class CppRuntime(Runtime):
    """g++. ``paper``: the released flags, exit status only; ``default``: -O0, assertions that NDEBUG cannot silence."""

    language = "cpp"
    chunk_size = 1
    variants = (COMMON_HEADERS,)
    failure_patterns = (
        (re.compile(r"Assertion [`'\"].*[`'\"] failed\.", re.DOTALL), Status.FAILED),
        (re.compile(r"std::bad_alloc|cannot allocate memory", re.IGNORECASE), Status.OUT_OF_MEMORY),
    )

    _no_precompiled = False
    _sentinel: bytes | None = None
    _lock = threading.Lock()

    def find_toolchain(self) -> Toolchain:
        """g++, and mold where it is there: it links faster."""
        version = tool_version(COMPILER, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install g++ mold")
        linker = tool_version(MOLD, "--version") or "default linker"
        texts = [harness_file(name) for name in _HARNESS_FILES]
        mark = fingerprint(version, linker, *texts, flags=(*PAPER_FLAGS, *DEFAULT_FLAGS, *LINK_FLAGS))
        return Toolchain(
            language=self.language, available=True, version=f"{version}, {linker}", fingerprint=mark
        )

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """One compiler process per program: they share nothing."""
        return [
            self._compile_one(request, folder) for request, folder in zip(requests, artefacts, strict=True)
        ]

    def _compile_one(self, request: ExecutionRequest, folder: Path) -> CompileResult:
        files: dict[str, str | bytes] = {PROGRAM: request.source}
        flags: tuple[str, ...] = PAPER_FLAGS
        objects: tuple[str, ...] = ()
        if request.profile == "default":
            flags = (*DEFAULT_FLAGS, *LINK_FLAGS)
            objects = (f"{HARNESS}/sentinel.o",)
            files[objects[0]] = self._sentinel_object()
            files[f"{HARNESS}/assert.h"] = harness_file("assert.h")
        read_only: dict[str, str] = {}
        if request.variant == COMMON_HEADERS:
            place = self._precompiled_headers() if request.profile == "default" else None
            if place is not None:
                read_only[_PRECOMPILED] = str(place)
            else:
                files[f"{HARNESS}/{_HEADERS}"] = harness_file(_HEADERS)
            flags += ("-include", f"{_PRECOMPILED if place else HARNESS}/{_HEADERS}")
        bundle = self.bundle(request)
        result = self._run(
            [*flags, *_flags(bundle, "compile", request), PROGRAM, *objects, "-o", f"{OUT}/program", "-pthread",
             *_flags(bundle, "link", request)],
            files, folder, compile_limits(request.limits), read_only,
        )  # fmt: skip
        return _compiled(result, folder)

    def _run(
        self,
        arguments: Sequence[str],
        files: Mapping[str, str | bytes],
        folder: Path,
        limits: Limits,
        read_only: Mapping[str, str] | None = None,
    ) -> SandboxResult:
        return self.sandbox.run(
            [COMPILER, *arguments],
            files=files,
            read_only=read_only,
            writable={OUT: folder},
            environment={"LC_ALL": "C"},
            limits=limits,
        )

    def _precompiled_headers(self) -> Path | None:
        """The common headers, compiled once for this toolchain: programs of the variant all begin with them."""
        place = cache_folder() / "tools" / f"cpp-{self.toolchain().fingerprint}"
        with CppRuntime._lock:
            if place.is_dir() or self._no_precompiled:
                return place if place.is_dir() else None
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".building-", dir=place.parent) as name:
                folder = Path(name, "headers")
                folder.mkdir()
                Path(name).chmod(0o755)
                (folder / _HEADERS).write_text(harness_file(_HEADERS))
                result = self._run(
                    [*DEFAULT_FLAGS, "-pthread", "-x", "c++-header", _HEADERS, "-o", f"{OUT}/{_HEADERS}.gch"],
                    {_HEADERS: harness_file(_HEADERS), f"{HARNESS}/assert.h": harness_file("assert.h")},
                    folder, compile_limits(Limits()),
                )  # fmt: skip
                self._no_precompiled = not result.ok
                if result.ok and not place.is_dir():
                    folder.rename(place)
            return place if place.is_dir() else None

    def _sentinel_object(self) -> bytes:
        """The compiled sentinel: made once per process, given to every link."""
        with CppRuntime._lock:
            if CppRuntime._sentinel is None:
                argv = f"{COMPILER} -O1 -c sentinel.cpp -o sentinel.o && base64 -w0 sentinel.o"
                result = self.sandbox.run(
                    ["/bin/sh", "-c", argv],
                    files={"sentinel.cpp": harness_file("sentinel.cpp")},
                    limits=compile_limits(Limits()),
                )
                if not result.ok:
                    raise RuntimeError(
                        f"the C++ sentinel does not compile: {result.error or result.stderr.text}"
                    )
                CppRuntime._sentinel = base64.b64decode(result.stdout.text)
            return CppRuntime._sentinel

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """The executable, bound read-only."""
        del request
        return RunPlan(
            argv=(f"{ARTEFACT}/program",),
            read_only={ARTEFACT: str(artefact)},
            environment={"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"},
        )


def _flags(bundle: Bundle | None, stage: str, request: ExecutionRequest) -> tuple[str, ...]:
    if bundle is None:
        return ()
    return bundle.compile_flags if stage == "compile" else bundle.link_flags(request.source)


def _compiled(result: SandboxResult, folder: Path) -> CompileResult:
    """From the compiler's end to a result: its own failures are ours only where it never started."""
    words = shorten(result.error or result.stderr.text)
    if result.ok:
        return CompileResult(artefact=folder, diagnostics=words, compile_s=result.wall_s)
    module = missing_module(result.stderr.text)
    if result.error is not None:
        status = Status.SANDBOX_ERROR
    elif result.killed is not None:
        status = _KILLED.get(result.killed, Status.COMPILE_ERROR)
    else:
        status = Status.UNRESOLVED_IMPORT if module else Status.COMPILE_ERROR
    return CompileResult(
        artefact=None, status=status, diagnostics=words, missing_module=module, compile_s=result.wall_s
    )
