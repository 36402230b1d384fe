"""Items that are added to a review, and those among them that take the place of earlier ones."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from caretbench.build.validation.reviewed import REJECTED
from caretbench.files import DataError
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.item import ReviewItem
from caretbench.people.review.state import ReviewState


class AddedItems(NamedTuple):
    """Numbers of items: added ones, those of them that take the place of another, and those that were there."""

    new: int
    successors: int
    known: int


def add_with_successors(
    database: ReviewDatabase, state: ReviewState, items: Sequence[ReviewItem], *, replace_rejected: bool = False
) -> AddedItems:
    """Add items to a review. An item of the same problem with other texts is replaced.

    Args:
        database: The review.
        state: Its state.
        items: Items of problems.
        replace_rejected: Items of new problems take the places of rejected ones with the same suite, language and
            labels, in the order in which the items were added.

    Raises:
        DataError: there are rejected items, but none has the labels of a new problem.
    """
    current = _current_items(database, state)
    by_problem = {item.problem_id: item_id for item_id, item in current.items()}
    new = [item for item in items if item.id not in current]
    changed = {item.id: by_problem.get(item.problem_id) for item in new}
    rejected = _rejected_by_cell(state, current, set(changed.values())) if replace_rejected else {}
    added = []
    for item in new:
        predecessor = changed[item.id]
        waiting = rejected.get(_cell(item))
        if predecessor is None and waiting:
            predecessor = waiting.popleft()
        added.append(item.model_copy(update={"successor_of": predecessor}))
    successors = sum(item.successor_of is not None for item in added)
    if any(rejected.values()) and not successors:
        cell = next(" ".join(cell) for cell, waiting in rejected.items() if waiting)
        raise DataError(f"no new problem has the labels of a rejected item ({cell}); nothing is added")
    return AddedItems(state.add_items(added), successors, len(items) - len(new))


def _current_items(database: ReviewDatabase, state: ReviewState) -> dict[str, ReviewItem]:
    return {
        item_id: item for _, item_id, item in database.items() if item.kind == "item" and item_id not in state.replaced
    }


def _rejected_by_cell(
    state: ReviewState, items: Mapping[str, ReviewItem], replaced: Set[str | None]
) -> dict[tuple[str, ...], deque[str]]:
    """Return the rejected items that nothing replaces yet, by their labels."""
    found: dict[tuple[str, ...], deque[str]] = defaultdict(deque)
    for item_id, item in items.items():
        if item_id not in replaced and state.settled(item_id).value == REJECTED:
            found[_cell(item)].append(item_id)
    return found


def _cell(item: ReviewItem) -> tuple[str, ...]:
    return (item.suite, item.language, *(f"{name}={value}" for name, value in sorted(item.labels.items())))
