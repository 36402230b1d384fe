"""``--context``: in which way the suites of a run show the projects around their problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from caretbench.problem import Caret, Problem
from caretbench.suites.base import Suite


@dataclass(frozen=True)
class Showing:
    """One context, of every suite of a run. See :class:`caretbench.runs.model_under_test.Context`."""

    name: str
    suites: Mapping[str, Suite]

    @property
    def key(self) -> str:
        """Name and version, ``retrieval@1``; of several suites whose versions differ, all of them."""
        return "+".join(
            dict.fromkeys(f"{self.name}@{one.contexts[self.name]}" for one in self.suites.values())
        )

    def __call__(self, problem: Problem) -> Caret:
        """What is shown of a problem of one of the suites."""
        return self.suites[problem.suite].in_context(problem, self.name)


def showing(suites: Iterable[Suite], name: str | None) -> Showing | None:
    """Return the context of this name; None where problems are shown as they are, named or not.

    Raises:
        ValueError: a suite offers no contexts, or none of this name.
    """
    if name is None:
        return None
    offering: dict[str, Suite] = {}
    for suite in suites:
        if not suite.contexts:
            raise ValueError(f"context {name!r}: {suite.name} shows its problems in one way only")
        if name not in suite.contexts:
            known = ", ".join(suite.contexts)
            raise ValueError(f"context {name!r}: {suite.name} does not know it; known: {known}")
        offering[suite.name] = suite
    as_they_are = all(name == next(iter(one.contexts)) for one in offering.values())
    return None if as_they_are else Showing(name, offering)
