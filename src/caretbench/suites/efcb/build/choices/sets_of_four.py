"""Disjoint sets of four changes for GMCQ-Easy.

Every member of a set is the correct choice of one question, with the same other three. A rule that sees only the four
choices takes the same one in all four questions, so it is right in exactly one: no such rule, known or learned,
is above chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.suites.efcb.build.choices.pair_fairness import Indices, Mask
from caretbench.suites.efcb.choice_positions import WRONG_CHOICE_COUNT

Costs = npt.NDArray[np.float64]
ChoiceSet = tuple[int, ...]

_FIRST_PARTNERS: Final = 14
_MORE_PARTNERS: Final = 40
# Maximum number of sets tried for a leftover change.
_MAX_REPAIR_TRIES: Final = 24


class SetRelations(NamedTuple):
    """Relations between changes from which sets are built: near and fair partners, fairness, costs.

    ``nearest_partners``: best fair partners of a change, cheapest first; ``fair_partners``: all of them, in a fixed
    order. ``fairness``: square of pairwise fairness. ``set_costs``: costs of sets of the first row with three others
    each, by index; infinite if impossible. ``tie_order`` breaks ties.
    """

    change_count: int
    nearest_partners: Callable[[int], Indices]
    fair_partners: Callable[[int], Indices]
    fairness: Callable[[Indices], Mask]
    set_costs: Callable[[Indices, Indices], Costs]
    tie_order: Sequence[float]


@cache
def _triples(count: int) -> Indices:
    """Return all sets of three different numbers from 1 to ``count``."""
    return 1 + np.array(list(combinations(range(count), WRONG_CHOICE_COUNT)), dtype=np.int64).reshape(
        -1, WRONG_CHOICE_COUNT
    )


def build_sets_of_four(relations: SetRelations) -> list[ChoiceSet]:
    """Return disjoint sets whose members are pairwise fair, preferring low cost.

    Changes with the fewest partners are placed first. A leftover change then replaces a member of a set if that member
    can form a new set from other leftovers.
    """
    free = np.ones(relations.change_count, dtype=bool)
    partners = [relations.fair_partners(index) for index in range(relations.change_count)]
    found: list[ChoiceSet] = []
    order = sorted(range(relations.change_count), key=lambda index: (len(partners[index]), relations.tie_order[index]))
    for index in order:
        if free[index] and (four := _cheapest_set_with(index, partners[index], free, relations)):
            free[list(four)] = False
            found.append(four)
    return _repair_sets(found, free, partners, order, relations)


def _cheapest_set_with(index: int, partners: Indices, free: Mask, relations: SetRelations) -> ChoiceSet | None:
    """Return the cheapest set of a change with its nearest free partners, else with more partners."""
    near = relations.nearest_partners(index)
    near = near[free[near]][:_FIRST_PARTNERS]
    rest = partners[free[partners]]
    further = np.concatenate((near, rest[~np.isin(rest, near)]))[:_MORE_PARTNERS]
    return _cheapest_set(index, near, relations) or (
        _cheapest_set(index, further, relations) if len(further) > len(near) else None
    )


def _cheapest_set(index: int, others: Indices, relations: SetRelations) -> ChoiceSet | None:
    if len(others) < WRONG_CHOICE_COUNT:
        return None
    rows = np.array([index, *others], dtype=np.int64)
    fair = relations.fairness(rows)
    triples = _triples(len(others))
    one, two, three = triples.T
    triples = triples[fair[one, two] & fair[one, three] & fair[two, three]]
    if not len(triples):
        return None
    costs = np.round(relations.set_costs(rows, triples), 9)
    best = int(costs.argmin())
    return (index, *(int(row) for row in rows[triples[best]])) if np.isfinite(costs[best]) else None


def _repair_sets(
    found: list[ChoiceSet], free: Mask, partners: Sequence[Indices], order: Sequence[int], relations: SetRelations
) -> list[ChoiceSet]:
    """Return the sets after leftovers replaced members that form new sets with other leftovers."""
    for index in order:
        if not free[index] or not found:
            continue
        is_partner = np.zeros(relations.change_count, dtype=bool)
        is_partner[partners[index]] = True
        held = is_partner[np.array(found)]
        tried = 0
        for position in np.flatnonzero(held.sum(axis=1) >= WRONG_CHOICE_COUNT):
            members = found[position]
            strangers = [member for member, fits in zip(members, held[position], strict=True) if not fits]
            for given in strangers or members:
                kept = tuple(member for member in members if member != given)
                tried += 1
                four = _replacement_set(index, given, kept, partners[given], free, relations)
                if four is not None:
                    found[position] = (index, *kept)
                    found.append(four)
                    free[[index, *four]] = False
                    break
            if not free[index] or tried >= _MAX_REPAIR_TRIES:
                break
    return found


def _replacement_set(
    index: int, released: int, kept: ChoiceSet, partners: Indices, free: Mask, relations: SetRelations
) -> ChoiceSet | None:
    """Return a new set of the released member and leftovers if the change may take its place, else None."""
    rest = partners[free[partners]]
    rest = rest[rest != index][:_FIRST_PARTNERS]
    if len(rest) < WRONG_CHOICE_COUNT:
        return None
    costs = relations.set_costs(np.array([index, *kept], dtype=np.int64), _triples(WRONG_CHOICE_COUNT))
    return _cheapest_set(released, rest, relations) if np.isfinite(costs[0]) else None
