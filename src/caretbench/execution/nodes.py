"""What is said between the engine that spreads programs over machines, and the machines.

Chunks travel as plain dictionaries, and both ends check them: nothing but text of a program's output comes back from a
node, and a node with another version of this package is found by what it says, not by what it breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from caretbench.execution.types import ExecutionRequest, ExecutionResult, Frozen, Isolation, Toolchain


class Want(NamedTuple):
    """What a program wants of a node; programs of one chunk want the same."""

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


class Order(Frozen):
    """One chunk on its way to a node; ``footing`` is what its programs must find there."""

    want: Want
    footing: Footing
    requests: tuple[ExecutionRequest, ...]


class Answer(Frozen):
    """What came of a chunk: results in any order; ``unlike``, where the node is not as the others; or a ``fault``."""

    node: str = ""
    results: tuple[ExecutionResult, ...] = ()
    unlike: Footing | None = None
    fault: str = ""


class Lost(Exception):  # noqa: N818 - says what became of the chunk
    """No answer will come: whatever worked on the chunk is gone, and starting it again elsewhere did not help."""


class Nodes(Protocol):
    """The machines, as the engine sees them. A handle is theirs; the engine only keeps it."""

    def processors(self) -> int:
        """Processors of the machines that are there now."""
        ...

    def survey(self, want: Want) -> list[Footing]:
        """What every machine that is there now offers to such programs."""
        ...

    def send(self, order: Order) -> Any:
        """Have a chunk worked on, again elsewhere where its machine goes away; gives a handle at once."""
        ...

    def wait(self, handles: Sequence[Any], seconds: float) -> Any | None:
        """A handle whose answer is there, or None after so many seconds."""
        ...

    def fetch(self, handle: Any) -> Answer:
        """Its answer.

        Raises:
            Lost: there will be none.
        """
        ...

    def cancel(self, handles: Sequence[Any]) -> None:
        """End what still runs; no answer is wanted any more."""
        ...
