"""Engine that runs programs on this machine, in many sandboxes at a time.

Synchronous by design: the caller's thread feeds worker threads and yields results. :class:`ProgramRunner` compiles,
runs and classifies one program on such a thread, and starts it again after sandbox errors; the engine decides what
runs when.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.cache_folders import unusable_cache
from caretbench.execution.cache.cache_keys import program_key, verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.classification import classify, delayed_by_load, limit_fields, missing_module
from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    Isolation,
    Limits,
    RunPlan,
    Status,
    TestTally,
    Toolchain,
    run_fields,
)
from caretbench.execution.local_jobs import LocalJobRunner, LocalRequestKind
from caretbench.execution.sandbox.host.program_users import NoProgramUsers
from caretbench.execution.sandbox.isolation_levels import IsolationLevel
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, display_server
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.scan.program_text import MAX_BRACKET_DEPTH, exceeds_bracket_depth
from caretbench.execution.submission import CachedExecutor, Job, Submission
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains import load_runtime
from caretbench.execution.toolchains.base_runtime import BaseRuntime, BundleLookup
from caretbench.execution.workspaces.command_results import output_difference
from caretbench.problem import ExpectedOutput, ProgramCase

# After three lost sandboxes the result is a sandbox_error, which is not counted: the next run tries again.
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
        self._bundles = functools.cache(bundles)
        self._runtimes: dict[str, BaseRuntime] = {}
        self._toolchains: dict[str, Toolchain] = {}
        self._lock = threading.Lock()

    def runtime(self, language: str) -> BaseRuntime:
        """Return the language's runtime, created on first use."""
        with self._lock:
            if language not in self._runtimes:
                self._runtimes[language] = load_runtime(language, self.sandbox, self._bundles)
            return self._runtimes[language]

    def toolchain(self, language: str) -> Toolchain:
        """Return the language's tools, cached."""
        if language not in self._toolchains:
            toolchain = self.runtime(language).toolchain()
            if self.sandbox.level != "namespaces" and toolchain.available:
                # What a program can do differs: its verdict is no other level's, nor another machine's.
                toolchain = toolchain.model_copy(
                    update={"fingerprint": f"{toolchain.fingerprint}-{self.sandbox.level}"}
                )
            self._toolchains[language] = toolchain
        return self._toolchains[language]

    def expect(self, request: ExecutionRequest) -> bool:
        """Tell the language's runtime of a request; return whether the first compiler should wait for others."""
        return self.runtime(request.language).expect(request)

    def compile_batch_size(self, language: str) -> int:
        """Return the number of programs per compiler process; 0 if there is nothing to compile."""
        return self.runtime(language).compile_batch_size

    def lock_hash(self, name: str | None) -> str:
        """Return the hash of a bundle's content; empty if there is none, or it is not built."""
        bundle = self._bundles(name) if name is not None else None
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
        unbuilt = CompileResult(artefact=None, status=Status.SANDBOX_ERROR, diagnostics="interrupted")
        folders = map(self._cache.artefact, keys)
        results = [unbuilt if folder is None else CompileResult(artefact=folder) for folder in folders]
        for _ in range(SANDBOX_ATTEMPTS):
            waiting = [position for position, result in enumerate(results) if result.status is Status.SANDBOX_ERROR]
            if not waiting or self.sandbox.interrupted:
                break
            built = self._build([requests[position] for position in waiting], [keys[position] for position in waiting])
            for position, result in zip(waiting, built, strict=True):
                results[position] = result
        return results

    def _build(self, requests: Sequence[ExecutionRequest], keys: Sequence[str]) -> list[CompileResult]:
        with self._cache.artefact_staging_folder() as folder:
            folders = [folder / str(number) for number in range(len(requests))]
            for program_folder in folders:
                program_folder.mkdir(mode=0o755)
            try:
                built = self.runtime(requests[0].language).compile(requests, folders)
            except (OSError, NoProgramUsers) as error:
                fault = CompileResult(artefact=None, status=Status.SANDBOX_ERROR, diagnostics=str(error))
                built = [fault] * len(requests)
            if any(result.status is not None for result in built) and self._cache.is_disk_full():
                # The message of a compiler without disk space is no verdict.
                raise unusable_cache(folder.parent, OSError(errno.ENOSPC, "the disk is full"))
            return [self._stored(key, result) for key, result in zip(keys, built, strict=True)]

    def _stored(self, key: str, result: CompileResult) -> CompileResult:
        """Return the result of a compiler with the program's folder in the cache."""
        kept = None
        if result.artefact is not None and result.status is None:
            kept = self._cache.store_artefact(key, result.artefact)
        elif result.artefact is not None:
            # A compiler that failed may have left files that nothing runs.
            shutil.rmtree(result.artefact, ignore_errors=True)
        return result.model_copy(update={"artefact": kept})

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
            ran, status, reason, tally = self._start_cases(request, plan)
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
            tests=tally,
            **limit_fields(ran, request.limits, request.run_limits),
            **run_fields(ran),
        )
        return language.merge_compile_result(compiled.artefact or Path(), result)

    def _start_cases(
        self, request: ExecutionRequest, plan: RunPlan
    ) -> tuple[SandboxResult, Status, str, TestTally | None]:
        """Run a program once, or once for each case up to the first that fails.

        CPU seconds and memory are those of the case that took most: limits are for one case.
        """
        if not request.cases:
            return *self._start_within_memory(request, plan, None), None
        most = SandboxResult()
        for number, case in enumerate(request.cases):
            ran, status, reason = self._start_within_memory(request, plan, case.stdin.encode())
            if status is Status.PASSED and (fault := _output_fault(request, case, ran)):
                status, reason = Status.FAILED, f"case {number + 1} of {len(request.cases)}: {fault}"
            used = {
                "cpu_s": max(most.cpu_s, ran.cpu_s),
                "memory_mb": max(most.memory_mb, ran.memory_mb),
                "wall_s": most.wall_s + ran.wall_s,
            }
            if status is not Status.PASSED:
                tally = TestTally(passed=number, failed=1, failing=(f"case {number + 1}",))
                # A limit is told by the CPU seconds of the run that met it.
                kept = used if status is Status.FAILED else {"wall_s": used["wall_s"]}
                return ran.model_copy(update=kept), status, reason, tally
            most = ran.model_copy(update=used)
        return most, Status.PASSED, "", TestTally(passed=len(request.cases))

    def _start_within_memory(
        self, request: ExecutionRequest, plan: RunPlan, stdin: bytes | None
    ) -> tuple[SandboxResult, Status, str]:
        started = self._start(request, plan, stdin)
        # Any flag of V8 makes Node.js compile its own modules again, 8 ms of CPU a program: only what ran out of
        # memory gets one.
        if started[1] is Status.OUT_OF_MEMORY and plan.bounded_argv:
            bounded = plan.model_copy(update={"argv": plan.bounded_argv, "bounded_argv": ()})
            return self._start(request, bounded, stdin)
        return started

    def _start(
        self, request: ExecutionRequest, plan: RunPlan, stdin: bytes | None
    ) -> tuple[SandboxResult, Status, str]:
        language = self.runtime(request.language)
        sentinel = request.sentinel
        environment = dict(plan.environment)
        # With the job: as a part of the worker's key these lines gave nearly each Python program one of its own, 102 s
        # for DevBench's sample in place of 29.
        if sentinel and plan.answer_lines:
            environment[ANSWER_LINES] = ":".join(map(str, plan.answer_lines))
        ran = self.sandbox.run(
            Invocation(
                plan.argv,
                files=plan.files,
                read_only=plan.read_only,
                environment=environment,
                address_space_limit=plan.address_space_limit,
                stack_mb=plan.stack_mb,
                limits=_with_room_for_output(request),
                sentinel=sentinel,
                stdin=stdin,
                display="display" in request.needs,
                warm=plan.warm,
                watched=request.watched,
            )
        )
        # Before the status is chosen: patterns of failures must not match a line of the harness's own.
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


