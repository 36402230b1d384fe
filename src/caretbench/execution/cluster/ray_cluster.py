"""Engine on a Ray cluster: batches of programs as tasks, each on one processor of any free machine.

Ray starts a task again elsewhere when its machine goes away. Results are fetched as soon as they are available. Ray
keeps worker processes alive between tasks, and with them their warm sandboxes
(:mod:`caretbench.execution.cluster.node_worker`). Ray is imported only when an engine is created.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from caretbench.errors import MachineError
from caretbench.execution.cluster.node_messages import (
    BATCH_RESULT_ADAPTER,
    AnyBatch,
    AnyBatchResult,
    BatchLost,
    NodeInfo,
    NodeRequirements,
    ProgramBatchResult,
)
from caretbench.execution.execution_types import Toolchain

PROGRAMS_PER_PROCESSOR = 8
"""Programs in flight on each processor of the cluster, as on one machine."""

# Batches are tasks, not actors: Ray itself starts a task elsewhere when its machine goes away.
_RETRIES = 10
# The first look at a machine starts a worker process there, and a sandbox.
_SURVEY_S = 120.0
# Ray takes 30 % of the machine's memory by default, which programs need; batches are small.
_OWN_STORE_BYTES = 256 << 20


class RayNodePool:
    """Machines of a Ray cluster that have this package and its tools installed.

    Args:
        address: ``ray://HOST:PORT`` of a cluster's client server, or ``HOST:PORT`` of its head from one of its
            machines. None: the cluster of ``RAY_ADDRESS`` or of this machine; where there is none, one is started on
            this machine and ends with the process.
        max_parallel_programs: Programs in flight on each processor.

    Raises:
        MachineError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(self, address: str | None = None, max_parallel_programs: int | None = None) -> None:
        # Nothing of a run is told to anybody.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray prints what befalls a machine on standard output, where results go. It is read when Ray is imported.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        try:
            import ray
            from ray import exceptions
            from ray.util import scheduling_strategies
        except ImportError:
            raise MachineError("--engine ray needs Ray: pip install 'caretbench[ray]'") from None
        from caretbench.execution.cluster import node_worker

        self._ray: Any = ray
        self._exceptions: Any = exceptions
        self._on_node: Any = scheduling_strategies.NodeAffinitySchedulingStrategy
        self._programs = max_parallel_programs or PROGRAMS_PER_PROCESSOR
        _connect(ray, address)
        self._work: Any = ray.remote(num_cpus=1, max_retries=_RETRIES)(node_worker.run_batch)
        # Looking costs no processor: it must not wait behind batches.
        self._look: Any = ray.remote(num_cpus=0, max_retries=1)(node_worker.describe_node)

    def processor_count(self) -> int:
        """Return the number of processors of the machines that are available now."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        """Return the state of all available machines that have a processor."""
        handles = {
            node: self._look.options(scheduling_strategy=self._on_node(node, soft=False)).remote(
                tuple(requirements), self._programs
            )
            for node in self._working()
        }
        node_infos = []
        for node, handle in handles.items():
            try:
                node_infos.append(NodeInfo.model_validate(self._ray.get(handle, timeout=_SURVEY_S)))
            except (self._exceptions.RayError, ValidationError) as error:
                if node in self._working():  # one that went away meanwhile does not matter
                    tools = Toolchain(language=requirements.language, available=False)
                    node_infos.append(NodeInfo(node=node, toolchain=tools, fault=_error_text(error)))
        return node_infos

    def _working(self) -> set[str]:
        return {node["NodeID"] for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1}

    def send(self, batch: AnyBatch) -> Any:
        """Submit a batch."""
        return self._work.remote(batch.model_dump(), self._programs)

    def wait(self, handles: Sequence[Any], seconds: float) -> Any | None:
        """Return the handle of a completed batch, or None after ``seconds``."""
        done, _ = self._ray.wait(list(handles), num_returns=1, timeout=seconds)
        return done[0] if done else None

    def fetch(self, handle: Any) -> AnyBatchResult:
        """Return the result of a batch (a task that could not start is a fault); raise BatchLost if Ray gave it up."""
        try:
            return BATCH_RESULT_ADAPTER.validate_python(self._ray.get(handle))
        except (self._exceptions.RayTaskError, ValidationError) as error:
            return ProgramBatchResult(fault=_error_text(error))
        except self._exceptions.RayError as error:
            raise BatchLost(_error_text(error)) from error

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel the batches that still run."""
        for handle in handles:
            with contextlib.suppress(self._exceptions.RayError):
                # By force the worker process would be killed, and could not end its sandboxes.
                self._ray.cancel(handle, force=False)


def _connect(ray: Any, address: str | None) -> None:
    if ray.is_initialized():
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        try:
            ray.init(address or "auto", **quiet)
        except ConnectionError:
            if address is not None or os.environ.get("RAY_ADDRESS"):
                raise
            ray.init("local", include_dashboard=False, object_store_memory=_OWN_STORE_BYTES, **quiet)
    except Exception as error:  # what times out while it starts is a plain Exception of Ray's
        where = address or os.environ.get("RAY_ADDRESS") or "on this machine"
        raise MachineError(f"no Ray cluster {where}: {_error_text(error)}") from error


def _error_text(error: Exception) -> str:
    """Return the last line of Ray's message: the cause, without its tracebacks."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:500]
