"""Engine that runs programs on this machine, in many sandboxes at a time.

Synchronous by design: the caller's thread feeds worker threads and yields results.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence

from caretbench.execution.bundles import installed_bundle
from caretbench.execution.cache.cache_keys import verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.classification import delayed_by_load, hit_shared_limit
from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, ExecutionResult, Isolation, Status
from caretbench.execution.local_jobs import LocalJobRunner, LocalRequestKind
from caretbench.execution.program_runner import ProgramRunner
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.scan.bracket_nesting import DEEPEST, exceeds_bracket_depth
from caretbench.execution.submission import CachedExecutor, Job, Submission
from caretbench.execution.toolchains.base_runtime import BundleLookup

_WINDOW_PER_WORKER = 16
_LONGEST_PROGRAM = 4_000_000
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
        if len(request.source.encode("utf-8", "surrogatepass")) > _LONGEST_PROGRAM:
            reason = f"its text is longer than {_LONGEST_PROGRAM} bytes"
            return ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, reason=reason)
        if exceeds_bracket_depth(request.source, request.language):
            reason = f"its brackets nest deeper than {DEEPEST}"
            return ExecutionResult(id=request.id, status=Status.COMPILE_ERROR, stage="compile", reason=reason)
        return None

    def key(self, request: ExecutionRequest) -> str:
        toolchain = self._runner.toolchain(request.language).fingerprint
        return verdict_key(request, toolchain=toolchain, bundle=self._runner.lock_hash(request.bundle))

    def store_result(self, job: Job[ExecutionRequest], result: ExecutionResult) -> None:
        self._compiled.pop(job.key, None)
        super().store_result(job, result)

    def is_reusable(self, result: ExecutionResult) -> bool:
        return result.status is not Status.SANDBOX_ERROR  # the next one is tried again

    def batch(self, request: ExecutionRequest) -> tuple[int, Hashable]:
        group = (request.language, request.profile, request.variant, request.bundle)
        return self._runner.compile_batch_size(request.language), group

    def expect(self, request: ExecutionRequest) -> bool:
        return self._runner.expect(request)

    def compile(self, jobs: Sequence[Job[ExecutionRequest]]) -> Sequence[ExecutionResult | None]:
        with ledger.during("compilers"):
            compiled = self._runner.compile([job.request for job in jobs])
        self._compiled |= {job.key: one for job, one in zip(jobs, compiled, strict=True)}
        return [
            self._runner.compile_failure(job.request, one) if one.artefact is None else None
            for job, one in zip(jobs, compiled, strict=True)
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

    def needs_rerun(self, job: Job[ExecutionRequest], result: ExecutionResult) -> bool:
        """Return whether the machine's load or a shared limit may have changed the result."""
        late = delayed_by_load(result.run_outcome, result.reason, result.signal, result.cpu_s)
        short = hit_shared_limit(result.run_outcome, result.stderr.text)
        return (result.was_run and (late or short)) or self._wall_timeout(job)
