"""Worker process on a node: it reports the node's toolchain and isolation, and runs batches in warm sandboxes.

A process has one local engine and a temporary cache for compiled programs; verdicts are cached on the machine that
sent the batch.
"""

from __future__ import annotations

import atexit
import contextlib
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any, TypeVar

from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.result_cache import open_cache
from caretbench.execution.cluster.node_messages import (
    BATCH_ADAPTER,
    AnyBatch,
    AnyBatchResult,
    NodeInfo,
    NodeRequirements,
    ProgramBatch,
    ProgramBatchResult,
    ProjectBatch,
    ProjectBatchResult,
)
from caretbench.execution.execution_types import ExecutionRequest, Toolchain
from caretbench.execution.local_executor import LocalExecutor, ProgramRunner
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.workspaces.snapshot_archive import unpack_snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner

_HEED_S = 0.5

_Result = TypeVar("_Result")


class NodeWorker:
    """Worker process on a node: it describes the node and runs batches.

    Args:
        max_parallel_programs: Maximum of parallel programs, above the number of processors, as most programs wait.
    """

    def __init__(self, max_parallel_programs: int) -> None:
        self.name = socket.gethostname()
        self._held = contextlib.ExitStack()
        self._cache = self._held.enter_context(open_cache(None, use_cache=False))
        self._sandbox = Sandbox()
        self._executor = LocalExecutor(max_parallel_programs, cache=self._cache, sandbox=self._sandbox, compilers=1)
        self._runner = ProgramRunner(self._sandbox, self._cache, installed_bundle)
        self._spaces: WorkspaceRunner | None = None
        atexit.register(self.close)

    def node_info(self, requirements: NodeRequirements) -> NodeInfo:
        """Return this node's state for programs with these requirements.

        Raises:
            SandboxUnavailable: no sandbox.
            BundleError: no such bundle is known.
        """
        isolation = self._sandbox.probe()
        tools = Toolchain(language=requirements.language, available=False)
        if requirements.language in toolchain_tables():
            tools = self._runner.toolchain(requirements.language)
        request = ExecutionRequest(id="", language=requirements.language, source="", needs=requirements.needs)
        return NodeInfo(
            node=self.name,
            toolchain=tools,
            bundle=self._runner.lock_hash(requirements.bundle),
            skip_reason=self._runner.skip_reason(request) or "",
            isolation=isolation,
        )

    def run_batch(self, batch: AnyBatch) -> AnyBatchResult:
        """Run a batch, unless this node is not in the expected state."""
        try:
            return self._programs(batch) if isinstance(batch, ProgramBatch) else self._project(batch)
        finally:
            # The sender keeps verdicts: a machine of the cluster keeps nothing of a run.
            self._cache.clear()

    def _programs(self, batch: ProgramBatch) -> ProgramBatchResult:
        node_info = self.node_info(batch.requirements)
        if node_info.environment_key != batch.node_info.environment_key:
            return ProgramBatchResult(node=self.name, mismatch=node_info)
        return ProgramBatchResult(node=self.name, results=self._results(self._executor.submit(batch.requests)))

    def _project(self, batch: ProjectBatch) -> ProjectBatchResult:
        for ground in batch.environments:
            node_info = self.node_info(ground.requirements)
            if node_info.environment_key != ground.node_info.environment_key:
                return ProjectBatchResult(node=self.name, mismatch=node_info, requirements=ground.requirements)
        workspace_runner = self._spaces = self._spaces or WorkspaceRunner(self._sandbox)
        try:
            workspace_runner.snapshot(batch.snapshot)
        except DataError:  # not here, or damaged
            if batch.archive is None:
                return ProjectBatchResult(node=self.name, needs_archive=True)
            unpack_snapshot(workspace_runner.store, batch.snapshot, batch.archive)
        # One command at a time: a task of the cluster has one processor, and a test command keeps it busy.
        executor = WorkspaceExecutor(1, workspace_runner=workspace_runner, cache=self._cache)
        return ProjectBatchResult(node=self.name, results=self._results(executor.submit(batch.requests)))

    def _results(self, results: Iterator[_Result]) -> tuple[_Result, ...]:
        """Return all results. A cancelled task gets an exception in this thread, which only Python code notices."""
        with ThreadPoolExecutor(1, thread_name_prefix="batch") as pool:
            running = pool.submit(lambda: tuple(results))
            try:
                while not running.done():
                    wait([running], _HEED_S)
            except BaseException:
                self._sandbox.interrupt()  # until the engine's own end
                raise
            return running.result()

    def close(self) -> None:
        """End the sandboxes and remove the cache."""
        if self._spaces is not None:
            self._spaces.close()
        self._sandbox.close()
        self._held.close()


@cache
def _worker(max_parallel_programs: int) -> NodeWorker:
    return NodeWorker(max_parallel_programs)


def describe_node(requirements: tuple[str, str | None, tuple[str, ...]], max_parallel_programs: int) -> dict[str, Any]:
    """Return this node's :class:`~caretbench.execution.cluster.node_messages.NodeInfo` as a dictionary."""
    try:
        return _worker(max_parallel_programs).node_info(NodeRequirements(*requirements)).model_dump()
    except Exception as error:
        tools = Toolchain(language=requirements[0], available=False)
        return NodeInfo(node=socket.gethostname(), toolchain=tools, fault=_error_text(error)).model_dump()


def run_batch(batch: Mapping[str, Any], max_parallel_programs: int) -> dict[str, Any]:
    """Run a batch on this node; return its result (see ``node_messages``) as a dictionary."""
    try:
        return _worker(max_parallel_programs).run_batch(BATCH_ADAPTER.validate_python(batch)).model_dump()
    except Exception as error:
        return ProgramBatchResult(node=socket.gethostname(), fault=_error_text(error)).model_dump()


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:1000]
