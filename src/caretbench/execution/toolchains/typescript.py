"""TypeScript runtime: servers that check types and share parsed libraries, then a fresh Node.js per program.

The released runner fails a program on any diagnostic of ``tsc``, so a type error is a failure of its own kind
(``type_error``). Its JavaScript is there all the same: under ``default`` it is run too, and the result holds both
verdicts, the type check's (``type_check``) and the run's (``run_status``), so that a metric may choose; ``paper`` stops
at the type check. Where modules are all that is missing, ``default`` returns ``unresolved_import``; ``paper`` runs the
program all the same, as the released runner does after its last try.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from caretbench.execution.bundles.bundle_model import INSIDE, Bundle, bundle_specs
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    RunPlan,
    Status,
    Toolchain,
)
from caretbench.execution.toolchains.base_runtime import (
    InterpretedRuntime,
    fingerprint,
    harness_file,
    read_artefact,
    shorten_diagnostics,
)
from caretbench.execution.toolchains.compile_server import (
    CPU_PER_PROGRAM_S,
    CompilerSettings,
    ServerAnswer,
    ServerCompiledRuntime,
    servers_mb,
)

COMPILER_BUNDLE = "tools/typescript"
"""The compiler alone, for programs without a suite's bundle."""
NATIVE_BUNDLE = "tools/typescript-native"
"""The native compiler, which checks types under ``default`` where it is built. With TypeScript 5.9's emission that is
45 ms of CPU a program, by 5.9 alone 78; each of 1,111 distinct programs of DevBench has the same verdict by both."""

_COMPILER = "typescript_compile.cjs"
_OBJECTIONS = "objections.json"
"""File of the type checker's messages, next to the JavaScript of a program that it rejects."""
_LINES = "lines.json"
"""First and last source line of every line of the JavaScript."""
_TOOLS = "/caretbench/typescript"
_NATIVE = "/caretbench/typescript-native"
_NATIVE_SETTINGS = {"GOGC": "off", "GOMEMLIMIT": "800MiB", "GOMAXPROCS": "1"}
"""Of 370 programs: 10.9 s of CPU, and 17.3 with Go's own settings; without a limit it took 2.6 GB."""
_COMPILER_HEAP_MB = 1150
"""Bound of V8's heap, which collects garbage as it comes near: the syntax trees of all libraries that DevBench's 300
references import stay at 800 MB. A collection of our own after each program was 8 of 42 s of CPU, and freed nothing."""
_YOUNG_MB = 32
_COMPILER_FLAGS = (f"--max-old-space-size={_COMPILER_HEAP_MB}", f"--max-semi-space-size={_YOUNG_MB}")
_COMPILER_MB = 1400.0
"""Such a server takes 1,200 MB; replaced at 1,000, the next one reads the libraries again, 11 s of CPU for all."""

_STATUS = {"ok": None, "module": Status.UNRESOLVED_IMPORT, "type": Status.TYPE_ERROR, "timeout": Status.TIMEOUT}


