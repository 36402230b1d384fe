"""Engine that runs programs on several machines, in batches, and the batches of any kind of request.

The caller's process keeps requests, known verdicts and results. Machines keep no state: if one goes away, only the
batches in flight on it run again. The number of batches in flight is bounded, and requests are read only when there is
room. Programs and commands in projects are sent alike; what differs between the two is a :class:`RemoteRequestKind`.
"""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Generic

from caretbench.errors import MachineError
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.cache_keys import remote_project_command_key, verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    AnyBatch,
    AnyBatchResult,
    BatchLost,
    LanguageEnvironment,
    NodeInfo,
    NodePool,
    NodeRequirements,
    ProgramBatch,
    ProgramBatchResult,
    ProjectBatch,
    ProjectBatchResult,
)
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status, Toolchain
from caretbench.execution.submission import CachedExecutor, Job, Request, RequestKind, Result, Submission
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains.base_runtime import BundleLookup
from caretbench.execution.workspaces.snapshot_archive import pack_snapshot
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.languages import languages

# One that runs, and one that waits behind it, so that no processor waits for the network.
_BATCHES_PER_PROCESSOR = 2
# A cluster whose machines are still starting reports no processor: some batches wait for them there.
_MIN_BATCHES = 4
# A batch travels, and is in memory on both ends, as one message.
_BATCH_CHARACTERS = 4_000_000
_FAULTS = 3
_LOOK_S = 0.5
_COUNT_S = 2.0
_WAIT_S = 2.0


class RemoteRequestKind(RequestKind[Request, Result]):
    """Kind of request that runs on other machines."""

    max_requests: int
    """Maximum number of requests in a batch."""

    @abstractmethod
    def batch_group(self, request: Request) -> Hashable:
        """Return the properties that the requests of one batch share."""

    @abstractmethod
    def character_count(self, request: Request) -> int:
        """Return the number of characters of a request."""

    def unrun_result(self, request: Request, status: Status, reason: str) -> Result:
        """Return the result of a request that did not run."""
        return self.result_type(id=request.id, status=status, reason=reason)

    def is_reusable(self, result: Result) -> bool:
        """Return True, so that a request that crashed a node is not sent again."""
        del result
        return True

    @abstractmethod
    def batch(self, requests: tuple[Request, ...], *, with_archive: bool) -> AnyBatch:
        """Return a batch to send; ``with_archive`` adds the project's archive, which the node lacks."""

    @abstractmethod
    def check_node(self, request: Request, result: AnyBatchResult) -> None:
        """Raise MachineError if the node differs from the others, with the difference."""

    @abstractmethod
    def results(self, result: AnyBatchResult) -> tuple[Result, ...]:
        """Return the results of a batch."""


@dataclass
class _Filling(Generic[Request]):
    """Batch that is being filled."""

    jobs: list[Job[Request]] = field(default_factory=list)
    characters: int = 0
    faults: int = 0
    with_archive: bool = False


