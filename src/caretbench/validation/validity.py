"""Verdicts on problems, and the loop of every gate, which decides what is missing and stores verdicts one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from caretbench.files import RowAppender, cache_folder, read_rows, write_rows
from caretbench.problem import Problem, Row
from caretbench.versions import current_text

Verdict = Literal["valid", "unverified", "invalid"]

GATE: Final = 2
"""Version of the rules. 2: a mutant that writes too much (``OUTPUT_LIMIT``) is killed, in programs too."""


class Validity(Row):
    """The gate's verdict on one problem, with its reasons."""

    problem_id: str
    verdict: Verdict
    reasons: tuple[Annotated[str, AfterValidator(current_text)], ...] = ()
    details: dict[str, str] = Field(default_factory=dict)
    gate: int = 1
    """Version of the gate; 1 for rows of before there were versions."""

    @property
    def key(self) -> tuple[str]:
        """What makes the row unique in its file."""
        return (self.problem_id,)


def verdicts_path(suite_name: str, data_hash: str) -> Path:
    """Return the file in the cache that stores the gate's verdicts on a set of problems."""
    return cache_folder() / "validity" / f"{suite_name}-{data_hash[:16]}.jsonl"


class GateLoop(ABC):
    """A gate that goes on after a stop. A kind of problem is a subclass with a strategy of its own, ``decide``."""

    progress: Callable[[int], None]
    """Called with the number of problems that were decided since the last call."""

    @abstractmethod
    def decide(self, problems: Sequence[Problem], beside: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield a verdict on each problem as soon as it is there, in any order.

        ``beside`` are all problems of the set, of which one may repeat another; by default ``problems`` alone.
        """

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """Return the verdicts on all problems, in order; the missing ones are decided and appended to ``path``.

        Those of an older gate are missing too; the new row takes the old one's place.

        Raises:
            DataError: the file is damaged, or a project is not here.
        """
        with RowAppender(path) as appender:
            stored = {row.problem_id: row for row in read_rows(path, Validity, allow_partial_last_line=True)}
            known = {name: row for name, row in stored.items() if row.gate == GATE}
            waiting = [problem for problem in problems if problem.id not in known]
            self.progress(len(problems) - len(waiting))
            for decided in self.decide(waiting, problems):
                verdict = decided.model_copy(update={"gate": GATE})
                appender.append(verdict)
                known[verdict.problem_id] = verdict
                self.progress(1)
        if stored.keys() & {problem.id for problem in waiting}:
            write_rows(path, (stored | known).values())
        return [known[problem.id] for problem in problems]
