"""Balancing of features over items, by choosing one of several candidates for each item and excluding items.

A feature is a shortcut for a solver, such as the rank of the correct choice by length. If each rank is equally
frequent, the shortcut gains nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from caretbench.suites.efcb.seeding import seeded_random

FeatureVector = tuple[int, ...]
"""Values of the features."""

_MAX_PASSES: Final = 20
# The excess is divided by this to get the number of items that are excluded before the next round.
_EXCLUSION_DIVISOR: Final = 6


def balance_items(
    candidates: Mapping[str, Collection[FeatureVector]], seed: int, purpose: str
) -> dict[str, FeatureVector]:
    """Return one vector for each item, so that the values of each feature are as balanced as possible.

    Items with the fewest candidates choose first; then each may choose again until none improves. Ties are broken by
    seed and ``purpose``.
    """
    drawn = {item: seeded_random(seed, purpose, item).random() for item in sorted(candidates)}
    order = sorted(candidates, key=lambda item: (len(candidates[item]), drawn[item], item))
    loads: Counter[tuple[int, int]] = Counter()
    chosen: dict[str, FeatureVector] = {}

    def load(vector: FeatureVector) -> int:
        return sum(loads[entry] for entry in enumerate(vector))

    for _ in range(_MAX_PASSES):
        changed = False
        for item in order:
            before = chosen.get(item)
            if before is not None:
                loads.subtract(enumerate(before))
            best = min(candidates[item], key=lambda vector: (load(vector), vector))
            if before is not None and load(best) >= load(before):
                best = before
            loads.update(enumerate(best))
            changed |= best != before
            chosen[item] = best
        if not changed:
            break
    return {item: chosen[item] for item in sorted(chosen)}


def balance_groups(
    candidates: Mapping[str, Collection[FeatureVector]],
    groups: Mapping[str, str],
    seed: int,
    purpose: str,
    value_count: int,
) -> dict[str, FeatureVector]:
    """Return one vector for each kept item: in each group, counts of a feature's values differ by at most 1.

    Items are excluded if all their candidates have values that are too frequent. Values are 0 to ``value_count - 1``.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for item in sorted(candidates):
        members[groups[item]].append(item)
    kept: dict[str, FeatureVector] = {}
    for group in sorted(members):
        kept |= _balance_group(
            {item: candidates[item] for item in members[group]}, seed, f"{purpose} {group}", value_count
        )
    return kept


def _balance_group(
    candidates: Mapping[str, Collection[FeatureVector]], seed: int, purpose: str, value_count: int
) -> dict[str, FeatureVector]:
    left = dict(candidates)
    drawn = {item: seeded_random(seed, f"{purpose} left out", item).random() for item in left}
    while True:
        chosen = balance_items(left, seed, purpose)
        loads = _count_values(chosen, value_count)
        gap = max((max(load) - min(load) for load in loads), default=0)
        if gap <= 1:
            return chosen
        worst = sorted(chosen, key=lambda item: (-_excess(loads, chosen[item]), len(left[item]), drawn[item]))
        for item in worst[: max(1, gap // _EXCLUSION_DIVISOR)]:
            del left[item]


def _count_values(chosen: Mapping[str, FeatureVector], value_count: int) -> list[list[int]]:
    features = len(next(iter(chosen.values()), ()))
    loads = [[0] * value_count for _ in range(features)]
    for vector in chosen.values():
        for feature, value in enumerate(vector):
            loads[feature][value] += 1
    return loads


def _excess(loads: list[list[int]], vector: FeatureVector) -> float:
    """Return the excess of a vector's values over the mean frequency."""
    return sum(load[value] - sum(load) / len(load) for load, value in zip(loads, vector, strict=True))
