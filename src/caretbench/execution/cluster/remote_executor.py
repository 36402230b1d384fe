"""Engine that runs programs on several machines, in batches.

The caller's process keeps requests, known verdicts and results. Machines keep no state: if one goes away, only the
batches in flight on it run again. The number of batches in flight is bounded, and requests are read only when there is
room.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from caretbench.errors import MachineError
from caretbench.execution.bundles import installed_bundle
from caretbench.execution.cache.cache_keys import verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    AnyBatchResult,
    NodeInfo,
    NodePool,
    NodeRequirements,
    ProgramBatch,
    ProgramBatchResult,
)
from caretbench.execution.cluster.remote_jobs import RemoteJobRunner, RemoteRequestKind
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status, Toolchain
from caretbench.execution.submission import CachedExecutor, Submission
from caretbench.execution.toolchains.base_runtime import BundleLookup

BATCH = 25
"""Programs per batch, as many as a compiler takes at a time."""

_BATCH_CHARACTERS = 4_000_000


class RemoteExecutor(CachedExecutor[ExecutionRequest, ExecutionResult]):
    """Executor of programs on other machines. Identical ones run once; known verdicts come from this machine's cache.

    Args:
        nodes: The machines.
        cache, use_cache: As for :class:`~caretbench.execution.submission.CachedExecutor`.
        bundles: From a bundle's name to the bundle that is built on this machine.
    """

    def __init__(
        self,
        nodes: NodePool,
        *,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        bundles: BundleLookup = installed_bundle,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self.nodes = nodes
        self._bundles = bundles
        self._node_infos: dict[NodeRequirements, NodeInfo] = {}

    def isolation(self) -> Isolation:
        """Return the isolation of all machines; a field that differs is ``mixed``. Each result contains its own."""
        node_infos = usable_nodes(self.nodes.collect_node_infos(NodeRequirements("python")))
        isolations = [node_info.isolation.model_dump() for node_info in node_infos if node_info.isolation is not None]
        joined = {
            name: value if all(other[name] == value for other in isolations) else "mixed"
            for name, value in isolations[0].items()
        }
        return Isolation.model_validate(joined | {"seccomp": all(isolation["seccomp"] for isolation in isolations)})

    def toolchain(self, language: str) -> Toolchain:
        """Return the language's tools, the same on all machines; raise MachineError as :meth:`node_info`."""
        return self.node_info(NodeRequirements(language)).toolchain

    def _submission(self, cache: ResultCache) -> Submission[ExecutionRequest, ExecutionResult]:
        programs = _RemotePrograms(cache, self)
        return Submission(programs, RemoteJobRunner(self.nodes, programs))

    def node_info(self, requirements: NodeRequirements) -> NodeInfo:
        """Return the common state of the machines, cached; raise MachineError if they differ or cannot run programs."""
        if requirements not in self._node_infos:
            node_info, *others = usable_nodes(self.nodes.collect_node_infos(requirements))
            for other in others:
                check_same_environment(node_info, other, requirements)
            if requirements.bundle and not node_info.bundle and self._bundles(requirements.bundle) is not None:
                raise MachineError(
                    f"the bundle {requirements.bundle} is built here, but not on {node_info.node}: run "
                    f"`caretbench deps build {requirements.bundle}` on every machine"
                )
            self._node_infos[requirements] = node_info
        return self._node_infos[requirements]


def usable_nodes(node_infos: Sequence[NodeInfo]) -> Sequence[NodeInfo]:
    """Return the nodes that can run programs; MachineError if there is none, or one has a fault."""
    if not node_infos:
        raise MachineError("the cluster has no machine with a processor; add one: ray start --address=HEAD:PORT")
    for node_info in node_infos:
        if node_info.fault:
            raise MachineError(f"{node_info.node} cannot run programs: {node_info.fault}")
    return node_infos


def check_same_environment(node_info: NodeInfo, other: NodeInfo, requirements: NodeRequirements) -> None:
    """Raise MachineError if machines differ, with the difference: their verdicts must not be mixed."""
    if node_info.environment_key == other.environment_key:
        return
    if node_info.toolchain.fingerprint != other.toolchain.fingerprint:
        what = f"tools for {requirements.language}"
        details = [f.toolchain.version or f.toolchain.remedy or "none" for f in (node_info, other)]
        details = [f"{text} [{f.toolchain.fingerprint}]" for text, f in zip(details, (node_info, other), strict=True)]
    elif node_info.bundle != other.bundle:
        what = f"bundle {requirements.bundle}"
        details = [
            f.bundle[:16] or f"not built: caretbench deps build {requirements.bundle}" for f in (node_info, other)
        ]
    else:
        what = f"needs {', '.join(requirements.needs)}"
        details = [f.skip_reason or "met" for f in (node_info, other)]
    raise MachineError(
        f"machines of one run must be alike ({what}): {node_info.node}: {details[0]}; {other.node}: {details[1]}"
    )


class _RemotePrograms(RemoteRequestKind[ExecutionRequest, ExecutionResult]):
    """Programs as a remote kind of request."""

    result_type = ExecutionResult
    max_requests = BATCH
    max_characters = _BATCH_CHARACTERS

    def __init__(self, cache: ResultCache, executor: RemoteExecutor) -> None:
        super().__init__(cache)
        self._executor = executor

    def rejection(self, request: ExecutionRequest) -> ExecutionResult | None:
        obstacle = self._node_info(request).skip_reason
        return self.unrun_result(request, Status.SKIPPED, obstacle) if obstacle else None

    def key(self, request: ExecutionRequest) -> str:
        node_info = self._node_info(request)
        return verdict_key(request, toolchain=node_info.toolchain.fingerprint, bundle=node_info.bundle)

    def batch_group(self, request: ExecutionRequest) -> Hashable:
        return NodeRequirements.for_request(request), request.profile, request.variant

    def character_count(self, request: ExecutionRequest) -> int:
        return len(request.source)

    def batch(self, requests: tuple[ExecutionRequest, ...], *, with_archive: bool) -> ProgramBatch:
        del with_archive  # a program is all there in its text
        return ProgramBatch(
            requirements=NodeRequirements.for_request(requests[0]),
            node_info=self._node_info(requests[0]),
            requests=requests,
        )

    def check_node(self, request: ExecutionRequest, result: AnyBatchResult) -> None:
        if result.mismatch is not None:
            check_same_environment(self._node_info(request), result.mismatch, NodeRequirements.for_request(request))

    def results(self, result: AnyBatchResult) -> tuple[ExecutionResult, ...]:
        return result.results if isinstance(result, ProgramBatchResult) else ()

    def _node_info(self, request: ExecutionRequest) -> NodeInfo:
        return self._executor.node_info(NodeRequirements.for_request(request))
