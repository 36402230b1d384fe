"""Queues, disputes and settlement of a review, from events alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.protocol import Answer, load_protocol
from caretbench.people.review.queues import QueueEntry
from caretbench.people.review.records import EventKind, ReviewEvent, ReviewItem, ShownItem, new_event_id, now
from caretbench.people.review.state import ReviewState

PROTOCOL = load_protocol("devbench-instance")
SCALES = ("usefulness", "realism", "category_alignment", "complexity_authenticity")


def item(number: int, kind: str = "item") -> ReviewItem:
    return ReviewItem.model_validate(
        {"problem_id": f"p{number}", "suite": "devbench", "kind": kind, "answer": str(number),
         "shown": ShownItem(span=f"x = {number}\n")}
    )  # fmt: skip


def decided(person: str, item_id: str, decision: str, *, repeat: int = 0, kind: EventKind = "decision") -> ReviewEvent:
    answers: dict[str, Answer] = dict.fromkeys(SCALES, 4)
    answers["decision"] = decision
    if decision == "reject":
        answers["reason"] = "category"
    time = now()
    return ReviewEvent(
        id=new_event_id(), kind=kind, person=person, item=item_id, repeat=repeat, protocol=PROTOCOL.key,
        made_at=time, received_at=time, answers=answers if kind == "decision" else {},
    )  # fmt: skip


@pytest.fixture
def database(tmp_path: Path) -> ReviewDatabase:
    found = ReviewDatabase.create(tmp_path, PROTOCOL, [item(number) for number in range(30)], seed=7)
    for name in ("ann", "bob", "cyd"):
        found.invite(name, "reviewer")
    found.invite("eve", "adjudicator")
    return found


def open_items(state: ReviewState, person: str) -> list[str]:
    return [entry.item for entry in state.queue(person) if entry.repeat == 0]


def test_every_item_has_as_many_people_as_the_protocol_says(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    assert all(len(set(state.people_of(one))) == 2 for one in state.kinds)
    assert sum(len(open_items(state, name)) for name in ("ann", "bob", "cyd")) == 60
    assert open_items(state, "eve") == []


def test_each_person_has_an_order_of_their_own(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    shared = set(open_items(state, "ann")) & set(open_items(state, "bob"))
    first, second = ([one for one in open_items(state, name) if one in shared] for name in ("ann", "bob"))
    assert first != second
    assert first == [one for one in open_items(ReviewState(database), "ann") if one in shared]


def test_a_dispute_goes_to_the_adjudicator_and_back_to_the_people(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = next(iter(state.kinds))
    first, second = state.people_of(one)
    state.add(decided(first, one, "accept"))
    assert state.settled(one).state == "open"
    state.add(decided(second, one, "reject"))
    assert state.settled(one).state == "disputed"
    assert open_items(state, "eve") == [one]
    state.add(decided("eve", one, "", kind="send_back"))
    assert open_items(state, "eve") == []
    assert open_items(state, first)[0] == one
    state.add(decided(first, one, "accept"))
    state.add(decided(second, one, "reject"))
    assert open_items(state, "eve") == [one]
    state.add(decided("eve", one, "reject"))
    settled = state.settled(one)
    assert (settled.state, settled.value, settled.reasons) == ("adjudicated", "reject", ("category",))
    assert open_items(state, "eve") == []


def test_an_undone_decision_is_open_again_and_its_rows_remain(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = open_items(state, "ann")[0]
    state.add(decided("ann", one, "accept"))
    assert one not in open_items(state, "ann")
    assert state.progress("ann").done == 1
    state.add(decided("ann", one, "", kind="withdrawal"))
    assert open_items(state, "ann")[0] == one
    assert state.progress("ann").done == 0
    assert [event.kind for _, event in database.events()] == ["decision", "withdrawal"]


def test_the_same_event_twice_is_one(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    event = decided("ann", open_items(state, "ann")[0], "accept")
    assert state.add(event)
    assert not state.add(event)
    assert len(list(database.events())) == 1


def test_later_moves_an_item_to_the_end(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    before = open_items(state, "ann")
    state.add(decided("ann", before[0], "", kind="later"))
    assert open_items(state, "ann") == [*before[1:], before[0]]


def test_a_reopened_item_is_decided_again_by_the_same_people(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = next(iter(state.kinds))
    people = state.people_of(one)
    for name in people:
        state.add(decided(name, one, "accept"))
    assert state.settled(one).state == "agreed"
    state.add(decided("owner", one, "", kind="reopen"))
    assert state.settled(one).state == "open"
    assert all(one in open_items(state, name) for name in people)


def disputed_item(state: ReviewState) -> tuple[str, list[str]]:
    one = next(iter(state.kinds))
    people = state.people_of(one)
    for name, decision in zip(people, ("accept", "reject"), strict=True):
        state.add(decided(name, one, decision))
    return one, people


def test_a_new_link_for_the_adjudicator_opens_nothing(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one, _ = disputed_item(state)
    state.add(decided("eve", one, "reject"))
    database.invite("eve", "reviewer")
    for found in (state, ReviewState(database)):
        found.refresh()
        assert (found.settled(one).state, found.people["eve"].role) == ("adjudicated", "adjudicator")
    # Another role is for what comes: what was adjudicated stays so.
    database.invite("eve", "reviewer", change_role=True)
    for found in (state, ReviewState(database)):
        found.refresh()
        assert (found.settled(one).state, found.people["eve"].role) == ("adjudicated", "reviewer")
        assert open_items(found, "eve")
    assert [(event.kind, event.role) for event in database.people_events()][-1] == ("invite", "reviewer")


def test_a_reviewer_who_becomes_the_adjudicator_settles_no_own_item(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one, people = disputed_item(state)
    database.invite(people[0], "adjudicator", change_role=True)
    state.refresh()
    assert set(state.decisions(one)) == set(people)
    assert open_items(state, people[0]) == []
    assert open_items(state, "eve") == [one]


def test_an_adjudicated_item_stays_settled_whatever_people_do_afterwards(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one, people = disputed_item(state)
    state.add(decided("eve", one, "reject"))
    state.add(decided(people[0], one, "", kind="withdrawal"))
    assert (state.settled(one).state, state.settled(one).value) == ("adjudicated", "reject")
    assert all(one not in open_items(state, name) for name in ("ann", "bob", "cyd", "eve"))
    state.add(decided("owner", one, "", kind="reopen"))
    assert state.settled(one).state == "open"


def test_notes_of_all_reach_the_settled_result(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = next(iter(state.kinds))
    for name, decision in zip([*state.people_of(one), "eve"], ("accept", "reject", "reject"), strict=True):
        state.add(decided(name, one, decision).model_copy(update={"note": f"{name} says"}))
    assert sorted(state.settled(one).notes) == sorted(f"{name} says" for name in [*state.decisions(one), "eve"])


def test_first_decisions_are_those_before_a_question_or_a_reopening(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one, people = disputed_item(state)
    # A slip that is corrected at once was never said.
    state.add(decided(people[0], one, "", kind="withdrawal"))
    state.add(decided(people[0], one, "accept"))
    state.add(decided("eve", one, "", kind="send_back"))
    state.add(decided(people[1], one, "accept"))
    assert {event.answers["decision"] for event in state.decisions(one).values()} == {"accept"}
    assert [state.first_decisions(one)[name].answers["decision"] for name in people] == ["accept", "reject"]
    other = next(item_id for item_id in state.kinds if item_id != one)
    name = state.people_of(other)[0]
    state.add(decided(name, other, "reject"))
    state.add(decided("owner", other, "", kind="reopen"))
    state.add(decided(name, other, "accept"))
    assert state.first_decisions(other)[name].answers["decision"] == "reject"


def test_a_removed_person_blocks_nothing_and_may_come_back(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one, people = disputed_item(state)
    theirs = [item_id for item_id in state.kinds if people[0] in state.people_of(item_id)]
    state.add(decided("eve", one, "", kind="send_back"))
    state.add(decided(people[1], one, "reject"))
    database.remove(people[0])
    state.refresh()
    assert people[0] not in state.names("reviewer")
    assert people[0] in state.decisions(one)
    assert open_items(state, "eve") == [one]
    for item_id in set(theirs) - {one}:
        assert len(set(state.people_of(item_id)) - {people[0]}) == 2
    with pytest.raises(DataError, match="nobody is"):
        database.remove(people[0])
    database.invite(people[0], "reviewer")
    state.refresh()
    assert open_items(state, people[0])


def test_an_erased_person_is_in_no_byte_of_the_review(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = next(iter(state.kinds))
    database.invite("Mallory.Q", "reviewer")
    state.add(decided("Mallory.Q", one, "reject").model_copy(update={"note": "call me in Zanzibar"}))
    state.add(decided("ann", one, "reject").model_copy(update={"note": "as Mallory.Q says"}))
    with pytest.raises(DataError, match=r"nobody .*Mallory"):
        database.erase("Mallory.Q")
    database.remove("Mallory.Q")
    assert database.erase("Mallory.Q") == "person-1"
    content = database.path.read_bytes()
    assert b"Mallory" not in content
    assert b"Zanzibar" not in content
    state.refresh()
    assert set(state.decisions(one)) == {"person-1", "ann"}
    assert {event.note for event in state.decisions(one).values()} == {"person-1", "as person-1 says"}
    assert [event.kind for event in database.people_events()][-2:] == ["remove", "erase"]
    with pytest.raises(DataError, match="never changed"), database._transaction():
        database._connection.execute("UPDATE events SET row = ''")


def test_a_backup_is_whole_and_nobody_elses(database: ReviewDatabase, tmp_path: Path) -> None:
    state = ReviewState(database)
    one, _ = disputed_item(state)
    copy = tmp_path / "backup" / DATABASE_NAME
    copy.parent.mkdir()
    database.backup(copy)
    assert [path.stat().st_mode & 0o777 for path in (copy, database.path)] == [0o600, 0o600]
    with ReviewDatabase(copy) as found:
        assert ReviewState(found).settled(one) == state.settled(one)
    with pytest.raises(DataError, match=rf"{copy}: .*file already"):
        database.backup(copy)


def test_a_review_of_the_first_version_is_read(database: ReviewDatabase) -> None:
    """Its roles become events, with the same ids in every copy."""
    state = ReviewState(database)
    one, _ = disputed_item(state)
    state.add(decided("eve", one, "reject"))
    with database._transaction():  # an earlier program wrote the file
        for statement in ("DROP TABLE people_events", "PRAGMA user_version = 1"):
            database._connection.execute(statement)
    with ReviewDatabase(database.path) as found:
        people = {event.person: event.role for event in found.people_events()}
        assert people == {"ann": "reviewer", "bob": "reviewer", "cyd": "reviewer", "eve": "adjudicator"}
        assert ReviewState(found).settled(one).state == "adjudicated"


def test_the_owner_gives_an_item_to_somebody_else(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    one = next(iter(state.kinds))
    first, second = state.people_of(one)
    other = ({"ann", "bob", "cyd"} - {first, second}).pop()
    state.add(decided(first, one, "", kind="release"))
    assert set(state.people_of(one)) == {second, other}
    assert one not in open_items(state, first)
    assert one in open_items(state, other)


def test_repeats_come_after_other_items_and_are_no_part_of_the_result(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    seen = []
    while (entry := next(iter(state.queue("ann")), None)) is not None:
        seen.append(entry)
        state.add(decided("ann", entry.item, "accept", repeat=entry.repeat))
    repeats = [entry for entry in seen if entry.repeat]
    assert repeats, "the seed gives repeats"
    assert all(seen.index(QueueEntry(entry.item, 0)) < seen.index(entry) - 1 for entry in repeats[:1])
    assert state.progress("ann") == (len(seen), len(seen))
    assert all(len(state.decisions(one)) <= 1 for one in state.kinds)


def test_what_another_process_writes_is_seen(database: ReviewDatabase, tmp_path: Path) -> None:
    state = ReviewState(database)
    with ReviewDatabase(tmp_path / DATABASE_NAME) as other:
        one = open_items(state, "ann")[0]
        ReviewState(other).add(decided("ann", one, "accept"))
        other.invite("dan", "reviewer")
    state.refresh()
    assert one not in open_items(state, "ann")
    assert "dan" in state.names("reviewer")


def test_a_successor_takes_the_place_of_an_item(database: ReviewDatabase) -> None:
    state = ReviewState(database)
    old = open_items(state, "ann")[0]
    new = item(99).model_copy(update={"successor_of": old})
    with ReviewDatabase(database.path) as other:
        other.add_items([new])
    state.refresh()
    assert all(old not in open_items(state, name) for name in ("ann", "bob", "cyd"))
    assert sum(new.id in open_items(state, name) for name in ("ann", "bob", "cyd")) == 2
