"""C++ runtime: one sandboxed compiler process per program; the executable is kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from caretbench.execution.cache.cache_folders import TOOLS
from caretbench.execution.classification import missing_module
from caretbench.execution.execution_types import (
    CONTEST,
    CompileResult,
    ExecutionRequest,
    Limits,
    ProjectTree,
    RunPlan,
    Toolchain,
    WarmSettings,
)
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchains.base_runtime import (
    EXECUTABLE,
    HARNESS,
    MAX_OUTPUT_BYTES,
    ExecutableRuntime,
    compile_limits,
    compile_result,
    fingerprint,
    harness_file,
    tool_version,
    write_program,
)
from caretbench.execution.toolchains.precompiled_headers import (
    HEADER,
    PRECOMPILED,
    CompilerFlags,
    PrecompiledHeaderStore,
)
from caretbench.files import cache_folder

COMPILER = "/usr/bin/g++"
MOLD = "/usr/bin/mold"
PROGRAM = "main.cpp"
OUT = "/out"

# Of g++'s 572 ms for a program at -O2, -O0 takes 523 and mold with a precompiled header 351 to 360. A header of
# the whole library lets 3 of 30 programs pass that miss an include.
PAPER_FLAGS = ("-std=c++17", "-Wall", "-O2")
DEFAULT_FLAGS = ("-std=c++17", "-O0", "-w", f"-I{HARNESS}")
# ExecEval includes both headers first: control_completion_001203 and 001400 of SAFIM have malloc and fmax from there.
_CONTEST_HEADERS = ("-include", "limits.h", "-include", "math.h")
CONTEST_FLAGS = ("-std=c++17", "-O2", "-w", "-DONLINE_JUDGE", *_CONTEST_HEADERS, f"-I{HARNESS}")
# That of Codeforces; control_completion_008353 has 32 MB of texts there. ExecEval has no limit.
_CONTEST_STACK_MB = 256
LINKER_FLAGS = ("-fuse-ld=mold",) if Path(MOLD).exists() else ()
SENTINEL_FLAGS = ("-Wl,--wrap=main",)
COMMON_HEADERS = "common_headers"
"""The variant that puts the usual standard headers first."""
_COMMON = "common_headers.hpp"
_PRECOMPILED = "/precompiled"
_ASSERTIONS = f"{HARNESS}/assert.h"
_SIGNS_OF_HEADERS = (HEADER, "<command-line>", "PCH", "internal compiler error", "fatal error: Killed")
"""Signs in compiler output that precompiled headers, or the compiler's own end, caused a failure: such a program is
compiled again without them."""
_READ_OUT = ProjectTree(results=(EXECUTABLE,), max_file_bytes=MAX_OUTPUT_BYTES, max_total_bytes=MAX_OUTPUT_BYTES)
_HARNESS_FILES = ("assert.h", "common_headers.hpp", "sentinel.cpp")


class CppRuntime(ExecutableRuntime):
    """C++ runtime with g++. ``paper``: released flags, exit status only; ``default``: -O0, assertions always on.

    Both link with mold and use precompiled headers: at -O2 the executables are the same bytes without them.
    """

    language = "cpp"
    variants = (COMMON_HEADERS, CONTEST)
    run_environment: Mapping[str, str] = {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}

    _sentinel: bytes | None = None
    # Entered again by the thread that compiles the sentinel, for the headers.
    _lock = threading.RLock()
    _headers: ClassVar[dict[tuple[Path, str], PrecompiledHeaderStore]] = {}

    def find_toolchain(self) -> Toolchain:
        """Return g++, and mold if installed: it links faster."""
        version = tool_version(COMPILER, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install g++ mold")
        linker = tool_version(MOLD, "--version") or "default linker"
        texts = [harness_file(self.language, name) for name in _HARNESS_FILES]
        commands = (*PAPER_FLAGS, "-include", *LINKER_FLAGS, *DEFAULT_FLAGS, "-include", *LINKER_FLAGS, *SENTINEL_FLAGS)
        contest = (*CONTEST_FLAGS, str(_CONTEST_STACK_MB))
        mark = fingerprint(version, linker, *texts, flags=(*commands, *contest))
        return Toolchain(language=self.language, available=True, version=f"{version}, {linker}", fingerprint=mark)

    def expect(self, request: ExecutionRequest) -> bool:
        """Count the request's headers: those that pay are built before the first of the expected programs."""
        if request.variant != COMMON_HEADERS:
            self.headers.expect(request.source, self._flags(request))
        return True

    def compile_one(self, request: ExecutionRequest, folder: Path) -> CompileResult:
        """Compile a program into ``folder``."""
        common = request.variant == COMMON_HEADERS
        files: dict[str, str | bytes] = {PROGRAM: request.source}
        flags = self._flags(request)
        objects: CompilerFlags = ()
        linking: CompilerFlags = LINKER_FLAGS
        if request.sentinel:
            # Linked first, and the word inverted: a function of .preinit_array could read it before main.
            objects = (f"{HARNESS}/sentinel.o",)
            linking += SENTINEL_FLAGS
            files[objects[0]] = self._sentinel_object()
            files[_ASSERTIONS] = harness_file(self.language, "assert.h")
        if common:
            text = files[f"{HARNESS}/{_COMMON}"] = harness_file(self.language, _COMMON)
            entry = self.headers.for_text(text, flags, self._precompile)
        else:
            entry = self.headers.for_program(request.source, flags, self._precompile)
        bundle = self.bundle(request)
        linking += ("-pthread", *(bundle.link_flags(request.source) if bundle is not None else ()))
        # Ours come first: what a program asks for before its beginning comes after ours, which take the word.
        sources = (*objects, PROGRAM, *linking)
        plain = (*flags, *(("-include", f"{HARNESS}/{_COMMON}") if common else ()), *sources)
        if entry is None:
            return _compiled(self._build(plain, files, folder, request.limits), folder)
        header = f"{_PRECOMPILED}/{entry.name}/{HEADER}"
        # First: g++ takes no precompiled header after another one.
        result = self._build(("-include", header, *flags, *sources), files, folder, request.limits)
        failed = result.error is None and result.killed is None and result.exit_code != 0
        # Other libraries' headers may not bear to come twice.
        doubtful = not common and (entry.headers is None or _of_headers(result))
        if failed and (doubtful or not self.headers.is_intact(entry)):
            first_s = result.wall_s
            result = self._build(plain, files, folder, request.limits)
            if result.ok:
                self.headers.is_intact(entry)  # else it goes
            result = result.model_copy(update={"wall_s": first_s + result.wall_s})
        return _compiled(result, folder)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return a plan that runs the executable; a contest's programs have the stack of its judges."""
        plan = super().plan(request, artefact)
        return plan.model_copy(update={"stack_mb": _CONTEST_STACK_MB}) if request.variant == CONTEST else plan

    def _build(
        self, arguments: Sequence[str], files: Mapping[str, str | bytes], folder: Path, limits: Limits
    ) -> SandboxResult:
        """Compile and link into ``folder``: in a warm sandbox, if the executable can be read out."""
        result = self._run([*arguments, "-o", EXECUTABLE], files, limits)
        made = _made(result)
        # What cannot be read out of a warm sandbox is written by a cold one into the folder itself.
        if result.ok and made is None:  # a very large one
            return self._run([*arguments, "-o", f"{OUT}/{EXECUTABLE}"], files, limits, folder)
        if made is not None:
            write_program(folder, made)
        return result.model_copy(update={"files": ()})

    def _run(
        self, arguments: Sequence[str], files: Mapping[str, str | bytes], limits: Limits, folder: Path | None = None
    ) -> SandboxResult:
        """Run the compiler: it writes into ``folder``, or else its executable is read out of a warm sandbox."""
        root = self.headers.root
        return self.sandbox.run(
            Invocation(
                [COMPILER, *arguments],
                files=files,
                read_only={_PRECOMPILED: str(root)} if root.is_dir() else None,
                writable={OUT: folder} if folder is not None else None,
                environment={"LC_ALL": "C"},
                limits=compile_limits(limits),
                warm=WarmSettings() if folder is None else None,
                tree=_READ_OUT if folder is None else None,
            )
        )

    def _flags(self, request: ExecutionRequest) -> CompilerFlags:
        bundle = self.bundle(request)
        # ONLINE_JUDGE is a flag: a line before a byte order mark does not compile (control_completion_006171 of SAFIM).
        usual_flags: CompilerFlags = DEFAULT_FLAGS if request.rules.sentinel else PAPER_FLAGS
        flags = CONTEST_FLAGS if request.variant == CONTEST else usual_flags
        return (*flags, *(bundle.compile_flags if bundle is not None else ()))

    @property
    def headers(self) -> PrecompiledHeaderStore:
        """Precompiled headers for this toolchain; shared by all runtimes of this process."""
        root, mark = cache_folder() / TOOLS / "cpp-headers", self.toolchain().fingerprint
        with CppRuntime._lock:
            if (root, mark) not in CppRuntime._headers:
                CppRuntime._headers[root, mark] = PrecompiledHeaderStore(root, mark)
            return CppRuntime._headers[root, mark]

    def _precompile(self, text: str, flags: CompilerFlags, folder: Path) -> bool:
        files = {HEADER: text, _ASSERTIONS: harness_file(self.language, "assert.h")}
        arguments = [*flags, "-pthread", "-x", "c++-header", HEADER, "-o", f"{OUT}/{PRECOMPILED}"]
        return self._run(arguments, files, Limits(), folder).ok

    def _sentinel_object(self) -> bytes:
        """Return the compiled sentinel: built once per process, passed to every link."""
        with CppRuntime._lock:
            if CppRuntime._sentinel is None:
                files = {"sentinel.cpp": harness_file(self.language, "sentinel.cpp")}
                result = self._run(("-O1", "-c", "sentinel.cpp", "-o", EXECUTABLE), files, Limits())
                made = _made(result)
                if made is None:
                    cause = result.error or result.stderr.text or "it could not be read out of the sandbox"
                    raise RuntimeError(f"the C++ sentinel does not compile: {cause}")
                CppRuntime._sentinel = made
            return CppRuntime._sentinel


def _made(result: SandboxResult) -> bytes | None:
    """Return the file that a compiler made, if it was read out."""
    return next((file.data for file in result.files if result.ok and not file.problem), None)


def _of_headers(result: SandboxResult) -> bool:
    """Return whether a failed compiler's messages may differ without precompiled headers."""
    words = result.stderr
    return words.truncated or not words.text.strip() or any(sign in words.text for sign in _SIGNS_OF_HEADERS)


def _compiled(result: SandboxResult, folder: Path) -> CompileResult:
    if result.ok:
        return compile_result(result, folder, None)
    return compile_result(result, None, missing_module(result.stderr.text))
