"""Choosing one of several ways for each item so that no value of a feature comes up more often than another.

A feature is what a solver could go by without understanding: that the right choice is the shortest, or the one most
like the others. If its rank is each possible one equally often, going by it wins nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from caretbench.suites.efcb.seeding import rng

Vector = tuple[int, ...]
"""The value of each feature."""

_PASSES: Final = 20


def balance(
    ways: Mapping[str, Mapping[Vector, float]], groups: Mapping[str, str], seed: int, purpose: str
) -> dict[str, Vector]:
    """One vector for each item, so that the values of each feature are as even as the items allow.

    They are even over all items first, then within each group; of vectors that are equally good the cheapest is
    taken. Items with the fewest ways choose first, and then each may choose again until none gains.

    Args:
        ways: The vectors that each item can have, with what each costs; at least one.
        groups: The group of each item.
        seed: Decides where nothing else does.
        purpose: What is balanced.
    """
    drawn = {item: rng(seed, purpose, item).random() for item in sorted(ways)}
    order = sorted(ways, key=lambda item: (len(ways[item]), drawn[item], item))
    loads = _Loads()
    chosen: dict[str, Vector] = {}
    for _ in range(_PASSES):
        changed = False
        for item in order:
            before = chosen.get(item)
            if before is not None:
                loads.add(groups[item], before, -1)
            best = min(
                ways[item], key=lambda vector: (*loads.of(groups[item], vector), ways[item][vector], vector)
            )
            if (
                before is not None
                and loads.of(groups[item], best) >= loads.of(groups[item], before)
                and (ways[item][best] >= ways[item][before])
            ):
                best = before
            loads.add(groups[item], best, 1)
            changed |= best != before
            chosen[item] = best
        if not changed:
            break
    return {item: chosen[item] for item in sorted(chosen)}


class _Loads:
    """How often each value of each feature has been chosen, overall and by group."""

    def __init__(self) -> None:
        self._overall: Counter[tuple[int, int]] = Counter()
        self._grouped: Counter[tuple[str, int, int]] = Counter()

    def of(self, group: str, vector: Vector) -> tuple[int, int]:
        """How often the values of a vector have been chosen already."""
        values = tuple(enumerate(vector))
        return (
            sum(self._overall[entry] for entry in values),
            sum(self._grouped[group, *entry] for entry in values),
        )

    def add(self, group: str, vector: Vector, times: int) -> None:
        """Count a vector once more, or once less."""
        for entry in enumerate(vector):
            self._overall[entry] += times
            self._grouped[group, *entry] += times


def counts(vectors: Iterable[Vector], feature: int) -> Counter[int]:
    """How often each value of a feature stands in the vectors."""
    return Counter(vector[feature] for vector in vectors)
