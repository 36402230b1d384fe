"""Sets of three wrong choices, and what a solver could tell the right one by in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.suites.efcb.balancing import Vector
from caretbench.suites.efcb.lexical import Scores
from caretbench.suites.efcb.positions import CHOICES

_Numbers = npt.NDArray[np.int64]


class WrongChoices(NamedTuple):
    """Three candidates, by their places in the list, and what they cost."""

    cost: float
    members: tuple[int, ...]


@cache
def _triples(count: int) -> _Numbers:
    return np.array(list(combinations(range(count), CHOICES - 1)), dtype=np.int64).reshape(-1, CHOICES - 1)


def sets_by_rank(
    likenesses: Sequence[Scores], compared: Sequence[Scores], costs: Scores
) -> Mapping[Vector, WrongChoices]:
    """The cheapest set for each combination of ranks that the right choice can have.

    Ranks count the wrong choices with more of something than the right one has: with more likeness to the other three
    (0 where the right choice is the most central of the four), then with more of each quantity that is compared. Sets
    in which something is equally much are left out: nobody could say which rank that is.

    Args:
        likenesses: Squares that say how alike each two are, the right choice first, then the candidates.
        compared: Arrays in the same order: sizes, scores.
        costs: What each candidate costs; a set costs the sum.
    """
    triples = _triples(len(costs))
    if not len(triples):
        return {}
    rows = triples + 1
    ranks = []
    clear = np.ones(len(rows), dtype=bool)
    for wrong, right in (
        *(_centrality(likeness, rows) for likeness in likenesses),
        *((values[rows], values[0]) for values in compared),
    ):
        ranks.append((wrong > right).sum(axis=1))
        clear &= ~np.isclose(wrong, right, rtol=1e-9, atol=0).any(axis=1)
    total = costs[triples].sum(axis=1)
    found: dict[Vector, WrongChoices] = {}
    vectors = np.stack(ranks, axis=1)
    for index in np.lexsort((np.arange(len(total)), total)):
        if clear[index]:
            vector = tuple(int(rank) for rank in vectors[index])
            if vector not in found:
                members = tuple(int(member) for member in triples[index])
                found[vector] = WrongChoices(float(total[index]), members)
    return found


def _centrality(likeness: Scores, rows: _Numbers) -> tuple[Scores, Scores]:
    """What each wrong choice of each set has of likeness to the other three, and what the right one has."""
    to_right = likeness[0][rows]
    first, second, third = (likeness[rows[:, one], rows[:, other]] for one, other in ((0, 1), (0, 2), (1, 2)))
    wrong = to_right + np.stack((first + second, first + third, second + third), axis=1)
    return wrong, to_right.sum(axis=1, keepdims=True)
