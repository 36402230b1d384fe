"""Exports of a review: every decision, the settled results, and the same bytes whatever the order of arrival."""

from __future__ import annotations

from pathlib import Path

from caretbench.build.validation.reviewed import ReviewedProblem
from caretbench.files import read_rows
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.exchange import ExportedDecision, export_review
from tests.people.review.test_review_state import decided, item

PEOPLE = {"ann": "reviewer", "bob": "reviewer", "eve": "adjudicator"}


def test_every_decision_is_exported_and_the_last_one_holds(tmp_path: Path) -> None:
    from tests.support.review_server import make_review

    items = [item(number) for number in range(2)]
    make_review(tmp_path / "a", items, PEOPLE)
    make_review(tmp_path / "b", items, PEOPLE)
    first, second = (one.id for one in items)
    events = [
        decided("ann", first, "accept"), decided("bob", first, "reject"), decided("eve", first, "reject"),
        decided("ann", second, "reject"), decided("ann", second, "accept"), decided("bob", second, "accept"),
    ]  # fmt: skip
    shuffled = [events[place] for place in (3, 0, 5, 2, 4, 1)]
    for folder, arrived in (("a", events), ("b", shuffled)):
        with ReviewDatabase(tmp_path / folder / DATABASE_NAME) as database:
            database.add_events(arrived)
            counts = export_review(database, tmp_path / folder)
    # Six decisions; the first of them and five others have five answers, a rejection has a sixth.
    assert counts == {"decisions.jsonl": 6, "settled.jsonl": 2, "rejections.jsonl": 1, "ratings.csv": 33}
    for name in counts:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    rows = list(read_rows(tmp_path / "a" / "decisions.jsonl", ExportedDecision))
    assert [row.holds for row in rows if row.item == second and row.event.person == "ann"] == [False, True]
    settled = {row.item: row for row in read_rows(tmp_path / "a" / "settled.jsonl", ReviewedProblem)}
    assert (settled[first].state, settled[first].value, settled[first].reasons) == (
        "adjudicated",
        "reject",
        ("category",),
    )
    assert (settled[second].state, settled[second].value) == ("agreed", "accept")
