"""Positions of the right answer: each letter equally often, in an unpredictable order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from caretbench.suites.efcb.seeding import rng

LETTERS: Final = "ABCD"
CHOICES: Final = len(LETTERS)
WRONG: Final = CHOICES - 1
"""Number of wrong choices of a question."""

T = TypeVar("T")


def balanced(groups: Mapping[str, str], seed: int, purpose: str, values: int = CHOICES) -> dict[str, int]:
    """A value from 0 to ``values - 1`` for each item; counts differ by at most 1, overall and within each group.

    Items of a group are taken in the order of their keys; each block of ``values`` consecutive ones gets a
    permutation. The items that are left over in the groups share one permutation that goes round.
    Two purposes are independent.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for key in sorted(groups):
        members[groups[key]].append(key)
    around = rng(seed, purpose, "left over").sample(range(values), values)
    taken = 0
    found: dict[str, int] = {}
    for group in sorted(members):
        for start in range(0, len(members[group]), values):
            block = members[group][start : start + values]
            given = list(range(values))
            if len(block) < values:
                given = [around[(taken + index) % values] for index in range(len(block))]
                taken += len(block)
            rng(seed, purpose, f"{group} block {start // values}").shuffle(given)
            found.update(zip(block, given, strict=True))
    return found


def placed(right: T, others: Sequence[T], position: int) -> tuple[T, ...]:
    """Return all choices, with the right one at ``position``."""
    return (*others[:position], right, *others[position:])


def rotations(choices: Sequence[T], correct: int, count: int) -> Iterator[tuple[int, tuple[T, ...], int]]:
    """Yield the first ``count`` cyclic orders: how far they are turned, the choices, and where the right one is.

    All of them together show every choice at every place once.
    """
    for turn in range(count):
        first = len(choices) - turn
        yield turn, (*choices[first:], *choices[:first]), (correct + turn) % len(choices)
