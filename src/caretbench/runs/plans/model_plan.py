"""Resolved settings of one model under test, and of one judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from caretbench.models import ClientOptions, Sampling
from caretbench.prompts.instructions import AskingMode, mode_words


@dataclass(frozen=True)
class ModelPlan:
    """One model under test, asked in one way: ``name`` is in the rows, ``spec`` is its name for the client."""

    name: str
    spec: str
    sampling: Sampling = field(default_factory=Sampling)
    samples: int = 1
    prompt: str | None = None
    context: str | None = None
    preprocess: tuple[str, ...] = ()
    prompt_tokens: int | None = None
    instruction: AskingMode | None = None
    """Placement of instructions, or ``blind``; None: ``shown``, the default."""
    options: ClientOptions = field(default_factory=ClientOptions)

    @property
    def title(self) -> str:
        """Name, with the mode of ``--instruction`` or ``--blind`` if there is one."""
        return self.name if self.instruction is None else f"{self.name} ({mode_words(self.instruction)})"


class JudgePlan(NamedTuple):
    """One judge."""

    name: str
    spec: str
    options: ClientOptions = ClientOptions()
