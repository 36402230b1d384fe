"""Statistics of a real export of a review."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.people.releases.datasheet import review_figures
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.exchange import export_review
from tests.people.review.test_review_state import decided, item
from tests.support.review_server import make_review

PEOPLE = {"ann": "reviewer", "bob": "reviewer", "eve": "adjudicator"}


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Three items: agreed, settled by the adjudicator as rejected, and open."""
    items = [item(number) for number in range(3)]
    make_review(tmp_path / "review", items, PEOPLE)
    first, second, third = (one.id for one in items)
    events = [
        decided("ann", first, "accept"), decided("bob", first, "accept"), decided("ann", second, "accept"),
        decided("bob", second, "reject"), decided("eve", second, "reject"), decided("ann", third, "accept"),
        decided("ann", third, "reject"),
    ]  # fmt: skip
    with ReviewDatabase(tmp_path / "review" / DATABASE_NAME) as database:
        database.add_events(events)
        export_review(database, tmp_path / "export")
    return tmp_path / "export"


def test_figures_of_an_export(exported: Path) -> None:
    found = review_figures(exported)
    assert (found.items, found.settled, found.accepted, found.rejected) == (3, 2, 1, 1)
    assert found.states["agreed"] == found.states["adjudicated"] == 1
    assert found.rejections == {"category": 1}
    # The first decision of the third item was taken back; the adjudicator is no reviewer.
    assert (found.people, found.decisions) == (2, 5)
    decision = found.questions["decision"]
    assert (decision.items, decision.equal, decision.mean) == (2, 0.5, None)
    assert decision.alpha == pytest.approx(0.0)


def test_reasons_of_equal_number_are_in_the_order_of_their_names(exported: Path) -> None:
    path = exported / "settled.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    [rejected] = [row for row in rows if row["value"] == "reject"]
    more = [rejected | {"reasons": names} for names in (["too-simple", "category"], ["ambiguous", "category"])]
    path.write_text("".join(json.dumps(row) + "\n" for row in more))
    assert list(review_figures(exported).rejections.items()) == [("category", 2), ("ambiguous", 1), ("too-simple", 1)]


def test_without_decisions_people_are_unknown(exported: Path) -> None:
    (exported / "decisions.jsonl").unlink()
    found = review_figures(exported)
    assert (found.people, found.decisions, found.hours, found.questions) == (None, None, None, {})
    assert found.rejected == 1


def test_other_files_are_refused(exported: Path) -> None:
    (exported / "decisions.jsonl").write_text('{"holds": true}\n')
    with pytest.raises(DataError, match=r"decisions\.jsonl:1: .*decision"):
        review_figures(exported)
    with pytest.raises(DataError, match="review export"):
        review_figures(exported.parent)
