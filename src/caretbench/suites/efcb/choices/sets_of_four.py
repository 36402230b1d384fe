"""Sets of four changes for GMCQ-Easy, each change in one set at most.

Every member of a set is asked for once, next to the same three others. A rule that sees the four choices and not the
text takes one of them, whichever is asked for, and so is right in one question of four, exactly: no such rule, known
or learned, tells anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.suites.efcb.choices.pair_fairness import Indices, Mask
from caretbench.suites.efcb.positions import WRONG

Costs = npt.NDArray[np.float64]
Four = tuple[int, ...]

_FIRST_LOOK: Final = 14
_SECOND_LOOK: Final = 40
# Sets that are tried as the place of a change that is in none.
_REPAIRS: Final = 24


class Relations(NamedTuple):
    """Relations of ``size`` changes that sets are made by, all of them symmetric in the members of a set.

    ``near`` are the best fair partners of a change, the cheapest first; ``partners`` all of them, in an order that is
    always the same. ``fair`` is the fairness of each two changes, as a square. ``costs`` are those of sets, the first
    of the rows with three others each, by their places; infinite where a set is not wanted. ``order`` decides between
    equals.
    """

    size: int
    near: Callable[[int], Indices]
    partners: Callable[[int], Indices]
    fair: Callable[[Indices], Mask]
    costs: Callable[[Indices, Indices], Costs]
    order: Sequence[float]


@cache
def _triples(count: int) -> Indices:
    """Return all sets of three different numbers from 1 to ``count``."""
    return 1 + np.array(list(combinations(range(count), WRONG)), dtype=np.int64).reshape(-1, WRONG)


def sets_of_four(relations: Relations) -> list[Four]:
    """Return disjoint sets whose members are pairwise fair, preferring low cost.

    Changes with the fewest partners are placed first. A leftover change then replaces a member of a set if that member
    can form a new set from other leftovers.
    """
    free = np.ones(relations.size, dtype=bool)
    partners = [relations.partners(index) for index in range(relations.size)]
    found: list[Four] = []
    order = sorted(range(relations.size), key=lambda index: (len(partners[index]), relations.order[index]))
    for index in order:
        if free[index] and (four := _with(index, partners[index], free, relations)):
            free[list(four)] = False
            found.append(four)
    return _repaired(found, free, partners, order, relations)


def _with(index: int, partners: Indices, free: Mask, relations: Relations) -> Four | None:
    """The cheapest set with a change among its nearest free partners; of more partners, where these give none."""
    near = relations.near(index)
    near = near[free[near]][:_FIRST_LOOK]
    rest = partners[free[partners]]
    further = np.concatenate((near, rest[~np.isin(rest, near)]))[:_SECOND_LOOK]
    return _cheapest(index, near, relations) or (
        _cheapest(index, further, relations) if len(further) > len(near) else None
    )


def _cheapest(index: int, others: Indices, relations: Relations) -> Four | None:
    if len(others) < WRONG:
        return None
    rows = np.array([index, *others], dtype=np.int64)
    fair = relations.fair(rows)
    triples = _triples(len(others))
    one, two, three = triples.T
    triples = triples[fair[one, two] & fair[one, three] & fair[two, three]]
    if not len(triples):
        return None
    costs = np.round(relations.costs(rows, triples), 9)
    best = int(costs.argmin())
    return (index, *(int(row) for row in rows[triples[best]])) if np.isfinite(costs[best]) else None


def _repaired(
    found: list[Four], free: Mask, partners: Sequence[Indices], order: Sequence[int], relations: Relations
) -> list[Four]:
    """The sets, and more: a change that is left takes the place of a member that finds a set among the others left."""
    for index in order:
        if not free[index] or not found:
            continue
        is_partner = np.zeros(relations.size, dtype=bool)
        is_partner[partners[index]] = True
        held = is_partner[np.array(found)]
        tried = 0
        for place in np.flatnonzero(held.sum(axis=1) >= WRONG):
            members = found[place]
            strangers = [member for member, fits in zip(members, held[place], strict=True) if not fits]
            for given in strangers or members:
                kept = tuple(member for member in members if member != given)
                tried += 1
                four = _freed(index, given, kept, partners[given], free, relations)
                if four is not None:
                    found[place] = (index, *kept)
                    found.append(four)
                    free[[index, *four]] = False
                    break
            if not free[index] or tried >= _REPAIRS:
                break
    return found


def _freed(
    index: int, given: int, kept: Four, partners: Indices, free: Mask, relations: Relations
) -> Four | None:
    """A set with the member that is given away, of changes that are left, where the change may take its place."""
    rest = partners[free[partners]]
    rest = rest[rest != index][:_FIRST_LOOK]
    if len(rest) < WRONG:
        return None
    costs = relations.costs(np.array([index, *kept], dtype=np.int64), _triples(WRONG))
    return _cheapest(given, rest, relations) if np.isfinite(costs[0]) else None
