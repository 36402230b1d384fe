"""Messages between the engine that distributes programs and the nodes that run them.

Batches travel as plain dictionaries, and both ends check them: nothing but text of a program's output comes back from a
node, and a node with another version of this package is found by its messages, not by failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field, TypeAdapter

from caretbench.execution.types import ExecutionRequest, ExecutionResult, Frozen, Isolation, Toolchain
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult


class NodeRequirements(NamedTuple):
    """Requirements of a program on a node; programs of one batch share them."""

    language: str
    bundle: str | None = None
    needs: tuple[str, ...] = ()

    @classmethod
    def for_request(cls, request: ExecutionRequest) -> NodeRequirements:
        """Return the requirements of a request."""
        return cls(request.language, request.bundle, tuple(sorted(request.needs)))


class NodeInfo(Frozen):
    """Offer of one node to programs with the same requirements."""

    node: str
    toolchain: Toolchain
    bundle: str = ""
    """Lock hash of the bundle; empty where none is wanted, or it is not built there."""
    skip_reason: str = ""
    """Reason why such programs are skipped there, and the remedy."""
    isolation: Isolation | None = None
    fault: str = ""
    """Reason why no program at all can run there."""

    @property
    def environment_key(self) -> tuple[str, str, str]:
        """Properties that decide verdicts: nodes that differ in them must not share a run."""
        return self.toolchain.fingerprint, self.bundle, self.skip_reason


class Batch(Frozen):
    """One batch on its way to a node; ``footing`` is the offer that its programs need."""

    kind: Literal["programs"] = "programs"
    requirements: NodeRequirements
    node_info: NodeInfo
    requests: tuple[ExecutionRequest, ...]


class LanguageEnvironment(NamedTuple):
    """Tools that commands in a project need on a node, for one language of the project."""

    requirements: NodeRequirements
    node_info: NodeInfo


class ProjectBatch(Frozen):
    """Commands in one project on their way to a node; ``archive`` is the project itself, for a node that lacks it."""

    kind: Literal["project"] = "project"
    environments: tuple[LanguageEnvironment, ...]
    snapshot: str
    requests: tuple[WorkspaceRequest, ...]
    archive: bytes | None = None


class _BatchResult(Frozen):
    node: str = ""
    mismatch: NodeInfo | None = None
    fault: str = ""
    needs_archive: bool = False
    """True if the node needs the batch again, with the missing parts."""


class BatchResult(_BatchResult):
    """Results of a batch, in any order; ``unlike`` if the node differs from the others; or a ``fault``."""

    kind: Literal["programs"] = "programs"
    results: tuple[ExecutionResult, ...] = ()


class ProjectBatchResult(_BatchResult):
    """Results of commands in a project, as above; ``want`` names the requirement in which the node differs."""

    kind: Literal["project"] = "project"
    results: tuple[WorkspaceResult, ...] = ()
    requirements: NodeRequirements | None = None


AnyBatch = Batch | ProjectBatch
AnyBatchResult = BatchResult | ProjectBatchResult

BATCHES: TypeAdapter[AnyBatch] = TypeAdapter(Annotated[AnyBatch, Field(discriminator="kind")])
BATCH_RESULTS: TypeAdapter[AnyBatchResult] = TypeAdapter(
    Annotated[AnyBatchResult, Field(discriminator="kind")]
)
"""Read dictionaries of both kinds."""


class BatchLost(Exception):  # noqa: N818 - names what became of the batch
    """Error for a batch without a result: its worker is gone, and starting it elsewhere did not help."""


class Nodes(Protocol):
    """Machines as the engine uses them. A handle belongs to them; the engine only keeps it."""

    def processor_count(self) -> int:
        """Return the number of processors of the machines that are available now."""

    def survey(self, requirements: NodeRequirements) -> list[NodeInfo]:
        """Return the offers of all machines that are available now to such programs."""

    def send(self, batch: AnyBatch) -> Any:
        """Submit a batch, again elsewhere if its machine goes away; return a handle at once."""

    def wait(self, handles: Sequence[Any], seconds: float) -> Any | None:
        """Return a handle whose result is there, or None after ``seconds``."""

    def fetch(self, handle: Any) -> AnyBatchResult:
        """Return its answer, or raise Lost where there will be none."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel what still runs; no result is wanted any more."""
