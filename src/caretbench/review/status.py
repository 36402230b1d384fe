"""Status of a review as tables: progress of people, and how items are settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from caretbench.review.database import ReviewDatabase
from caretbench.review.state import ReviewState


class StatusTable(NamedTuple):
    """Table of the status: texts alone, for the terminal and the owner's page."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def status_tables(state: ReviewState, _database: ReviewDatabase) -> list[StatusTable]:
    """Return the tables of a review's status."""
    return [_people(state), _items(state)]


def _people(state: ReviewState) -> StatusTable:
    rows = []
    for person in state.people.values():
        if person.role != "owner":
            done, total = state.progress(person.name)
            rows.append((person.name, person.role, "yes" if person.joined else "no", str(done), str(total)))
    return StatusTable("People", ("Name", "Role", "Joined", "Decided", "Due"), rows)


def _items(state: ReviewState) -> StatusTable:
    items = [item for item, kind in state.kinds.items() if kind == "item" and item not in state.replaced]
    counts = Counter(state.settled(item).state.replace("_", " ") for item in items)
    return StatusTable("Items", ("State", "Items"), [(name, str(count)) for name, count in counts.most_common()])