def server_count() -> int:
    """Return the number of compile servers: as many as processors, and as fit into the servers' memory.

    With one server for two processors, these were idle for 40 % of a run.
    """
    return max(1, min(os.cpu_count() or 1, int(servers_mb() // _COMPILER_MB)))


class TypeScriptRuntime(ServerCompiledRuntime, InterpretedRuntime):
    """TypeScript runtime with the compiler of the request's bundle, or of ``tools/typescript``, on Node.js."""

    language = "typescript"
    # One for all runtimes of the process: the memory that servers share is the machine's.
    _checking = threading.BoundedSemaphore(server_count())

    def find_toolchain(self) -> Toolchain:
        """Return Node.js, and a TypeScript compiler in any built bundle."""
        node = super().find_toolchain()
        if not node.available:
            return node
        names = [name for name, spec in bundle_specs().items() if spec.language == self.language]
        bundles = [bundle for name in names if (bundle := self._bundles(name)) and find_typescript(bundle.root)]
        if not bundles:
            remedy = f"caretbench deps build {COMPILER_BUNDLE}"
            return Toolchain(language=self.language, available=False, remedy=remedy)
        # Which bundle serves a program is in the cache key by the program's bundle; the fallback only is not.
        fallback = next((bundle.lock_hash for bundle in bundles if bundle.name == COMPILER_BUNDLE), "")
        native = self._bundles(NATIVE_BUNDLE)
        texts = [harness_file(self.language, _COMPILER), native.lock_hash if native else ""]
        return Toolchain(
            language=self.language,
            available=True,
            version=f"{_versions([*bundles, *filter(None, [native])])}, {node.version}",
            fingerprint=fingerprint(
                node.fingerprint, fallback, *texts, flags=_COMPILER_FLAGS, environment=_NATIVE_SETTINGS
            ),
        )

    def compiler_for(self, request: ExecutionRequest) -> CompilerSettings:
        """Return the compile server with the compiler of a request's bundle, or of the compiler's own."""
        bundle = self.bundle(request)
        tools = None if bundle is not None and find_typescript(bundle.root) else self._tools()
        read_only = {**(bundle.read_only if bundle else {}), **({_TOOLS: str(tools.root)} if tools else {})}
        typescript = f"{_TOOLS if tools else INSIDE}/node_modules/typescript"
        modules = INSIDE if bundle is not None else _TOOLS
        begin = (self.interpreter.command, *_COMPILER_FLAGS, "-e", harness_file(self.language, _COMPILER), "--")
        settings = [typescript, modules, str(CPU_PER_PROGRAM_S)]
        native = None if request.rules.released_build else self._bundles(NATIVE_BUNDLE)
        if native is not None:
            read_only[_NATIVE] = str(native.root)
            settings.append(f"{_NATIVE}/node_modules/typescript")
        return CompilerSettings(
            arguments=(*begin, *settings),
            classify_answer=_verdict,
            read_only=read_only,
            environment=_NATIVE_SETTINGS if native else {},
            max_memory_mb=_COMPILER_MB,
        )

    def _tools(self) -> Bundle:
        tools = self._bundles(COMPILER_BUNDLE)
        if tools is None:
            raise FileNotFoundError(f"no TypeScript compiler: caretbench deps build {COMPILER_BUNDLE}")
        return tools

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """Check programs one by one, none seeing another, and write their JavaScript."""
        with self._checking:
            return super().compile(requests, artefacts)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return the plan for the compiled JavaScript, as for any JavaScript program."""
        javascript = read_artefact(artefact / "program.js")
        # Under `paper` exit status 0 decides, so that nothing asks where an exit took place.
        lines = _lines_in_javascript(request.answer_lines, artefact) if request.sentinel else None
        update = {"source": javascript, "answer_lines": lines}
        return super().plan(request.model_copy(update=update), artefact)

    def merge_compile_result(self, artefact: Path, result: ExecutionResult) -> ExecutionResult:
        """Return the run's result with the type checker's verdict, which decides unless modules are missing."""
        # The program has not run, so that there is nothing to which the type check could be added.
        if result.status is Status.SANDBOX_ERROR:
            return result
        if not (artefact / _OBJECTIONS).exists():
            return result.model_copy(update={"type_check": "passed"})
        said = json.loads(read_artefact(artefact / _OBJECTIONS))
        diagnostics = shorten_diagnostics(str(said["diagnostics"]))
        if said["kind"] != "type":
            return result.model_copy(update={"diagnostics": diagnostics})
        return result.model_copy(
            update={
                "status": Status.TYPE_ERROR,
                "stage": "compile",
                "type_check": "failed",
                "run_status": result.status,
                "diagnostics": diagnostics,
            }
        )


def _lines_in_javascript(lines: tuple[int, int] | None, artefact: Path) -> tuple[int, int] | None:
    """Return the lines of the compiled program that contain the compiled answer.

    Those before them were made of nothing behind the answer's beginning, those behind of nothing before its end.
    """
    if lines is None:
        return None
    first, last = lines
    origins = json.loads(read_artefact(artefact / _LINES))
    made = [(number, *origin) for number, origin in enumerate(origins, 1) if origin]
    ends = max((number for number, begin, _ in made if begin <= last), default=0)
    begins = min((number for number, _, end in made if end >= first), default=ends)
    return (min(begins, ends), ends) if ends else None


def _verdict(answer: ServerAnswer, request: ExecutionRequest) -> Status | None:
    runs_all_the_same = "module" if request.rules.released_build else "type"
    if answer.kind == runs_all_the_same:
        return None
    return _STATUS.get(answer.kind, Status.COMPILE_ERROR)


def _versions(bundles: Sequence[Bundle]) -> str:
    packages = (bundle.root / "node_modules" / "typescript" / "package.json" for bundle in bundles)
    versions = {str(json.loads(package.read_text("utf-8"))["version"]) for package in packages}
    return f"TypeScript {' and '.join(sorted(versions))}"


def find_typescript(root: Path) -> Path | None:
    """Return the compiler's package in a bundle's folder, or None."""
    package = root / "node_modules" / "typescript"
    return package if (package / "lib" / "typescript.js").is_file() else None
