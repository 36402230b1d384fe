"""What is said between the engine that spreads programs over machines, and the machines.

Batches travel as plain dictionaries, and both ends check them: nothing but text of a program's output comes back from a
node, and a node with another version of this package is found by what it says, not by what it breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field, TypeAdapter

from caretbench.execution.types import ExecutionRequest, ExecutionResult, Frozen, Isolation, Toolchain
from caretbench.execution.workspaces.workspace import WorkspaceRequest, WorkspaceResult


class Want(NamedTuple):
    """What a program wants of a node; programs of one batch want the same."""

    language: str
    bundle: str | None = None
    needs: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: ExecutionRequest) -> Want:
        """What this request wants."""
        return cls(request.language, request.bundle, tuple(sorted(request.needs)))


class Footing(Frozen):
    """What programs that want one thing find on one node."""

    node: str
    toolchain: Toolchain
    bundle: str = ""
    """Lock hash of the bundle; empty where none is wanted, or it is not built there."""
    obstacle: str = ""
    """Why such programs are skipped there, and what would help."""
    isolation: Isolation | None = None
    fault: str = ""
    """Why no program at all can run there."""

    @property
    def ground(self) -> tuple[str, str, str]:
        """What decides verdicts: nodes where it differs must not share a run."""
        return self.toolchain.fingerprint, self.bundle, self.obstacle


class Batch(Frozen):
    """One batch on its way to a node; ``footing`` is what its programs must find there."""

    kind: Literal["programs"] = "programs"
    want: Want
    footing: Footing
    requests: tuple[ExecutionRequest, ...]


class Ground(NamedTuple):
    """What commands in a project must find on a node, for one language of the project."""

    want: Want
    footing: Footing


class ProjectBatch(Frozen):
    """Commands in one project on their way to a node; ``archive`` is the project itself, for a node that lacks it."""

    kind: Literal["project"] = "project"
    grounds: tuple[Ground, ...]
    snapshot: str
    requests: tuple[WorkspaceRequest, ...]
    archive: bytes | None = None


class _BatchResult(Frozen):
    node: str = ""
    unlike: Footing | None = None
    fault: str = ""
    lacks: bool = False
    """Whether the node wants the batch again, with what it lacks."""


class BatchResult(_BatchResult):
    """Results of a batch, in any order; ``unlike``, where the node is not as the others; or a ``fault``."""

    kind: Literal["programs"] = "programs"
    results: tuple[ExecutionResult, ...] = ()


class ProjectBatchResult(_BatchResult):
    """The same of commands in a project; ``want`` says for what the node is unlike."""

    kind: Literal["project"] = "project"
    results: tuple[WorkspaceResult, ...] = ()
    want: Want | None = None


AnyBatch = Batch | ProjectBatch
AnyBatchResult = BatchResult | ProjectBatchResult

BATCHES: TypeAdapter[AnyBatch] = TypeAdapter(Annotated[AnyBatch, Field(discriminator="kind")])
BATCH_RESULTS: TypeAdapter[AnyBatchResult] = TypeAdapter(
    Annotated[AnyBatchResult, Field(discriminator="kind")]
)
"""Read dictionaries of both kinds."""


class Lost(Exception):  # noqa: N818 - says what became of the batch
    """No answer will come: whatever worked on the batch is gone, and starting it again elsewhere did not help."""


class Nodes(Protocol):
    """The machines, as the engine sees them. A handle is theirs; the engine only keeps it."""

    def processors(self) -> int:
        """Processors of the machines that are there now."""

    def survey(self, want: Want) -> list[Footing]:
        """What every machine that is there now offers to such programs."""

    def send(self, batch: AnyBatch) -> Any:
        """Have a batch worked on, again elsewhere where its machine goes away; gives a handle at once."""

    def wait(self, handles: Sequence[Any], seconds: float) -> Any | None:
        """Return a handle whose answer is there, or None after so many seconds."""

    def fetch(self, handle: Any) -> AnyBatchResult:
        """Return its answer, or raise Lost where there will be none."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """End what still runs; no answer is wanted any more."""
