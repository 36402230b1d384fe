"""Folder of a build as runs read it: its problems, and the leak report that may have stopped it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from caretbench.files import DataError, read_rows
from caretbench.problem import Problem, Row
from caretbench.suites.efcb.lexical_similarity import MIN_QUESTIONS

# Chance alone exceeds three standard errors for one attack in 740.
MAX_STANDARD_ERRORS: Final = 3.0


LeakKind = Literal["limit", "floor"]


class Leak(Row):
    """The accuracy of one attack in one tier of one task; an exceeded ``limit`` fails the build.

    ``accuracy`` and ``chance`` are shares from 0 to 1, ``standard_error`` is that of guessing. A limit allows three
    standard errors above chance.
    """

    task: str
    tier: str = ""
    query: str = ""
    attack: str
    kind: LeakKind
    problems: int
    accuracy: float
    chance: float
    standard_error: float

    @property
    def deviation(self) -> float:
        """Number of standard errors above chance."""
        return (self.accuracy - self.chance) / self.standard_error if self.standard_error else 0.0

    @property
    def has_too_few_questions(self) -> bool:
        """Return whether the tier has too few questions to test."""
        return self.problems < MIN_QUESTIONS

    @property
    def exceeds_limit(self) -> bool:
        """Return whether a limit is exceeded."""
        # A deviation of exactly three standard errors is within the limit on every machine.
        return self.kind == "limit" and self.deviation > MAX_STANDARD_ERRORS + 1e-9


class BuiltFolder:
    """Reader of a build's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pull_requests_path = path / "pull_requests.jsonl"
        self.manifest_path = path / "manifest.json"
        self.rejected_path = path / "rejected.jsonl"
        self.leaks_path = path / "leaks.jsonl"
        self.candidates_path = path / "candidates.jsonl"
        self.problems_path = path / "problems.jsonl"

    def has_build(self) -> bool:
        """Return whether the folder contains a build, finished or not."""
        return any(path.exists() for path in (self.problems_path, self.manifest_path, self.pull_requests_path))

    def read_leaks(self) -> list[Leak]:
        """Return the leak report; empty if there is none."""
        return list(read_rows(self.leaks_path, Leak)) if self.leaks_path.exists() else []

    def read_problems(self) -> list[Problem]:
        """Return the problems to run.

        Raises:
            DataError: there are none, because the build is unfinished or failed; or a row is wrong.
        """
        if not self.problems_path.exists():
            # Both cases leave the same files, and the remedies are opposite: one build is to be run again, the other
            # never gets further.
            why = (
                "the leak report stopped the build; see leaks.jsonl"
                if any(leak.exceeds_limit for leak in self.read_leaks())
                else "run the same `caretbench build efcb` command again to continue"
            )
            raise DataError(f"{self.path}: no problems.jsonl: {why}")
        return list(read_rows(self.problems_path, Problem))
