"""Execution of one program: compiled if its language needs it, run, classified, and retried after sandbox errors.

Everything here waits on subprocesses and is called from worker threads; the engine decides what runs when.
"""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from caretbench.execution.bundles import Bundle
from caretbench.execution.cache.cache_folders import unusable_cache
from caretbench.execution.cache.cache_keys import program_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.classification import classify, limit_fields, missing_module
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    LanguageRuntime,
    RunPlan,
    Status,
    Toolchain,
    run_fields,
)
from caretbench.execution.sandbox.host.program_users import NoProgramUsers
from caretbench.execution.sandbox.isolation_levels import IsolationLevel
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, display_server
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains import load_runtime
from caretbench.execution.toolchains.base_runtime import BundleLookup

SANDBOX_ATTEMPTS = 3
"""Maximum number of starts of a program when the sandbox, not the program, fails."""

ANSWER_LINES = "CARETBENCH_ANSWER_LINES"
"""Environment variable with the answer's lines: an exit with status 0 after them counts as the program's end."""


class ProgramRunner:
    """Runner of requests in one sandbox, with one runtime per language. Threads may share it."""

    def __init__(self, sandbox: Sandbox, cache: ResultCache, bundles: BundleLookup) -> None:
        self.sandbox = sandbox
        self.sandbox.set_artefact_folder(cache.artefacts)
        self._cache = cache
        self._bundles = bundles
        self._found: dict[str, Bundle | None] = {}
        self._runtimes: dict[str, LanguageRuntime] = {}
        self._toolchains: dict[str, Toolchain] = {}
        self._lock = threading.Lock()

    def runtime(self, language: str) -> LanguageRuntime:
        """Return the language's runtime, created on first use."""
        with self._lock:
            if language not in self._runtimes:
                self._runtimes[language] = load_runtime(language, self.sandbox, self._bundles)
            return self._runtimes[language]

    def toolchain(self, language: str) -> Toolchain:
        """Return the language's tools, cached."""
        if language not in self._toolchains:
            found = self.runtime(language).toolchain()
            if self.sandbox.level != "namespaces" and found.available:
                # What a program can do differs: its verdict is no other level's, nor another machine's.
                found = found.model_copy(update={"fingerprint": f"{found.fingerprint}-{self.sandbox.level}"})
            self._toolchains[language] = found
        return self._toolchains[language]

    def expect(self, request: ExecutionRequest) -> bool:
        """Tell the language's runtime of a request; return whether the first compiler should wait for others."""
        return self.runtime(request.language).expect(request)

    def compile_batch_size(self, language: str) -> int:
        """Return the number of programs per compiler process; 0 if there is nothing to compile."""
        return self.runtime(language).compile_batch_size

    def lock_hash(self, name: str | None) -> str:
        """Return the hash of a bundle's content; empty if there is none, or it is not built."""
        if name is None:
            return ""
        with self._lock:
            if name not in self._found:
                self._found[name] = self._bundles(name)
            bundle = self._found[name]
        return bundle.lock_hash if bundle is not None else ""

    def skip_reason(self, request: ExecutionRequest) -> str | None:
        """Return the reason why this machine cannot run the request, with a remedy; None if it can."""
        if request.language not in toolchain_tables():
            return f"programs in {request.language} are not run; known: {', '.join(toolchain_tables())}"
        toolchain = self.toolchain(request.language)
        if not toolchain.available:
            return f"no toolchain for {request.language}: {toolchain.remedy}"
        return unmet_need(request.needs, self.sandbox.level)

    def compile(self, requests: Sequence[ExecutionRequest]) -> list[CompileResult]:
        """Compile one batch, using the cache. Results are in order."""
        keys = [
            program_key(
                request, toolchain=self.toolchain(request.language).fingerprint, bundle=self.lock_hash(request.bundle)
            )
            for request in requests
        ]
        results: dict[int, CompileResult] = {}
        for position, key in enumerate(keys):
            folder = self._cache.artefact(key)
            if folder is not None:
                results[position] = CompileResult(artefact=folder)
        waiting = [position for position in range(len(requests)) if position not in results]
        for _ in range(SANDBOX_ATTEMPTS):
            if not waiting or self.sandbox.interrupted:
                break
            results |= self._build({position: (requests[position], keys[position]) for position in waiting})
            waiting = [place for place in waiting if results[place].status is Status.SANDBOX_ERROR]
        return [results[position] for position in range(len(requests))]

    def _build(self, requests_and_keys: Mapping[int, tuple[ExecutionRequest, str]]) -> dict[int, CompileResult]:
        positions = list(requests_and_keys)
        requests = [requests_and_keys[position][0] for position in positions]
        with self._cache.artefact_staging_folder() as folder:
            folders = [folder / str(position) for position in positions]
            for place in folders:
                place.mkdir(mode=0o755)
            try:
                built = self.runtime(requests[0].language).compile(requests, folders)
            except (OSError, NoProgramUsers) as error:
                fault = CompileResult(artefact=None, status=Status.SANDBOX_ERROR, diagnostics=str(error))
                built = [fault] * len(requests)
            if any(result.status is not None for result in built) and self._cache.is_disk_full():
                # The message of a compiler without disk space is no verdict.
                raise unusable_cache(folder.parent, OSError(errno.ENOSPC, "the disk is full"))
            results: dict[int, CompileResult] = {}
            for position, result in zip(positions, built, strict=True):
                kept = None
                if result.artefact is not None and result.status is None:
                    kept = self._cache.store_artefact(requests_and_keys[position][1], result.artefact)
                elif result.artefact is not None:
                    shutil.rmtree(result.artefact, ignore_errors=True)
                results[position] = result.model_copy(update={"artefact": kept})
        return results

    def compile_failure(self, request: ExecutionRequest, compiled: CompileResult) -> ExecutionResult:
        """Return the result of a program that does not run, because it did not compile."""
        status = compiled.status or Status.COMPILE_ERROR
        return ExecutionResult(
            id=request.id,
            status=status,
            stage="compile",
            diagnostics=compiled.diagnostics,
            missing_module=compiled.missing_module,
            type_check="failed" if status is Status.TYPE_ERROR else None,
            compile_s=compiled.compile_s,
            toolchain=self.toolchain(request.language).version,
            reason=compiled.diagnostics if status.is_machine_fault else self._missing_bundle(request, status),
        )

    def run(self, request: ExecutionRequest, compiled: CompileResult, attempt: int = 1) -> ExecutionResult:
        """Run a program in a fresh sandbox, up to three times where the sandbox fails."""
        result = self._run_once(request, compiled, attempt)
        for _ in range(SANDBOX_ATTEMPTS - 1):
            if result.status is not Status.SANDBOX_ERROR or self.sandbox.interrupted:
                break
            attempt += 1
            result = self._run_once(request, compiled, attempt)
        return result

    def _run_once(self, request: ExecutionRequest, compiled: CompileResult, attempt: int) -> ExecutionResult:
        language = self.runtime(request.language)
        try:
            plan = language.plan(request, compiled.artefact or Path())
            if _size(plan.files) > request.limits.tmp_mb << 20:
                # A few lines of TypeScript can become many megabytes; that no sandbox holds them is not our fault.
                return ExecutionResult(
                    id=request.id,
                    status=Status.COMPILE_ERROR,
                    stage="compile",
                    reason=f"as a program to run it takes more than {request.limits.tmp_mb} MB",
                    toolchain=self.toolchain(request.language).version,
                )
            ran, status, reason = self._start(request, plan)
            if status is Status.OUT_OF_MEMORY and plan.bounded_argv:
                bounded = plan.model_copy(update={"argv": plan.bounded_argv, "bounded_argv": ()})
                ran, status, reason = self._start(request, bounded)
        except (OSError, NoProgramUsers) as error:
            reason = f"no process: {error}"
            return ExecutionResult(id=request.id, status=Status.SANDBOX_ERROR, attempt=attempt, reason=reason)
        missing = missing_module(ran.stderr.text) if status is Status.UNRESOLVED_IMPORT else None
        result = ExecutionResult(
            id=request.id,
            status=status,
            stage="run" if status is not Status.SANDBOX_ERROR else "none",
            sentinel=ran.sentinel,
            diagnostics=compiled.diagnostics,
            missing_module=missing,
            compile_s=compiled.compile_s,
            run_s=ran.wall_s,
            toolchain=self.toolchain(request.language).version,
            attempt=attempt,
            reason=reason or self._missing_bundle(request, status),
            waits=status is Status.INCOMPLETE and ran.waits,
            **limit_fields(ran, request.limits, request.run_limits),
            **run_fields(ran),
        )
        return language.merge_compile_result(compiled.artefact or Path(), result)

    def _start(self, request: ExecutionRequest, plan: RunPlan) -> tuple[SandboxResult, Status, str]:
        language = self.runtime(request.language)
        sentinel = request.rules.sentinel
        environment = dict(plan.environment)
        if sentinel and plan.answer_lines:
            environment[ANSWER_LINES] = ":".join(map(str, plan.answer_lines))
        ran = self.sandbox.run(
            Invocation(
                plan.argv,
                files=plan.files,
                read_only=plan.read_only,
                environment=environment,
                address_space_limit=plan.address_space_limit,
                limits=request.run_limits,
                sentinel=sentinel,
                display="display" in request.needs,
                warm=plan.warm,
            )
        )
        text = language.strip_harness_frames(ran.stderr.text)
        ran = ran.model_copy(update={"stderr": ran.stderr.model_copy(update={"text": text})})
        status, reason = classify(
            ran,
            sentinel=sentinel,
            limits=request.run_limits,
            failure_status=lambda stderr, code: language.classify_failure(code, stderr, ran.stdout.text),
        )
        return ran, status, reason

    def _missing_bundle(self, request: ExecutionRequest, status: Status) -> str:
        if status is not Status.UNRESOLVED_IMPORT or request.bundle is None or self.lock_hash(request.bundle):
            return ""
        return f"the bundle {request.bundle} is not built: caretbench deps build {request.bundle}"


def _size(files: Mapping[str, str]) -> int:
    """Return bytes that files take in memory, in whole pages; a margin for folders."""
    return 65_536 + sum(len(text.encode("utf-8", "surrogatepass")) + 4096 for text in files.values())


def unmet_need(needs: Iterable[str], level: IsolationLevel) -> str | None:
    """Return the reason why a need of a program is not met at this isolation level; None if all are met."""
    for need in needs:
        if need != "display":
            return f"the program needs {need!r}, which no sandbox gives"
        if level != "namespaces":
            return f"the program needs a display, which the {level} level does not give: see caretbench doctor"
        if display_server() is None:
            return "the program needs a display: apt-get install xvfb"
    return None
