"""Distributions of the problems next to the paper's usage data (its Figure 1): kinds, lines, text typed before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from caretbench.problem import Problem
from caretbench.suites.codevbench.tables.parts import OTHER
from caretbench.suites.codevbench.tables.printed_numbers import usage_shares
from caretbench.suites.codevbench.tables.weightings import usage_group

_MANY_CHARACTERS: Final = 10


class Share(NamedTuple):
    """Share of one value in percent; the paper's is None where it is not printed."""

    subject: str
    value: str
    problems: float
    usage: float | None


def _kind(problem: Problem) -> str:
    return usage_group(problem) or OTHER


def _lines(problem: Problem) -> str:
    """Return the extent of the right answer: nothing, a part of a line, a whole line, or several lines."""
    reference = problem.reference.removesuffix("\n")
    if not reference.strip():
        return "nothing"
    if "\n" in reference:
        return "several_lines"
    return "partial_line" if _typed_text(problem) or _rest_of_line(problem).strip() else "whole_line"


def _typed_text(problem: Problem) -> str:
    """Return the text before the caret in its line, without indentation."""
    return problem.caret.prefix.rpartition("\n")[2].lstrip()


def _rest_of_line(problem: Problem) -> str:
    return "" if problem.reference.endswith("\n") else problem.caret.suffix.partition("\n")[0]


def _typed(problem: Problem) -> str:
    length = len(_typed_text(problem))
    return "none" if not length else "over_10_characters" if length > _MANY_CHARACTERS else "1_to_10_characters"


_SUBJECTS: Final[Mapping[str, tuple[str, Callable[[Problem], str], tuple[str, ...]]]] = {
    "block": ("Kind of block", _kind, ("statement", "comment", "control_logic", "function", OTHER)),
    "lines": ("Answer", _lines, ("whole_line", "partial_line", "several_lines", "nothing")),
    "typed": ("Typed before the caret in its line", _typed, ("over_10_characters", "1_to_10_characters", "none")),
}  # fmt: skip


def distributions(problems: Iterable[Problem]) -> Iterator[Share]:
    """Yield the shares of the problems, next to the printed ones; nothing without problems."""
    known = list(problems)
    for name, (title, value_of, values) in _SUBJECTS.items():
        counts = Counter(map(value_of, known))
        for value in values if known else ():
            printed = usage_shares(name).get(value)
            yield Share(title, value.replace("_", " "), 100 * counts[value] / len(known), printed)
