"""Balanced, seeded choice among problems of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from caretbench.files import sha256_text
from caretbench.grouping import grouped

ItemT = TypeVar("ItemT")


def balanced_choice(
    items: Iterable[ItemT],
    limit: int | None,
    key: Callable[[ItemT], str],
    levels: Sequence[Callable[[ItemT], Hashable]],
    seed: int,
) -> list[ItemT]:
    """Return at most ``limit`` items, as evenly spread as the supply allows.

    Each level divides the items of the level before; the parts of a level take turns. Within the last level the order
    follows from the seed and the items' keys, whatever the order of ``items``.
    Keys are distinct. Without a limit all items are returned, in this order.
    """
    # A hash of each key instead of a shuffle: one item more leaves the order of the others as it is.
    ordered = sorted(items, key=lambda item: sha256_text(str(seed), key(item)))
    chosen = _in_turns(ordered, list(levels), seed)
    return chosen if limit is None else chosen[:limit]


def _in_turns(items: Sequence[ItemT], levels: Sequence[Callable[[ItemT], Hashable]], seed: int) -> list[ItemT]:
    if not levels:
        return list(items)
    parts = grouped((levels[0](item), item) for item in items)
    queues = [_in_turns(parts[name], levels[1:], seed) for name in sorted(parts, key=str)]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
