"""Verdicts of the gate: is a problem fit to measure anything?"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from caretbench.files import cache_folder

GATE: Final = 2
"""Version of the rules. 2: a mutant that writes too much (``OUTPUT_LIMIT``) is killed, in programs too."""


class Validity(BaseModel):
    """The gate's verdict on one problem, with its reasons."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    problem_id: str
    verdict: Literal["valid", "unverified", "invalid"]
    reasons: tuple[str, ...] = ()
    details: dict[str, str] = Field(default_factory=dict)
    gate: int = 1
    """Version of the gate; 1 for rows of before there were versions."""

    @property
    def key(self) -> tuple[str]:
        """What makes the row unique in its file."""
        return (self.problem_id,)


def verdicts_path(suite_name: str, data_hash: str) -> Path:
    """The file in the cache that stores the gate's verdicts on a set of problems."""
    return cache_folder() / "validity" / f"{suite_name}-{data_hash[:16]}.jsonl"
