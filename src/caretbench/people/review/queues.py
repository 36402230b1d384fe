"""Queues of reviewers: who decides which item, and in which order. All of it follows from a seed; nothing is stored."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

# A decision that is still remembered is repeated, not made again.
MINIMUM_DISTANCE: Final = 20
"""Number of other decisions between the two decisions of an item that comes twice, while other items are open."""


class QueueEntry(NamedTuple):
    """Item of a queue. ``repeat`` is 1 for the second decision of an item that comes twice."""

    item: str
    repeat: int


class QueueProgress(NamedTuple):
    """Decisions of one person: those made, and all that are due, repeats included."""

    done: int
    total: int


def rank(seed: int, *words: str) -> bytes:
    """Return a reproducible random key: sorting by it shuffles, and comparing it with a share draws."""
    # NUL between the words: `a`, `bc` and `ab`, `c` are two draws.
    return hashlib.blake2b("\x00".join((str(seed), *words)).encode(), digest_size=8).digest()


def is_drawn(share: float, seed: int, *words: str) -> bool:
    """Return whether a draw with probability ``share`` is positive; always the same for the same words."""
    return int.from_bytes(rank(seed, *words)) < share * 2**64


def ranked_people(item: str, people: Iterable[str], seed: int) -> list[str]:
    """Return people in the order in which they are chosen for an item (rendezvous hashing).

    An additional person changes only the items for which this person comes first.
    Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (1998).
    """
    return sorted(people, key=lambda person: rank(seed, "people", item, person))


# Each person has one: from a common queue the quick would take most items.
class PersonQueue:
    """Queue of one person: the open items in an order of their own, those for later, and second decisions.

    Args:
        person: Name, which gives the order.
        kinds: Kind of every item by id; ``warm_up`` items come first.
        repeats: Share of the person's items that come twice, 0 to 1.
        seed: Seed of the review.
    """

    def __init__(self, person: str, kinds: Mapping[str, str], repeats: float, seed: int) -> None:
        self._kinds = kinds
        # Each person has another order, so that tiredness and practice fall on different items.
        ordered = sorted(kinds, key=lambda item: (kinds[item] != "warm_up", rank(seed, "order", person, item)))
        self._places = {item: index for index, item in enumerate(ordered)}
        self._items = ordered
        self._draw = (repeats, seed, "twice", person)
        self._drawn: dict[str, bool] = {}
        self._open: list[int] = []
        self._open_twice = 0
        self._returned: dict[str, None] = {}
        self._later: dict[QueueEntry, None] = {}
        self._decided: dict[QueueEntry, int] = {}
        self._count = 0
        self._second: dict[str, None] = {}

    def set_open(self, item: str, *, is_open: bool) -> None:
        """Say whether the person has to decide an item for the first time."""
        rank = self._places[item]
        position = bisect_left(self._open, rank)
        listed = position < len(self._open) and self._open[position] == rank
        if is_open and not listed:
            insort(self._open, rank)
            # The total shows second decisions from the start; else it would grow while people decide.
            self._open_twice += self._comes_twice(item)
        elif listed and not is_open:
            del self._open[position]
            self._open_twice -= self._comes_twice(item)

    def set_returned(self, item: str, *, is_returned: bool) -> None:
        """Say whether the adjudicator returned an item to the person."""
        self._returned.pop(item, None)
        if is_returned:
            self._returned[item] = None

    def set_decided(self, entry: QueueEntry, *, is_decided: bool) -> None:
        """Say whether the person has a decision about an entry that holds."""
        if is_decided and entry not in self._decided:
            self._count += 1
            self._decided[entry] = self._count
        elif not is_decided:
            self._decided.pop(entry, None)
        first, second = (QueueEntry(entry.item, repeat) in self._decided for repeat in (0, 1))
        self._second.pop(entry.item, None)
        # An undone first decision takes its second one out of the queue.
        if first and not second and self._comes_twice(entry.item):
            self._second[entry.item] = None

    def set_later(self, entry: QueueEntry, *, is_later: bool) -> None:
        """Move an entry to the end of the queue, or back to its place."""
        # Popped and added again, since a dict keeps the first place of a key: "later" twice means the very end.
        self._later.pop(entry, None)
        if is_later:
            self._later[entry] = None

    def drop(self, item: str) -> None:
        """Take an item that was replaced out of the queue."""
        self.set_open(item, is_open=False)
        self.set_returned(item, is_returned=False)
        self._second.pop(item, None)

    def __iter__(self) -> Iterator[QueueEntry]:
        """Yield the open entries: returned, warm-up, second decisions that are due, others, then those for later."""
        yield from (QueueEntry(item, 0) for item in self._returned)
        waiting = []
        repeats_due = False
        for index in self._open:
            item = self._items[index]
            # Warm-up items are decided without a break: their answers explain the guidelines.
            if not repeats_due and self._kinds[item] != "warm_up":
                repeats_due = True
                yield from self._due(all_else_done=False)
            if QueueEntry(item, 0) in self._later:
                waiting.append(QueueEntry(item, 0))
            else:
                yield QueueEntry(item, 0)
        # Nothing else is left, so that waiting for the distance would end the review without second decisions.
        if not self._open:
            yield from self._due(all_else_done=True)
        yield from (entry for entry in self._later if entry in waiting or self._is_second(entry))

    def _due(self, *, all_else_done: bool) -> Iterator[QueueEntry]:
        for item in self._second:
            entry = QueueEntry(item, 1)
            distance = self._count - self._decided[QueueEntry(item, 0)]
            if entry not in self._later and (all_else_done or distance > MINIMUM_DISTANCE):
                yield entry

    def _is_second(self, entry: QueueEntry) -> bool:
        return entry.repeat == 1 and entry.item in self._second

    def _comes_twice(self, item: str) -> bool:
        if item not in self._drawn:
            self._drawn[item] = self._kinds[item] == "item" and is_drawn(*self._draw, item)
        return self._drawn[item]

    @property
    def progress(self) -> QueueProgress:
        """Number of decisions that are made, and that are due in all."""
        done = len(self._decided)
        return QueueProgress(done, done + len(self._open) + self._open_twice + len(self._second) + len(self._returned))

    @property
    def decided(self) -> Iterable[QueueEntry]:
        """Entries with a decision that holds."""
        return self._decided
