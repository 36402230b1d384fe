"""Choosing one of several ways for each item, and leaving items out, so that every value of a feature is as frequent.

A feature is what a solver could go by without understanding: that the right choice is the shortest, or the one most
like the others. If its rank is each possible one equally often, going by it wins nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from caretbench.suites.efcb.seeding import rng

Vector = tuple[int, ...]
"""The value of each feature."""

_PASSES: Final = 20
# The part of what is too many that is left out before the others choose again.
_STEP: Final = 6


def balance(ways: Mapping[str, Collection[Vector]], seed: int, purpose: str) -> dict[str, Vector]:
    """Return one vector for each item, so that the values of each feature are as even as the items allow.

    Items with the fewest ways choose first, and then each may choose again until none gains; where nothing else
    decides, the seed and the ``purpose`` do.
    """
    drawn = {item: rng(seed, purpose, item).random() for item in sorted(ways)}
    order = sorted(ways, key=lambda item: (len(ways[item]), drawn[item], item))
    loads: Counter[tuple[int, int]] = Counter()
    chosen: dict[str, Vector] = {}

    def load(vector: Vector) -> int:
        return sum(loads[entry] for entry in enumerate(vector))

    for _ in range(_PASSES):
        changed = False
        for item in order:
            before = chosen.get(item)
            if before is not None:
                loads.subtract(enumerate(before))
            best = min(ways[item], key=lambda vector: (load(vector), vector))
            if before is not None and load(best) >= load(before):
                best = before
            loads.update(enumerate(best))
            changed |= best != before
            chosen[item] = best
        if not changed:
            break
    return {item: chosen[item] for item in sorted(chosen)}


def evened(
    ways: Mapping[str, Collection[Vector]], groups: Mapping[str, str], seed: int, purpose: str, values: int
) -> dict[str, Vector]:
    """Return one vector for each item that is kept: in each group, each value of a feature is as frequent, up to 1.

    Items are left out where they can only have what too many others have. ``values`` are 0 to one less.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for item in sorted(ways):
        members[groups[item]].append(item)
    kept: dict[str, Vector] = {}
    for group in sorted(members):
        kept |= _group({item: ways[item] for item in members[group]}, seed, f"{purpose} {group}", values)
    return kept


def _group(ways: Mapping[str, Collection[Vector]], seed: int, purpose: str, values: int) -> dict[str, Vector]:
    left = dict(ways)
    drawn = {item: rng(seed, f"{purpose} left out", item).random() for item in left}
    while True:
        chosen = balance(left, seed, purpose)
        loads = _loads(chosen, values)
        gap = max((max(load) - min(load) for load in loads), default=0)
        if gap <= 1:
            return chosen
        worst = sorted(chosen, key=lambda item: (-_excess(loads, chosen[item]), len(left[item]), drawn[item]))
        for item in worst[: max(1, gap // _STEP)]:
            del left[item]


def _loads(chosen: Mapping[str, Vector], values: int) -> list[list[int]]:
    features = len(next(iter(chosen.values()), ()))
    loads = [[0] * values for _ in range(features)]
    for vector in chosen.values():
        for feature, value in enumerate(vector):
            loads[feature][value] += 1
    return loads


def _excess(loads: list[list[int]], vector: Vector) -> float:
    """Return how much more often the values of a vector are chosen than the mean."""
    return sum(load[value] - sum(load) / len(load) for load, value in zip(loads, vector, strict=True))
