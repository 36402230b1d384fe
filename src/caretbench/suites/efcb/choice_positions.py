"""Positions of the correct choice: each letter equally often, in an unpredictable order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from caretbench.problem import Problem, Question
from caretbench.suites.efcb.seeding import seeded_random

LETTERS: Final = "ABCD"
CHOICE_COUNT: Final = len(LETTERS)
WRONG_CHOICE_COUNT: Final = CHOICE_COUNT - 1
"""Number of wrong choices of a question."""

T = TypeVar("T")


def balanced_positions(
    groups: Mapping[str, str], seed: int, purpose: str, value_count: int = CHOICE_COUNT
) -> dict[str, int]:
    """Return a value from 0 to ``value_count - 1`` for each item, with balanced counts overall and by group.

    Counts differ by at most 1. Items of a group are taken in the order of their keys; each block of ``value_count``
    items gets a permutation. Incomplete blocks of all groups share one cyclic permutation. Different purposes are
    independent.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for key in sorted(groups):
        members[groups[key]].append(key)
    around = seeded_random(seed, purpose, "left over").sample(range(value_count), value_count)
    taken = 0
    found: dict[str, int] = {}
    for group in sorted(members):
        for start in range(0, len(members[group]), value_count):
            block = members[group][start : start + value_count]
            given = list(range(value_count))
            if len(block) < value_count:
                given = [around[(taken + index) % value_count] for index in range(len(block))]
                taken += len(block)
            seeded_random(seed, purpose, f"{group} block {start // value_count}").shuffle(given)
            found.update(zip(block, given, strict=True))
    return found


def insert_choice(right: T, others: Sequence[T], position: int) -> tuple[T, ...]:
    """Return all choices, with the correct one at ``position``."""
    return (*others[:position], right, *others[position:])


def rotate_choices(choices: Sequence[T], correct: int, count: int) -> Iterator[tuple[int, tuple[T, ...], int]]:
    """Yield the first ``count`` cyclic orders: number of steps, choices, and index of the correct one.

    All orders together show every choice once at every position.
    """
    for turn in range(count):
        first = len(choices) - turn
        yield turn, (*choices[first:], *choices[:first]), (correct + turn) % len(choices)


INSTRUCTION: Final = "Which of these patches makes the change that the following text describes?\n\n"


CHOICE_SET_LABEL: Final = "choice_set"
"""Label of questions with the same four choices, which are one cluster in a tier's intervals."""


def query_text(problem: Problem) -> str:
    """Return the query of a choice problem, without the instruction.

    Raises:
        TypeError: the problem is no question.
    """
    if not isinstance(problem.shown, Question):
        raise TypeError(f"{problem.id} is no question")
    return problem.shown.text.removeprefix(INSTRUCTION)
