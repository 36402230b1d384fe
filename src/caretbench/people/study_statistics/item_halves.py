"""Seeded halves of items: what is chosen on one half is reported on the other, so that choosing flatters nobody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class ItemHalves(NamedTuple):
    """Two halves of the same items, ``chosen`` for choosing and ``reported`` for reporting, both sorted."""

    chosen: list[str]
    reported: list[str]


def item_halves(strata: Mapping[str, str], *, seed: int = 0) -> ItemHalves:
    """Return two halves of items of equal size in every stratum, up to one item; always the same for a seed.

    Args:
        strata: Stratum (the language, for instance) of each item.
        seed: Random seed.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    # Sorted, so that the halves do not depend on the order of rows in a file.
    for item in sorted(strata):
        groups[strata[item]].append(item)
    rng = np.random.default_rng(seed)
    halves: tuple[list[str], list[str]] = ([], [])
    for _, items in sorted(groups.items()):
        order = rng.permutation(len(items))
        # A stratum of odd size gives its additional item to the half that is smaller so far.
        first = int(len(halves[0]) > len(halves[1]))
        for place, index in enumerate(order):
            halves[(first + place) % 2].append(items[index])
    return ItemHalves(sorted(halves[0]), sorted(halves[1]))
