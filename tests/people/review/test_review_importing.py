"""Decisions come back from exports and copies, in any order, each once; a broken file changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caretbench.files import DataError
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import export_review, import_decisions, import_labels
from caretbench.people.review.protocol import load_protocol
from caretbench.people.review.records import ReviewEvent
from caretbench.people.review.review_items import own_items
from caretbench.people.review.state import ReviewState
from tests.people.review.test_review_state import decided
from tests.support.review_server import made_item, make_review

PEOPLE = {"ann": "reviewer", "bob": "reviewer", "eve": "adjudicator"}
ITEMS = [made_item(number) for number in range(4)]
FILES = ("decisions.jsonl", "settled.jsonl", "rejections.jsonl", "ratings.csv")


def review(folder: Path, events: list[ReviewEvent], people: dict[str, str] | None = None) -> Path:
    make_review(folder, ITEMS, people if people is not None else PEOPLE)
    with ReviewDatabase(folder / "review.sqlite") as database:
        database.add_events(events)
    return folder


def exported(folder: Path) -> dict[str, bytes]:
    with ReviewDatabase(folder / "review.sqlite") as database:
        export_review(database, folder)
    return {name: (folder / name).read_bytes() for name in FILES}


def imported(folder: Path, *paths: Path) -> tuple[int, int, tuple[str, ...]]:
    with ReviewDatabase(folder / "review.sqlite") as database:
        return import_decisions(database, paths)


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.integers(0, 3), st.sampled_from(["accept", "reject", "undo"])),
    max_size=8,
)


@given(ACTIONS, ACTIONS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_copies_merge_to_the_same_bytes_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, first: list[tuple[str, int, str]], second: list[tuple[str, int, str]]
) -> None:
    place = tmp_path_factory.mktemp("merge")
    made = [
        [decided(person, ITEMS[number].id, action, kind="withdrawal" if action == "undo" else "decision")
         for person, number, action in actions]
        for actions in (first, second)
    ]  # fmt: skip
    make_review(place / "start", ITEMS, PEOPLE)
    for name, events in (("a", made[0]), ("b", made[1])):
        shutil.copytree(place / "start", place / name)
        with ReviewDatabase(place / name / "review.sqlite") as database:
            database.add_events(events)
    shutil.copytree(place / "a", place / "a-b")
    shutil.copytree(place / "b", place / "b-a")
    imported(place / "a-b", place / "b" / "review.sqlite")
    exported(place / "a")
    imported(place / "b-a", place / "a" / "decisions.jsonl")
    assert exported(place / "a-b") == exported(place / "b-a")


def test_a_second_import_adds_nothing(tmp_path: Path) -> None:
    one = review(tmp_path / "a", [decided("ann", ITEMS[0].id, "accept"), decided("ann", ITEMS[0].id, "reject")])
    other = review(tmp_path / "b", [])
    exported(one)
    assert imported(other, one / "decisions.jsonl") == (2, 0, ())
    assert imported(other, one / "decisions.jsonl", one / "review.sqlite") == (0, 2, ())
    assert exported(other) == exported(one)


def test_people_who_were_never_invited_are_named_and_keep_their_roles(tmp_path: Path) -> None:
    one = review(tmp_path / "a", [decided("ann", ITEMS[0].id, "accept"), decided("eve", ITEMS[0].id, "accept")])
    other = review(tmp_path / "b", [], {"cyd": "reviewer"})
    exported(one)
    assert imported(other, one / "decisions.jsonl") == (2, 0, ("ann", "eve"))
    with ReviewDatabase(other / "review.sqlite") as database:
        assert {person.name: (person.role, person.joined) for person in database.people()} == {
            "cyd": ("reviewer", False), "ann": ("reviewer", False), "eve": ("adjudicator", False),
        }  # fmt: skip


def test_a_broken_export_changes_nothing(tmp_path: Path) -> None:
    one = review(tmp_path / "a", [decided("ann", item.id, "accept") for item in ITEMS])
    other = review(tmp_path / "b", [])
    exported(one)
    path = one / "decisions.jsonl"
    lines = path.read_text().splitlines()

    def with_line(change: dict[str, object]) -> None:
        row = json.loads(lines[2])
        row["event"] |= change
        path.write_text("\n".join([*lines[:2], json.dumps(row), *lines[3:], ""]))

    for change, complaint in (
        ({"item": "f" * 16}, ":3: item: this review has no item ffff"),
        ({"protocol": "devbench-instance@9"}, ":3: protocol: devbench-instance@9; this review is by"),
        ({"answers": {"decision": "maybe"}}, ":3: answers: usefulness has no answer"),
        ({"id": "x"}, ":3: event.id"),
        ({"person": "a b"}, ":3: person: 'a b' is no name for a reviewer"),
        ({"person": "owner"}, ":3: person: the owner of a review decides no item"),
    ):
        with_line(change)
        with pytest.raises(DataError) as caught:
            imported(other, path)
        assert f"{path}{complaint}" in str(caught.value)
        assert exported(other)["decisions.jsonl"] == b""
    path.write_text("\n".join([*lines[:2], lines[2][:40], ""]))
    with pytest.raises(DataError, match=r"decisions\.jsonl:3"):
        imported(other, path)


def test_a_copy_from_before_a_change_of_role_is_taken(tmp_path: Path) -> None:
    one = review(tmp_path / "a", [decided("zoe", ITEMS[1].id, "accept")], PEOPLE | {"zoe": "reviewer"})
    with ReviewDatabase(one / "review.sqlite") as database:
        database.remove("zoe")
    shutil.copytree(one, tmp_path / "laptop")
    with ReviewDatabase(tmp_path / "laptop" / "review.sqlite") as database:
        database.add_events([decided("bob", ITEMS[0].id, "accept")])
    with ReviewDatabase(one / "review.sqlite") as database:
        database.invite("bob", "adjudicator", change_role=True)
        database.remove("ann")
        database.erase("zoe")
    assert imported(one, tmp_path / "laptop" / "review.sqlite") == (1, 1, ())
    with ReviewDatabase(one / "review.sqlite") as database:
        assert {person.name: person.role for person in database.people()} == {
            "bob": "adjudicator",
            "eve": "adjudicator",
        }
        assert set(ReviewState(database).decisions(ITEMS[0].id)) == {"bob"}
        assert set(ReviewState(database).decisions(ITEMS[1].id)) == {"person-1"}


def test_another_role_or_protocol_is_refused(tmp_path: Path) -> None:
    one = review(tmp_path / "a", [decided("ann", ITEMS[0].id, "accept")], {"ann": "adjudicator"})
    other = review(tmp_path / "b", [])
    with pytest.raises(DataError, match=r"ann .*reviewer.*adjudicator"):
        imported(other, one / "review.sqlite")
    make_review(tmp_path / "c", ITEMS, PEOPLE, repeats=0.5)
    with pytest.raises(DataError, match="other questions"):
        imported(other, tmp_path / "c" / "review.sqlite")


def test_own_items_and_labels_from_elsewhere(tmp_path: Path) -> None:
    protocol = load_protocol("devbench-instance")
    rows = [{"id": f"o{number}", "text": f"x = {number}\n", "language": "python"} for number in range(3)]
    items, labels = tmp_path / "items.jsonl", tmp_path / "labels.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scales = dict.fromkeys(("usefulness", "realism", "category_alignment", "complexity_authenticity"), 4)
    given = [{"id": "o0", "person": name, "answers": scales | {"decision": "accept"}} for name in ("ann", "dan")]
    labels.write_text("".join(json.dumps(row) + "\n" for row in given))
    with ReviewDatabase.create(tmp_path / "r", protocol, own_items(items, protocol), 0) as database:
        database.invite("ann", "reviewer")
        assert import_labels(database, labels) == (2, 0, ("dan",))
        assert import_labels(database, labels) == (0, 2, ())
        state = ReviewState(database)
        assert [state.settled(item).state for item in state.kinds] == ["agreed", "open", "open"]
        for change, complaint in (
            ({"id": "none"}, ":2: id: this review has no item of none"),
            ({"answers": scales}, ":2: answers: decision has no answer"),
            ({"person": "ann"}, ":2: person: ann has two labels of o0"),
            ({"person": "owner"}, ":2: person"),
            ({"person": "a b"}, ":2: person"),
        ):
            labels.write_text(json.dumps(given[0]) + "\n" + json.dumps(given[1] | change) + "\n")
            with pytest.raises(DataError) as caught:
                import_labels(database, labels)
            assert f"{labels}{complaint}" in str(caught.value)
        assert len(list(database.events())) == 2
    items.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0]) + "\n")
    with pytest.raises(DataError, match=":2: id: o0 "):
        own_items(items, protocol)
    with pytest.raises(DataError, match=":1: choices: 0"):
        own_items(items, load_protocol("efcb-choice"))
    with pytest.raises(DataError, match=r"efcb-answer.*criterion"):
        own_items(items, load_protocol("efcb-answer"))
