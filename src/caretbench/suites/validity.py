"""Verdicts of gates on problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from caretbench.files import cache_folder
from caretbench.problem import Row

Verdict = Literal["valid", "unverified", "invalid"]

GATE_VERSION: Final = 6
"""Version of the rules. 2: a mutant that writes too much (``OUTPUT_LIMIT``) is killed, in programs too. 3: questions of
a tier that position, length or consensus answers are invalid. 4: a reference that fails among other
programs is decided by three runs alone. 5: the strongest mutants come first, and the parser finds the stub; a missing
argument, the caret's line again and other layouts are tried; a problem without any mutant is unverified. 6: a
reference that connects, opens files outside of the temporary folder or reads its own source is invalid."""
UNSEEN: Final = "unseen"
"""Result of the check of accesses where the sandbox could not see what the reference opens."""


class Validity(Row):
    """The gate's verdict on one problem, with its reasons."""

    problem_id: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    details: dict[str, str] = Field(default_factory=dict)
    gate: int = 1
    """Version of the gate; 1 for rows without a version."""

    @property
    def key(self) -> tuple[str]:
        """Unique key of the row in its file."""
        return (self.problem_id,)


def strength_counts(rows: Iterable[Validity]) -> Counter[str]:
    """Return the number of valid problems by the strength of the killed mutant, as far as the gate says it."""
    return Counter(row.details["strength"] for row in rows if row.verdict == "valid" and "strength" in row.details)


def verdicts_path(suite_name: str, data_hash: str) -> Path:
    """Return the file in the cache that stores the gate's verdicts on a set of problems."""
    return cache_folder() / "validity" / f"{suite_name}-{data_hash[:16]}.jsonl"
