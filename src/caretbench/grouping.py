"""Groups of values by key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


def grouped(pairs: Iterable[tuple[KeyT, ValueT]]) -> dict[KeyT, list[ValueT]]:
    """Return the values of pairs of key and value, by key, in order; a key without values has an empty list."""
    groups: dict[KeyT, list[ValueT]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups
