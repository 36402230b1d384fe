"""Verdicts on problems, and the resumable loop of every gate, which stores verdicts one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from caretbench.files import RowAppender, cache_folder, read_appended, write_rows
from caretbench.problem import Problem, Row

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


class ResumableGate(ABC):
    """Base class of gates: reuses stored verdicts, and decides the missing ones by :meth:`decide`."""

    version: ClassVar[int] = GATE_VERSION
    """Version of the rules; a suite's own gate may have a higher one than :data:`GATE_VERSION`."""
    progress: Callable[[int], None]
    """Called with the number of newly decided problems."""
    refuses_accesses: bool = True
    """A problem is invalid if its reference does what construction forbids; if not, its row only names the access."""

    @abstractmethod
    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield a verdict on each problem as soon as it is decided, in any order.

        ``all_problems`` is the whole set, in which near-duplicates are searched; by default ``problems``.
        """

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """Return the verdicts on all problems, in order; missing ones are decided and appended to ``path``.

        Verdicts of an older version of the gate are decided again and replaced.

        Raises:
            DataError: the file is damaged, or a project is not on this machine.
        """
        with RowAppender(path) as appender:
            stored = {row.problem_id: row for row in read_appended(path, Validity)}
            known = {name: row for name, row in stored.items() if row.gate == self.version}
            waiting = [problem for problem in problems if problem.id not in known]
            self.progress(len(problems) - len(waiting))
            for decided in self.decide(waiting, problems):
                verdict = decided.model_copy(update={"gate": self.version})
                appender.append(verdict)
                known[verdict.problem_id] = verdict
                self.progress(1)
        if stored.keys() & {problem.id for problem in waiting}:
            write_rows(path, (stored | known).values())
        return [known[problem.id] for problem in problems]
