"""Items that are added to a review, and those among them that take the place of earlier ones."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from caretbench.files import DataError
from caretbench.review.database import ReviewDatabase
from caretbench.review.item import ReviewItem
from caretbench.review.state import ReviewState
from caretbench.validation.reviewed import REJECTED


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
    current = {
        item_id: item for _, item_id, item in database.items() if item.kind == "item" and item_id not in state.replaced
    }
    by_problem = {item.problem_id: item_id for item_id, item in current.items()}
    rejected: Mapping[tuple[str, ...], deque[str]] = defaultdict(deque)
    for item_id, item in current.items():
        if state.settled(item_id).value == REJECTED:
            rejected[_cell(item)].append(item_id)
    new = [item for item in items if item.id not in current]
    added = []
    for item in new:
        predecessor = by_problem.get(item.problem_id)
        if predecessor is None and replace_rejected and rejected[_cell(item)]:
            predecessor = rejected[_cell(item)].popleft()
        elif predecessor is not None and predecessor in rejected[_cell(item)]:
            rejected[_cell(item)].remove(predecessor)
        added.append(item.model_copy(update={"successor_of": predecessor}))
    successors = sum(item.successor_of is not None for item in added)
    if replace_rejected and any(rejected.values()) and not successors:
        cell = next(" ".join(cell) for cell, waiting in rejected.items() if waiting)
        raise DataError(f"no new problem has the labels of a rejected item ({cell}); nothing is added")
    return AddedItems(state.add_items(added), successors, len(items) - len(new))


def _cell(item: ReviewItem) -> tuple[str, ...]:
    return (item.suite, item.language, *(f"{name}={value}" for name, value in sorted(item.labels.items())))
