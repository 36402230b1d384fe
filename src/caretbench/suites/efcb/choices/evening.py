"""Leaving items out until no value of a feature comes up more often than another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from caretbench.suites.efcb.choices.balancing import Vector, balance
from caretbench.suites.efcb.seeding import rng

# The part of what is too many that is left out before the others choose again.
_STEP: Final = 6


def evened(
    ways: Mapping[str, Collection[Vector]], groups: Mapping[str, str], seed: int, purpose: str, values: int
) -> dict[str, Vector]:
    """One vector for each item that is kept: in each group, each value of a feature is chosen as often, up to 1.

    Items are left out where they can only have what too many others have.

    Args:
        ways: The vectors that each item can have, at least one; values go from 0 to ``values - 1``.
        groups: The group of each item.
        seed: Decides where nothing else does.
        purpose: What is balanced.
        values: How many values a feature has.
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
        chosen = balance(
            {item: dict.fromkeys(vectors, 0.0) for item, vectors in left.items()},
            dict.fromkeys(left, ""),
            seed,
            purpose,
        )
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
    """How much more often the values of a vector are chosen than the mean."""
    return sum(load[value] - sum(load) / len(load) for load, value in zip(loads, vector, strict=True))
