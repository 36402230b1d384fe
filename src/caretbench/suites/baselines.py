"""Baselines that need no model: every score stands beside what these reach.

``reference`` writes the reference, ``empty`` nothing, ``stub`` the least that a program of that kind accepts, and
``copy-context`` the lines that followed the line most like the caret's in the text that is shown. A suite of questions
has its own (:attr:`caretbench.suites.base.Suite.baselines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rapidfuzz import fuzz

from caretbench.problem import Caret, Completion, Problem
from caretbench.validation.mutants import stub

_COPIED_LINES = 6


def _reference(problem: Problem) -> str:
    return problem.reference


def _empty(_problem: Problem) -> str:
    return ""


def _copy_context(problem: Problem) -> str:
    """Return the lines after the shown line that is most like the last whole line before the caret.

    The comparison is by Indel similarity; of equal ones the nearest before the caret wins. Retrieval from the same
    file only: other problems are not looked at.
    """
    caret = problem.caret
    before = caret.prefix.splitlines()
    lines = before + caret.suffix.splitlines()
    anchor = max((index for index, line in enumerate(before) if line.strip()), default=None)
    if anchor is None:
        return ""
    best, best_score = None, 0.0
    for index, line in enumerate(lines[:-1]):
        if index == anchor or not line.strip():
            continue
        likeness = fuzz.ratio(line.strip(), before[anchor].strip())
        if likeness > best_score or (likeness == best_score and index < anchor):
            best, best_score = index, likeness
    if best is None:
        return ""
    copied = "\n".join(lines[best + 1 : best + 1 + _COPIED_LINES])
    return copied + "\n" if caret.prefix.endswith("\n") else copied.lstrip()


BaselineFunction = Callable[[Problem], str | None]
"""From a problem to a baseline's answer; None: it has none for such a problem."""

BASELINES: Mapping[str, BaselineFunction] = {
    "reference": _reference,
    "empty": _empty,
    "stub": stub,
    "copy-context": _copy_context,
}


QUESTION_BASELINES = ("random", "always-a", "longest", "shortest", "consensus", "lexical", "copy")
"""Names of baselines of suites that ask questions: what needs no understanding may still find the right choice."""

BASELINE_NAMES = (*BASELINES, *QUESTION_BASELINES)
"""All names that are no model's, in the order in which they are shown."""


def baseline_completions(
    name: str, problems: Sequence[Problem], functions: Mapping[str, BaselineFunction] = BASELINES
) -> Iterator[Completion]:
    """Yield the completions of one baseline for every problem that it has an answer to.

    Raises:
        KeyError: no such baseline; the message lists the known ones.
    """
    if name not in functions:
        raise KeyError(f"unknown baseline {name!r}; known: {', '.join(functions)}")
    for problem in problems:
        if functions is BASELINES and not isinstance(problem.shown, Caret):
            continue
        if (text := functions[name](problem)) is not None:
            yield Completion(problem_id=problem.id, model=name, text=text)
