"""Messages between the engine that distributes programs and the nodes that run them.

Batches are sent as plain dictionaries, which both ends validate. A node with another version of this package is
recognised by its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field, TypeAdapter

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, FrozenModel, Isolation, Toolchain
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult


class NodeRequirements(NamedTuple):
    """Requirements of a program on a node; programs of one batch share them."""

    language: str
    bundle: str | None = None
    needs: tuple[str, ...] = ()

    @classmethod
    def for_request(cls, request: ExecutionRequest) -> NodeRequirements:
        """Return the requirements of a request."""
        # Sorted: the same needs in another order are no other requirements, and no other batch.
        return cls(request.language, request.bundle, tuple(sorted(request.needs)))


class NodeInfo(FrozenModel):
    """Toolchain, bundle and isolation of one node, for programs with the same requirements."""

    node: str
    toolchain: Toolchain
    bundle: str = ""
    """Lock hash of the bundle; empty without a bundle, or if it is not built there."""
    skip_reason: str = ""
    """Reason why such programs are skipped on the node, with a remedy; empty if they can run."""
    isolation: Isolation | None = None
    fault: str = ""
    """Reason why the node can run no program at all; empty if it can."""

    @property
    def environment_key(self) -> tuple[str, str, str]:
        """Toolchain fingerprint, bundle hash and skip reason: nodes of one run must agree on them."""
        return self.toolchain.fingerprint, self.bundle, self.skip_reason


class ProgramBatch(FrozenModel):
    """Batch of programs for a node; ``node_info`` is the expected state of the node."""

    kind: Literal["programs"] = "programs"
    requirements: NodeRequirements
    node_info: NodeInfo
    requests: tuple[ExecutionRequest, ...]


class LanguageEnvironment(NamedTuple):
    """Requirements for one language of a project, and the expected state of a node."""

    requirements: NodeRequirements
    node_info: NodeInfo


class ProjectBatch(FrozenModel):
    """Batch of commands in one project for a node; ``archive`` is the packed project, for a node that lacks it."""

    kind: Literal["project"] = "project"
    environments: tuple[LanguageEnvironment, ...]
    snapshot: str
    requests: tuple[WorkspaceRequest, ...]
    archive: bytes | None = None


class _BatchResult(FrozenModel):
    node: str = ""
    mismatch: NodeInfo | None = None
    fault: str = ""
    needs_archive: bool = False
    """True if the node needs the batch again, with the missing parts."""


class ProgramBatchResult(_BatchResult):
    """Results of a batch, in any order; ``mismatch`` if the node differs from the others; or a ``fault``."""

    kind: Literal["programs"] = "programs"
    results: tuple[ExecutionResult, ...] = ()


class ProjectBatchResult(_BatchResult):
    """Results of commands in a project; ``requirements`` are those for which the node has a ``mismatch``."""

    kind: Literal["project"] = "project"
    results: tuple[WorkspaceResult, ...] = ()
    requirements: NodeRequirements | None = None


AnyBatch = ProgramBatch | ProjectBatch
AnyBatchResult = ProgramBatchResult | ProjectBatchResult

BATCH_ADAPTER: TypeAdapter[AnyBatch] = TypeAdapter(Annotated[AnyBatch, Field(discriminator="kind")])
BATCH_RESULT_ADAPTER: TypeAdapter[AnyBatchResult] = TypeAdapter(Annotated[AnyBatchResult, Field(discriminator="kind")])
"""Validators of batch results, which travel as dictionaries."""


class BatchLost(Exception):  # noqa: N818 - names what became of the batch
    """Error for a batch without a result: its worker was lost, and a retry on another node failed."""


class NodePool(Protocol):
    """Protocol of a cluster's machines. Handles are opaque to the engine."""

    def processor_count(self) -> int:
        """Return the number of processors of the machines that are available now."""

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        """Return the state of all available machines, for programs with these requirements."""

    def send(self, batch: AnyBatch) -> Any:
        """Submit a batch and return its handle at once; it is sent to another node if its node is lost."""

    def wait(self, handles: Sequence[Any], seconds: float) -> Any | None:
        """Return the handle of a completed batch, or None after ``seconds``."""

    def fetch(self, handle: Any) -> AnyBatchResult:
        """Return the result of a batch, or raise BatchLost if there will be none."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel the batches that still run."""
