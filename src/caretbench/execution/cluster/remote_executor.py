"""Engine that runs programs on several machines, in batches.

The caller's process holds everything that must not be lost: what was asked, which verdicts are known, and the results,
which it takes from a machine one batch at a time and gives out at once. Machines hold nothing, so one that goes away
costs the time of the batches it was working on. Memory is bounded: so is the number of batches in flight, and the
requests behind them are not asked for before there is room.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from caretbench.errors import MachineError
from caretbench.execution.bundles import installed_bundle
from caretbench.execution.cache.cache_keys import verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    AnyBatchResult,
    Batch,
    BatchResult,
    NodeInfo,
    NodeRequirements,
    Nodes,
)
from caretbench.execution.cluster.remote_jobs import RemoteJobRunner, RemoteRequestKind
from caretbench.execution.submission import CachedExecutor, Submission
from caretbench.execution.toolchains.base_runtime import BundleLookup
from caretbench.execution.types import ExecutionRequest, ExecutionResult, Isolation, Status, Toolchain

BATCH = 25
"""Programs that travel together: as many as a compiler takes at a time; sending them costs little compared to that."""

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
        nodes: Nodes,
        *,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        bundles: BundleLookup = installed_bundle,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self.nodes = nodes
        self._bundles = bundles
        self._footings: dict[NodeRequirements, NodeInfo] = {}

    def isolation(self) -> Isolation:
        """Return the isolation on all machines; what differs is ``mixed``, and every result has its own."""
        footings = usable_nodes(self.nodes.survey(NodeRequirements("python")))
        walls = [footing.isolation.model_dump() for footing in footings if footing.isolation is not None]
        joined = {
            name: value if all(other[name] == value for other in walls) else "mixed"
            for name, value in walls[0].items()
        }
        return Isolation.model_validate(joined | {"seccomp": all(wall["seccomp"] for wall in walls)})

    def toolchain(self, language: str) -> Toolchain:
        """Return the language's tools, which are the same on all machines; refuse as :meth:`footing` does."""
        return self.footing(NodeRequirements(language)).toolchain

    def _submission(self, cache: ResultCache) -> Submission[ExecutionRequest, ExecutionResult]:
        programs = _RemotePrograms(cache, self)
        return Submission(programs, RemoteJobRunner(self.nodes, programs))

    def footing(self, want: NodeRequirements) -> NodeInfo:
        """Return the machines' offer to such programs, asked once, or raise MachineError if they differ or run none."""
        if want not in self._footings:
            footing, *others = usable_nodes(self.nodes.survey(want))
            for other in others:
                check_same_environment(footing, other, want)
            if want.bundle and not footing.bundle and self._bundles(want.bundle) is not None:
                raise MachineError(
                    f"the bundle {want.bundle} is built here, but not on {footing.node}: run "
                    f"`caretbench deps build {want.bundle}` on every machine"
                )
            self._footings[want] = footing
        return self._footings[want]


def usable_nodes(footings: Sequence[NodeInfo]) -> Sequence[NodeInfo]:
    """Return machines that can run programs, or raise MachineError where there is none, or one cannot."""
    if not footings:
        raise MachineError(
            "the cluster has no machine with a processor; add one: ray start --address=HEAD:PORT"
        )
    for footing in footings:
        if footing.fault:
            raise MachineError(f"{footing.node} cannot run programs: {footing.fault}")
    return footings


def check_same_environment(footing: NodeInfo, other: NodeInfo, want: NodeRequirements) -> None:
    """Raise MachineError if machines differ, with the difference: their verdicts must not be mixed."""
    if footing.ground == other.ground:
        return
    if footing.toolchain.fingerprint != other.toolchain.fingerprint:
        what = f"tools for {want.language}"
        said = [f.toolchain.version or f.toolchain.remedy or "none" for f in (footing, other)]
        said = [f"{text} [{f.toolchain.fingerprint}]" for text, f in zip(said, (footing, other), strict=True)]
    elif footing.bundle != other.bundle:
        what = f"bundle {want.bundle}"
        said = [f.bundle[:16] or f"not built: caretbench deps build {want.bundle}" for f in (footing, other)]
    else:
        what = f"needs {', '.join(want.needs)}"
        said = [f.obstacle or "met" for f in (footing, other)]
    raise MachineError(
        f"machines of one run must be alike ({what}): {footing.node}: {said[0]}; {other.node}: {said[1]}"
    )


class _RemotePrograms(RemoteRequestKind[ExecutionRequest, ExecutionResult]):
    """Programs as a remote kind of request."""

    form = ExecutionResult
    most_requests = BATCH
    most_characters = _BATCH_CHARACTERS

    def __init__(self, cache: ResultCache, executor: RemoteExecutor) -> None:
        super().__init__(cache)
        self._executor = executor

    def refused(self, request: ExecutionRequest) -> ExecutionResult | None:
        obstacle = self._footing(request).obstacle
        return self.without(request, Status.SKIPPED, obstacle) if obstacle else None

    def key(self, request: ExecutionRequest) -> str:
        footing = self._footing(request)
        return verdict_key(request, toolchain=footing.toolchain.fingerprint, bundle=footing.bundle)

    def group(self, request: ExecutionRequest) -> Hashable:
        return NodeRequirements.of(request), request.profile, request.variant

    def size(self, request: ExecutionRequest) -> int:
        return len(request.source)

    def batch(self, requests: tuple[ExecutionRequest, ...], *, full: bool) -> Batch:
        del full  # a program is all there in its text
        return Batch(
            want=NodeRequirements.of(requests[0]), footing=self._footing(requests[0]), requests=requests
        )

    def refuse(self, request: ExecutionRequest, result: AnyBatchResult) -> None:
        if result.unlike is not None:
            check_same_environment(self._footing(request), result.unlike, NodeRequirements.of(request))

    def results(self, result: AnyBatchResult) -> tuple[ExecutionResult, ...]:
        return result.results if isinstance(result, BatchResult) else ()

    def _footing(self, request: ExecutionRequest) -> NodeInfo:
        return self._executor.footing(NodeRequirements.of(request))
