"""Choice of a problem's criterion: named by its checks, or the profile's for a caret without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from caretbench.judging.criteria import Criterion, criterion
from caretbench.problem import Caret, CriterionCheck, Problem, Profile
from caretbench.profiles import rules_of


class Part(NamedTuple):
    """Problems that are judged by one criterion."""

    criterion: Criterion
    problems: tuple[Problem, ...]


def criteria_for(problem: Problem, profile: Profile) -> Iterator[Criterion]:
    """Return the criteria of a problem; none for a choice.

    Under ``paper`` the equivalent of the published criterion replaces the named one.

    Raises:
        KeyError: a check names a criterion that is not known; the message lists the known ones.
    """
    named = [check.name for check in problem.checks if isinstance(check, CriterionCheck)]
    if not named and isinstance(problem.shown, Caret):
        named = [rules_of(profile).criterion]
    for name in named:
        found = criterion(name)
        yield criterion(found.paper) if rules_of(profile).released_criterion and found.paper else found


def parts(problems: Sequence[Problem], profile: Profile, asked: Criterion | None = None) -> list[Part]:
    """Return the problems by criterion, in the order in which these come up; a problem may be in several parts.

    ``asked`` is asked of all problems that a judge is asked about, as far as it is about problems of their kind.

    Raises:
        ValueError: ``asked`` is about statements, which only another criterion finds.
    """
    if asked is not None and asked.subject == "claim":
        raise ValueError(f"{asked.key} judges the statements that another criterion finds; ask for that one")
    found: dict[str, tuple[Criterion, list[Problem]]] = {}
    for problem in problems:
        wanted = list(criteria_for(problem, profile))
        if asked is not None:
            wanted = [asked] if wanted and _fits(asked, problem) else []
        for entry in wanted:
            found.setdefault(entry.key, (entry, []))[1].append(problem)
    return [Part(entry, tuple(chosen)) for entry, chosen in found.values()]


def _fits(asked: Criterion, problem: Problem) -> bool:
    return (asked.subject == "caret") == isinstance(problem.shown, Caret)
