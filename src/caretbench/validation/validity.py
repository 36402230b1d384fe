"""Verdicts of the gate: is a problem fit to measure anything?"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from caretbench.files import cache_folder
from caretbench.problem import Row


class Validity(Row):
    """The gate's verdict on one problem, with its reasons."""

    problem_id: str
    verdict: Literal["valid", "unverified", "invalid"]
    reasons: tuple[str, ...] = ()
    details: dict[str, str] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str]:
        """What makes the row unique in its file."""
        return (self.problem_id,)


def verdicts_path(suite_name: str, data_hash: str) -> Path:
    """The file in the cache that stores the gate's verdicts on a set of problems."""
    return cache_folder() / "validity" / f"{suite_name}-{data_hash[:16]}.jsonl"