def _with_room_for_output(request: ExecutionRequest) -> Limits:
    """Return the limits of a run, with twice the output that its cases accept."""
    expected = max((len(output.encode()) for case in request.cases for output in case.outputs), default=0)
    room = 1 + 2 * expected // 1024
    limits = request.run_limits
    return limits if room <= limits.output_kb else limits.model_copy(update={"output_kb": room})


def _output_fault(request: ExecutionRequest, case: ProgramCase, ran: SandboxResult) -> str:
    """Return how a program's output differs from all accepted ones; empty if it is one of them."""
    if ran.stdout.truncated:
        return f"it printed {ran.stdout.bytes_total:,} bytes"
    faults = [
        output_difference(ExpectedOutput(text=output, comparison=request.comparison), ran.stdout.text)
        for output in case.outputs
    ]
    return "" if "" in faults else faults[0]


def _size(files: Mapping[str, str]) -> int:
    """Return bytes that files take in memory, in whole pages; a margin for folders."""
    # A file in memory takes whole pages of 4,096 bytes: a thousand small ones are 4 MB.
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


# Requests are held beyond the workers, so that compilers get full batches, and C++ counts the headers of many programs
# before it compiles the first.
_WINDOW_PER_WORKER = 16
_MAX_PROGRAM_BYTES = 4_000_000
"""Bytes. A longer text fails as the program's own fault: no sandbox could hold it, nor a compiler with others."""
_NOTHING = CompileResult(artefact=None)