class RemoteJobRunner(Generic[Request, Result]):
    """Runner of jobs on other machines, as :class:`caretbench.execution.submission.JobRunner`."""

    def __init__(self, nodes: NodePool, kind: RemoteRequestKind[Request, Result]) -> None:
        self._nodes = nodes
        self._kind: RemoteRequestKind[Request, Result] = kind
        self._out: dict[Any, _Filling[Request]] = {}
        self._again: deque[_Filling[Request]] = deque()
        self._filling: dict[Hashable, _Filling[Request]] = {}
        self._processors = 0
        self._counted = float("-inf")
        self._looked = time.monotonic()

    def has_room(self, waiting: int) -> bool:
        """Return whether one more request may be taken."""
        most = self._send_again()
        return len(self._out) < most and waiting < 2 * self._kind.max_requests * most

    def _send_again(self) -> int:
        """Send lost requests again, as far as there is room; return the maximum number of batches in flight."""
        # Machines come and go.
        if time.monotonic() - self._counted > _COUNT_S:
            self._processors = self._nodes.processor_count()
            self._counted = time.monotonic()
        most = max(_MIN_BATCHES, _BATCHES_PER_PROCESSOR * self._processors)
        while self._again and len(self._out) < most:
            self._send(self._again.popleft())
        return most

    def start(self, job: Job[Request]) -> None:
        """Put a job into a batch, and send the batch once it is full."""
        group = self._kind.batch_group(job.request)
        batch = self._filling.setdefault(group, _Filling())
        batch.jobs.append(job)
        batch.characters += self._kind.character_count(job.request)
        if len(batch.jobs) >= self._kind.max_requests or batch.characters >= _BATCH_CHARACTERS:
            self._send(self._filling.pop(group))

    def completed(self) -> Iterator[tuple[Job[Request], Result]]:
        """Yield completed jobs; results are collected at intervals, not at every call."""
        if time.monotonic() - self._looked > _LOOK_S:
            yield from self._collect(0.0)

    def wait(self, *, all_started: bool) -> Iterator[tuple[Job[Request], Result]]:
        """Wait for the next results, for some seconds."""
        most = self._send_again()
        # While machines work, batches are left to fill.
        while self._filling and len(self._out) < most and (all_started or not self._out):
            self._send(self._filling.pop(next(iter(self._filling))))
        if self._out:
            yield from self._collect(_WAIT_S)

    def close(self) -> None:
        """Cancel the jobs that still run."""
        if self._out:
            self._nodes.cancel(list(self._out))

    def _send(self, batch: _Filling[Request]) -> None:
        requests = tuple(job.request.model_copy(update={"id": job.key}) for job in batch.jobs)
        self._out[self._nodes.send(self._kind.batch(requests, with_archive=batch.with_archive))] = batch

    def _collect(self, seconds: float) -> Iterator[tuple[Job[Request], Result]]:
        """Yield the results that are there, after waiting so long for the first."""
        while self._out:
            handle = self._nodes.wait(list(self._out), seconds)
            self._looked = time.monotonic()
            if handle is None:
                return
            batch = self._out.pop(handle)
            seconds = 0.0
            try:
                result = self._nodes.fetch(handle)
            except BatchLost as lost:
                yield from self._divide(batch, str(lost))
                continue
            if result.mismatch is not None:
                self._kind.check_node(batch.jobs[0].request, result)
            yield from self._answered(batch, result)

    def _answered(self, batch: _Filling[Request], answer: AnyBatchResult) -> Iterator[tuple[Job[Request], Result]]:
        waiting = {job.key: job for job in batch.jobs}
        for result in self._kind.results(answer):
            job = waiting.pop(result.id, None)
            if job is not None:
                yield job, result.model_copy(update={"id": job.request.id, "cached": False})
        if not waiting:
            return
        if answer.needs_archive and not batch.with_archive:
            batch.with_archive = True
            self._again.append(batch)
            return
        # A batch of which something came back shows that machines work: only whole failures in a row end the run.
        faults = batch.faults + 1 if len(waiting) == len(batch.jobs) else 0
        if faults >= _FAULTS:
            raise MachineError(f"{answer.node or 'a machine'} cannot run programs: {answer.fault or 'no answer'}")
        self._again.append(_Filling(list(waiting.values()), faults=faults, with_archive=batch.with_archive))

    def _divide(self, batch: _Filling[Request], why: str) -> Iterator[tuple[Job[Request], Result]]:
        """Halve a batch that takes down its workers, until the request that causes it is alone."""
        if len(batch.jobs) == 1:
            [job] = batch.jobs
            reason = f"no machine came back with its result: {why}"
            yield job, self._kind.unrun_result(job.request, Status.SANDBOX_ERROR, reason)
            return
        middle = len(batch.jobs) // 2
        for jobs in (batch.jobs[:middle], batch.jobs[middle:]):
            self._again.append(_Filling(jobs, with_archive=batch.with_archive))


BATCH = 25
"""Programs per batch, as many as a compiler takes at a time."""


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
    nodes = (node_info, other)
    if node_info.toolchain.fingerprint != other.toolchain.fingerprint:
        what = f"tools for {requirements.language}"
        tools = [node.toolchain for node in nodes]
        details = [f"{tool.version or tool.remedy or 'none'} [{tool.fingerprint}]" for tool in tools]
    elif node_info.bundle != other.bundle:
        what = f"bundle {requirements.bundle}"
        details = [node.bundle[:16] or f"not built: caretbench deps build {requirements.bundle}" for node in nodes]
    else:
        what = f"needs {', '.join(requirements.needs)}"
        details = [node.skip_reason or "met" for node in nodes]
    raise MachineError(
        f"machines of one run must be alike ({what}): {node_info.node}: {details[0]}; {other.node}: {details[1]}"
    )


class _RemotePrograms(RemoteRequestKind[ExecutionRequest, ExecutionResult]):
    """Programs as a remote kind of request."""

    result_type = ExecutionResult
    max_requests = BATCH

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


