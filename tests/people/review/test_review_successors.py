"""Added problems: changed ones replace their items, new ones may take the places of rejected ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import add_with_successors, assign_items, reopen_items
from caretbench.people.review.state import ReviewState
from tests.people.review.test_review_state import decided
from tests.support.review_server import made_item, make_review

PEOPLE = {"ann": "reviewer", "bob": "reviewer", "cyd": "reviewer", "eve": "adjudicator"}
ITEMS = [made_item(number) for number in range(3)]


@pytest.fixture
def database(tmp_path: Path) -> ReviewDatabase:
    make_review(tmp_path, ITEMS, PEOPLE)
    return ReviewDatabase(tmp_path / "review.sqlite")


def reject(state: ReviewState, item: str) -> None:
    for person in state.people_of(item):
        state.add(decided(person, item, "reject"))


def test_a_changed_problem_takes_the_place_of_its_item(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    changed = made_item(0, before="b = 2\n")
    assert add_with_successors(state, [changed, ITEMS[1]]) == (1, 1, 1)
    assert ITEMS[0].id in state.replaced
    assert changed.id in {entry.item for name in PEOPLE for entry in state.queue(name)}


def test_new_problems_take_the_places_of_rejected_ones_with_the_same_labels(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    reject(state, ITEMS[1].id)
    other = made_item(7).model_copy(update={"labels": {"category": "other"}})
    with pytest.raises(DataError, match="rejected item"):
        add_with_successors(state, [other], replace_rejected=True)
    assert add_with_successors(state, [made_item(8), made_item(9)], replace_rejected=True) == (2, 1, 0)
    assert state.replaced == {ITEMS[1].id}


def test_reopened_items_are_decided_again(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    reject(state, ITEMS[0].id)
    assert reopen_items(state, [state.item_named(ITEMS[0].id[:6])], "mended") == 1
    assert state.settled(ITEMS[0].id).state == "open"
    with pytest.raises(DataError, match="no item to open again"):
        reopen_items(state, [])
    with pytest.raises(DataError, match="0 items"):
        state.item_named("zz")


def test_an_item_goes_to_another_person_and_back(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    item = ITEMS[0].id
    [other] = set(PEOPLE) - {"eve"} - set(state.people_of(item))
    first = state.people_of(item)[0]
    assert assign_items(state, first, [item], release=True) == 1
    assert first not in state.people_of(item)
    assert item in {entry.item for entry in state.queue(other)}
    assign_items(state, first, [item])
    assert first in state.people_of(item)
    with pytest.raises(DataError, match=r"reviewer dan; .*cyd"):
        assign_items(state, "dan", [item])
    with pytest.raises(DataError, match="no reviewer eve"):
        assign_items(state, "eve", [item])