class LocalExecutor(CachedExecutor[ExecutionRequest, ExecutionResult]):
    """Executor of programs on this machine. Identical programs run once; known verdicts come from the cache.

    Args:
        workers: Programs in flight; eight times the processors by default, since many programs do nothing but wait
            (for a port, a timer, a network that is not there). Compilers never wait: one a processor.
        cache, use_cache: As for :class:`~caretbench.execution.submission.CachedExecutor`.
        bundles: From a bundle's name to the built bundle.
        sandbox: The sandbox.
        compilers: Compilers at a time; one a processor by default.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        bundles: BundleLookup = installed_bundle,
        sandbox: Sandbox | None = None,
        compilers: int | None = None,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self._workers = max(1, workers or 8 * (os.cpu_count() or 1))
        self._bundles = bundles
        self._sandbox = sandbox or Sandbox()
        self._compilers = min(self._workers, compilers or os.cpu_count() or 1)

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self._sandbox.probe()

    def _submission(self, cache: ResultCache) -> Submission[ExecutionRequest, ExecutionResult]:
        self._sandbox.probe()
        runner = ProgramRunner(self._sandbox, cache, self._bundles)
        return local_submission(runner, cache, self._workers, self._compilers)


def local_submission(
    runner: ProgramRunner, cache: ResultCache, workers: int, compilers: int
) -> Submission[ExecutionRequest, ExecutionResult]:
    """Return a submission of programs to this machine."""
    programs = _Programs(runner, cache)
    window = workers * _WINDOW_PER_WORKER
    runs = LocalJobRunner(programs, runner.sandbox, workers=workers, compilers=compilers, window=window)
    return Submission(programs, runs)


class _Programs(LocalRequestKind[ExecutionRequest, ExecutionResult]):
    """Programs as a kind of request, and as work on this machine."""

    result_type = ExecutionResult

    def __init__(self, runner: ProgramRunner, cache: ResultCache) -> None:
        super().__init__(cache)
        self._runner = runner
        self._compiled: dict[str, CompileResult] = {}

    def rejection(self, request: ExecutionRequest) -> ExecutionResult | None:
        obstacle = self._runner.skip_reason(request)
        if obstacle is not None:
            return ExecutionResult(id=request.id, status=Status.SKIPPED, reason=obstacle)
        # A model may answer with half of a surrogate pair, which plain UTF-8 refuses.
        if len(request.source.encode("utf-8", "surrogatepass")) > _MAX_PROGRAM_BYTES:
            reason = f"its text is longer than {_MAX_PROGRAM_BYTES} bytes"
            return ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, reason=reason)
        if exceeds_bracket_depth(request.source, request.language):
            reason = f"its brackets nest deeper than {MAX_BRACKET_DEPTH}"
            return ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, stage="compile", reason=reason)
        return None

    def key(self, request: ExecutionRequest) -> str:
        toolchain = self._runner.toolchain(request.language).fingerprint
        return verdict_key(request, toolchain=toolchain, bundle=self._runner.lock_hash(request.bundle))

    def store_result(self, job: Job[ExecutionRequest], result: ExecutionResult) -> None:
        self._compiled.pop(job.key, None)
        super().store_result(job, result)

    def is_reusable(self, result: ExecutionResult) -> bool:
        # After a fault of the sandbox the next copy is tried again.
        return result.status is not Status.SANDBOX_ERROR

    def batch(self, request: ExecutionRequest) -> tuple[int, Hashable]:
        group = (request.language, request.profile, request.variant, request.bundle)
        return self._runner.compile_batch_size(request.language), group

    def expect(self, request: ExecutionRequest) -> bool:
        return self._runner.expect(request)

    def compile(self, jobs: Sequence[Job[ExecutionRequest]]) -> Sequence[ExecutionResult | None]:
        with ledger.during("compilers"):
            compiled = self._runner.compile([job.request for job in jobs])
        self._compiled |= {job.key: result for job, result in zip(jobs, compiled, strict=True)}
        return [
            self._runner.compile_failure(job.request, result) if result.artefact is None else None
            for job, result in zip(jobs, compiled, strict=True)
        ]

    def run(self, job: Job[ExecutionRequest], attempt: int) -> ExecutionResult:
        """Run a program; compile it again first if the machine's load delayed its compiler."""
        if attempt > 1 and self._wall_timeout(job):
            failed = self.compile([job])[0]
            if failed is not None:
                return failed.model_copy(update={"attempt": attempt})
        return self._runner.run(job.request, self._compiled.get(job.key, _NOTHING), attempt)

    def _wall_timeout(self, job: Job[ExecutionRequest]) -> bool:
        return self._compiled.get(job.key, _NOTHING).wall_timeout

    def confirms_limit(self, job: Job[ExecutionRequest], result: ExecutionResult) -> bool:
        """Return whether a result that the bound of the reference's CPU time ended is confirmed by a run alone."""
        return job.request.confirms_cpu_limit and super().confirms_limit(job, result)

    def needs_rerun(self, job: Job[ExecutionRequest], result: ExecutionResult) -> bool:
        """Return whether the machine's load or a shared limit may have changed the result."""
        late = delayed_by_load(result.run_outcome, result.reason, result.signal, result.cpu_s)
        return (result.was_run and (late or self.lacked_shared_limit(result))) or self._wall_timeout(job)
