"""Base class of gates: the resumable loop, which stores verdicts one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from caretbench.files import RowAppender, read_appended, write_rows
from caretbench.problem import Problem
from caretbench.suites.validity import GATE_VERSION, Validity


class ProblemGate(Protocol):
    """A gate that validates problems."""

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """Return the verdicts on all problems, in order; append the missing ones to ``path``."""


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
            current = {name: row for name, row in stored.items() if row.gate == self.version}
            waiting = [problem for problem in problems if problem.id not in current]
            self.progress(len(problems) - len(waiting))
            for decided in self.decide(waiting, problems):
                verdict = decided.model_copy(update={"gate": self.version})
                appender.append(verdict)
                current[verdict.problem_id] = verdict
                self.progress(1)
        if stored.keys() & {problem.id for problem in waiting}:
            write_rows(path, (stored | current).values())
        return [current[problem.id] for problem in problems]
