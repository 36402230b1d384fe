"""Project context of a run's prompts, as selected by ``--context``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from caretbench.errors import UsageError
from caretbench.problem import Caret, Problem
from caretbench.suites.base import Suite


@dataclass(frozen=True)
class SuiteContext:
    """A context strategy of all suites of a run; implements :class:`caretbench.runs.generate.Context`."""

    name: str
    suites: Mapping[str, Suite]

    @property
    def key(self) -> str:
        """Name and version, such as ``retrieval@1``; several versions are joined by ``+``."""
        return "+".join(dict.fromkeys(f"{self.name}@{suite.contexts[self.name]}" for suite in self.suites.values()))

    def __call__(self, problem: Problem) -> Caret:
        """Return the caret of a problem with its context."""
        return self.suites[problem.suite].caret_in_context(problem, self.name)


def suite_context(suites: Iterable[Suite], name: str | None) -> SuiteContext | None:
    """Return the context with this name; None for the problems' own text.

    Raises:
        UsageError: a suite has no contexts, or none with this name.
    """
    if name is None:
        return None
    offering: dict[str, Suite] = {}
    for suite in suites:
        if not suite.contexts:
            raise UsageError(f"context {name!r}: {suite.name} shows its problems in one way only")
        if name not in suite.contexts:
            raise UsageError(f"context {name!r}: {suite.name} does not know it; known: {', '.join(suite.contexts)}")
        offering[suite.name] = suite
    as_they_are = all(name == next(iter(suite.contexts)) for suite in offering.values())
    return None if as_they_are else SuiteContext(name, offering)