COMMAND_BATCH = 4
"""Commands per batch. Each takes a second or more, so small batches cost little and keep all machines busy."""

# In memory, and each may be that of a project of 512 MB.
_ARCHIVES = 2


class RemoteWorkspaceExecutor(CachedExecutor[WorkspaceRequest, WorkspaceResult]):
    """Executor of commands in projects on other machines.

    Args:
        programs: Executor of programs there: its machines and its knowledge of them are used.
        workspace_runner: Knows the projects here; by default the user's snapshots.
        cache, use_cache: As for :class:`~caretbench.execution.submission.CachedExecutor`.
    """

    def __init__(
        self,
        programs: RemoteExecutor,
        *,
        workspace_runner: WorkspaceRunner | None = None,
        cache: ResultCache | None = None,
        use_cache: bool = True,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self.workspace_runner = workspace_runner or WorkspaceRunner()
        self._programs = programs

    def isolation(self) -> Isolation:
        """Return the isolation on all machines."""
        return self._programs.isolation()

    def _submission(self, cache: ResultCache) -> Submission[WorkspaceRequest, WorkspaceResult]:
        projects = _RemoteProjects(cache, self._programs, self.workspace_runner)
        return Submission(projects, RemoteJobRunner(self._programs.nodes, projects))

    def close(self) -> None:
        """Release the snapshots."""
        self.workspace_runner.close()


class _RemoteProjects(RemoteRequestKind[WorkspaceRequest, WorkspaceResult]):
    """Commands in projects as a remote kind of request."""

    result_type = WorkspaceResult
    max_requests = COMMAND_BATCH

    def __init__(self, cache: ResultCache, programs: RemoteExecutor, workspace_runner: WorkspaceRunner) -> None:
        super().__init__(cache)
        self._programs = programs
        # Not of methods: a cache that holds this object would keep the archives until a full garbage collection.
        snapshot = workspace_runner.snapshot
        self._project_languages = functools.cache(lambda name: _languages_of(snapshot(name)))
        self._archive = functools.lru_cache(_ARCHIVES)(lambda name: pack_snapshot(snapshot(name)))

    def rejection(self, request: WorkspaceRequest) -> WorkspaceResult | None:
        # Another machine has other files at those paths, or none.
        if request.read_only:
            obstacle = "it binds folders of this machine, which cannot be sent to others; use --engine local"
        else:
            obstacles = (node_info.skip_reason for _, node_info in self._environments(request))
            obstacle = next(filter(None, obstacles), "")
        return self.unrun_result(request, Status.SKIPPED, obstacle) if obstacle else None

    def key(self, request: WorkspaceRequest) -> str:
        return remote_project_command_key(
            request,
            [(requirements, node_info.environment_key) for requirements, node_info in self._environments(request)],
        )

    def batch_group(self, request: WorkspaceRequest) -> Hashable:
        return request.snapshot, request.bundle

    def character_count(self, request: WorkspaceRequest) -> int:
        return sum(len(content or "") for content in request.patch.values())

    def batch(self, requests: tuple[WorkspaceRequest, ...], *, with_archive: bool) -> ProjectBatch:
        first = requests[0]
        return ProjectBatch(
            environments=self._environments(first),
            snapshot=first.snapshot,
            requests=requests,
            archive=self._archive(first.snapshot) if with_archive else None,
        )

    def check_node(self, request: WorkspaceRequest, result: AnyBatchResult) -> None:
        expected = dict(self._environments(request))
        if isinstance(result, ProjectBatchResult) and result.mismatch is not None and result.requirements in expected:
            check_same_environment(expected[result.requirements], result.mismatch, result.requirements)

    def results(self, result: AnyBatchResult) -> tuple[WorkspaceResult, ...]:
        return result.results if isinstance(result, ProjectBatchResult) else ()

    def _environments(self, request: WorkspaceRequest) -> tuple[LanguageEnvironment, ...]:
        """Return the tools of every language that the project holds, as all machines have them."""
        wants = [NodeRequirements(name, request.bundle) for name in self._project_languages(request.snapshot)]
        return tuple(
            LanguageEnvironment(requirements, self._programs.node_info(requirements)) for requirements in wants
        )


def _languages_of(snapshot: Snapshot) -> tuple[str, ...]:
    suffixes = {PurePosixPath(path).suffix for path in snapshot.entries}
    names = [name for name in toolchain_tables() if languages()[name].suffix in suffixes]
    # A project without a known language still needs machines that agree on something.
    return tuple(names or ["python"])
