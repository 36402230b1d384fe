"""Resolved settings of one model under test, and of one judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from caretbench.models import ClientOptions, Sampling
from caretbench.prompts.instructions import InstructionMode


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
    instruction: InstructionMode | None = None
    """Placement of instructions; None: ``shown``, the default."""
    options: ClientOptions = field(default_factory=ClientOptions)

    @property
    def title(self) -> str:
        """Name, with the mode of ``--instruction`` if one is chosen."""
        return self.name if self.instruction is None else f"{self.name} (instruction {self.instruction})"


class JudgePlan(NamedTuple):
    """One judge."""

    name: str
    spec: str
    options: ClientOptions = ClientOptions()
