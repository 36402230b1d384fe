"""Criteria of a problem: those that its checks name, or at a caret without one the profile's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.judging.criteria import Criterion, criterion
from caretbench.problem import Caret, CriterionCheck, Problem, Profile
from caretbench.profiles import rules_of


class CriterionProblems(NamedTuple):
    """Problems that are judged by one criterion."""

    criterion: Criterion
    problems: tuple[Problem, ...]


def criteria_for(problem: Problem, profile: Profile) -> Iterator[Criterion]:
    """Yield the criteria of a problem; none for a multiple-choice problem.

    Under ``paper``, the criterion of the paper replaces the named one. A caret with an instruction has only those that
    its checks name: the profile's own does not show the instruction.

    Raises:
        UsageError: a check names an unknown criterion; the message lists the known ones.
    """
    named = [check.name for check in problem.checks if isinstance(check, CriterionCheck)]
    if not named and isinstance(problem.shown, Caret) and not problem.shown.instruction:
        named = [rules_of(profile).criterion]
    for name in named:
        found = criterion(name)
        yield criterion(found.paper) if rules_of(profile).released_criterion and found.paper else found


def problems_by_criterion(
    problems: Sequence[Problem], profile: Profile, only: Criterion | None = None
) -> list[CriterionProblems]:
    """Return the problems of each criterion, in the order of first use; a problem may have several criteria.

    With ``only``, this criterion replaces those of all judged problems of its kind (carets or questions, with an
    instruction if it shows one).

    Raises:
        UsageError: ``only`` is about statements, which another criterion must find first.
    """
    if only is not None and only.subject == "claim":
        raise UsageError(f"{only.key} judges the statements that another criterion finds; name that one instead")
    found: dict[str, tuple[Criterion, list[Problem]]] = {}
    for problem in problems:
        criteria = list(criteria_for(problem, profile))
        if only is not None:
            criteria = [only] if criteria and _applies(only, problem) else []
        for entry in criteria:
            found.setdefault(entry.key, (entry, []))[1].append(problem)
    return [CriterionProblems(entry, tuple(chosen)) for entry, chosen in found.values()]


def instructed_problems(problems: Sequence[Problem], profile: Profile) -> list[Problem]:
    """Return the judged problems with an instruction, from which the controls of criteria that show it are taken."""
    return [
        problem
        for problem in problems
        if isinstance(problem.shown, Caret) and problem.shown.instruction and any(criteria_for(problem, profile))
    ]


def _applies(criterion: Criterion, problem: Problem) -> bool:
    if criterion.subject != "caret":
        return not isinstance(problem.shown, Caret)
    return isinstance(problem.shown, Caret) and (not criterion.shows_instruction or bool(problem.shown.instruction))
