"""The status: agreement, disputes, reasons, controls, and known answers, as tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.metrics.agreement import krippendorff_alpha
from caretbench.metrics.kappa import fleiss_kappa
from caretbench.people.releases.datasheet import review_figures
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import export_review
from caretbench.people.review.protocol import Answer, load_protocol
from caretbench.people.review.queues import rank
from caretbench.people.review.records import HiddenItem, ReviewItem
from caretbench.people.review.review_items import problem_items
from caretbench.people.review.state import ReviewState
from caretbench.people.review.status import status_tables
from caretbench.suites import load_problems, load_suite
from caretbench.text_tables import TextTable
from tests.people.review.test_review_state import decided
from tests.support.review_server import SEVERAL, made_item, make_review
from tests.support.simulated_people import decide_all

SCALES = ("usefulness", "realism", "category_alignment", "complexity_authenticity")


def tables(folder: Path) -> dict[str, TextTable]:
    with ReviewDatabase(folder / "review.sqlite") as database:
        return {table.title: table for table in status_tables(ReviewState(database), database)}


def draw(item: ReviewItem, *words: str) -> float:
    return rank(3, item.id, *words)[0] / 256


def opinion(item: ReviewItem, person: str) -> Mapping[str, Answer]:
    answers: dict[str, Answer] = {name: 1 + int(4 * draw(item) + draw(item, person, name)) for name in SCALES}
    rejects = draw(item, person) < 0.4
    answers["decision"] = "reject" if rejects else "accept"
    if rejects:
        answers["reason"] = "too-simple" if draw(item) < 0.7 else "category"
    return answers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    items = [made_item(number).model_copy(update={"language": "java" if number % 2 else "go"}) for number in range(60)]
    make_review(tmp_path, items, {"ann": "reviewer", "bob": "reviewer"}, repeats=0.3)
    decide_all(tmp_path, ["ann", "bob"], opinion)
    return tmp_path


def test_agreement_is_that_of_the_formulas(folder: Path) -> None:
    rows = {row[0]: row for row in tables(folder)["Agreement"].rows}
    with ReviewDatabase(folder / "review.sqlite") as database:
        state = ReviewState(database)
        decisions = [state.decisions(item) for item in state.kinds]
    scores = [[float(one[name].answers["realism"]) for one in decisions] for name in ("ann", "bob")]
    votes = [[str(one[name].answers["decision"]) for one in decisions] for name in ("ann", "bob")]
    assert rows["realism"][1:5] == ("60", rows["realism"][2], "ordinal", f"{krippendorff_alpha(scores):.2f}")
    assert rows["decision"][4] == f"{krippendorff_alpha(votes, 'nominal'):.2f}"
    assert rows["decision"][6] == f"{fleiss_kappa(votes):.2f}"
    low, high = rows["realism"][5].split(" to ")
    assert float(low) < float(rows["realism"][4]) < float(high)
    # The rule gives one answer to one item, so everybody agrees with themselves.
    assert rows["realism"][7].startswith("100% of ")


def test_labels_people_disputes_and_reasons_have_tables(folder: Path) -> None:
    found = tables(folder)
    assert [row[:2] for row in found["Alpha by label"].rows] == [("language=go", "30"), ("language=java", "30")]
    disputed = found["Most disputed items"]
    assert len(disputed.rows) == 10
    assert "decision: accept / reject" in disputed.rows[0][3]
    [title] = [title for title in found if title.startswith("Reasons of")]
    rows = found[title].rows
    assert rows[0][0].startswith("Too simple")
    assert rows[0][3] == "32%"
    assert sum(int(row[1]) for row in rows) >= int(title.split()[2])
    people = {row[0]: row for row in found["People"].rows}
    assert people["ann"][6] == "3"


def test_agreement_is_from_before_the_adjudicator_asked(folder: Path) -> None:
    """After a question people agree more: that is no agreement of theirs."""
    before = tables(folder)["Agreement"]
    with ReviewDatabase(folder / "review.sqlite") as database:
        database.invite("eve", "adjudicator")
        state = ReviewState(database)
        for item in [item for item in state.kinds if state.is_disputed(item)]:
            state.add(decided("eve", item, "", kind="send_back"))
            for name in ("ann", "bob"):
                state.add(decided(name, item, "accept"))
        assert not any(state.is_disputed(item) for item in state.kinds)
        alone = {item: state.first_decisions(item) for item in state.kinds}
        export_review(database, folder)
    assert tables(folder)["Agreement"] == before
    rows = list(csv.DictReader((folder / "ratings.csv").read_text().splitlines()))
    told = {(row["item"], row["person"]): row["answer"]
            for row in rows if (row["first"], row["question"], row["repeat"]) == ("1", "decision", "0")}  # fmt: skip
    assert told == {(item, name): one[name].answers["decision"] for item, one in alone.items() for name in one}
    figures = review_figures(folder).questions["decision"]
    assert f"{figures.alpha:.2f}" == {row[0]: row for row in before.rows}["decision"][4]


def test_shares_of_reasons_are_of_rejections_as_in_the_paper(tmp_path: Path) -> None:
    """The paper has one reason for each rejection: with two people and two reasons, shares were 163 %."""
    make_review(tmp_path, [made_item(number) for number in range(4)], {"ann": "reviewer", "bob": "reviewer"})

    def rule(_item: ReviewItem, person: str) -> Mapping[str, Answer]:
        reason = "category" if person == "ann" else "too-simple"
        return dict.fromkeys(SCALES, 2) | {"decision": "reject", "reason": reason}

    decide_all(tmp_path, ["ann", "bob"], rule)
    rows = {row[0][:10]: row[1:3] for row in tables(tmp_path)["Reasons of 4 rejections"].rows}
    assert rows["Too simple"] == rows["The comple"] == ("4", "50%")


def test_a_warm_up_counts_by_what_was_said_before_the_answer_was_told(tmp_path: Path) -> None:
    hidden = HiddenItem(control="empty", expect={"decision": ("reject",)})
    item = made_item(9, hidden=hidden).model_copy(update={"kind": "warm_up"})
    make_review(tmp_path, [item], {"ann": "reviewer"})
    with ReviewDatabase(tmp_path / "review.sqlite") as database:
        state = ReviewState(database)
        state.add(decided("ann", item.id, "accept"))
        state.add(decided("ann", item.id, "", kind="withdrawal"))
        state.add(decided("ann", item.id, "reject"))
    assert tables(tmp_path)["People"].rows[0][5] == "0 of 1"


def test_agreement_is_undefined_where_all_give_one_answer(tmp_path: Path) -> None:
    make_review(tmp_path, [made_item(number) for number in range(5)], {"ann": "reviewer", "bob": "reviewer"})
    decide_all(tmp_path, ["ann", "bob"], lambda _item, _name: dict.fromkeys(SCALES, 4) | {"decision": "accept"})
    rows = {row[0]: row for row in tables(tmp_path)["Agreement"].rows}
    assert rows["realism"][4] == "undefined: all gave one answer"
    assert rows["realism"][2] == "100%"


def test_several_values_agree_each_by_itself(tmp_path: Path) -> None:
    with ReviewDatabase.create(tmp_path, SEVERAL, [made_item(number) for number in range(6)], seed=1) as database:
        for name in ("ann", "bob"):
            database.invite(name, "reviewer")
    given = {"ann": ("x", "x+y", "y", "z", "x", "x"), "bob": ("x", "x", "y", "z", "x+y", "x")}

    def answers(item: ReviewItem, name: str) -> Mapping[str, Answer]:
        topics = given[name][int(item.problem_id[1:])]
        return {"topics": topics, "keep": "yes"} | ({"why": f"so says {name}"} if "y" in topics else {})

    decide_all(tmp_path, ["ann", "bob"], answers)
    rows = {row[0]: row for row in tables(tmp_path)["Agreement"].rows}
    assert list(rows) == ["topics=x", "topics=y", "topics=z", "keep"]
    by_value = [[int("y" in topics) for topics in given[name]] for name in ("ann", "bob")]
    alpha = krippendorff_alpha(by_value, "nominal")
    assert rows["topics=y"][4] == f"{alpha:.2f}"
    assert (rows["topics=x"][2], rows["topics=z"][2]) == ("100%", "100%")
    disputed = tables(tmp_path)["Most disputed items"].rows
    assert sorted(row[1] for row in disputed) == ["p1", "p4"], "words are no difference"


def test_controls_count_by_person(tmp_path: Path) -> None:
    control = made_item(9, hidden=HiddenItem(control="empty", expect={"decision": ("reject",)}))
    items = [made_item(1), control.model_copy(update={"kind": "control"})]
    make_review(tmp_path, items, {"ann": "reviewer", "bob": "reviewer"})

    def rule(item: ReviewItem, person: str) -> Mapping[str, Answer]:
        answers: dict[str, Answer] = dict.fromkeys(SCALES, 2)
        if item.kind == "control" and person == "ann":
            return answers | {"decision": "reject", "reason": "category"}
        return answers | {"decision": "accept"}

    decide_all(tmp_path, ["ann", "bob"], rule)
    assert [row[5] for row in tables(tmp_path)["People"].rows] == ["1 of 1", "0 of 1"]


def test_people_who_answer_questions_have_a_score_and_a_time(tmp_path: Path) -> None:
    protocol = load_protocol("efcb-choice")
    problems = load_problems(load_suite("efcb"), "starter").problems
    chosen = [item for item in problem_items(problems, protocol) if item.kind == "item"][:8]
    ReviewDatabase.create(tmp_path / "r", protocol, chosen, 0).close()
    assert all(item.shown.choices and not item.shown.span for item in chosen)

    def rule(item: ReviewItem, person: str) -> Mapping[str, Answer]:
        [right] = item.hidden.expect["choice"]
        return {"choice": right if person == "ann" or item is None else (int(right) + 1) % len(item.shown.choices)}

    decide_all(tmp_path / "r", ["ann", "bob", "cyd"], rule)
    rows = {row[0]: row for row in tables(tmp_path / "r")["Right answers"].rows}
    assert rows["ann"][1:3] == ("8", "100.0%")
    assert rows["bob"][1:3] == ("8", "0.0%")
    assert rows["all"][1:3] == ("24", "33.3%")
    assert rows["ann"][4] == "3"


@pytest.mark.long
def test_ten_thousand_items_and_ten_people_take_two_seconds(tmp_path: Path) -> None:
    """In CPU time, against a loop of the interpreter, since machines differ."""
    import time

    make_review(tmp_path, [made_item(number) for number in range(10_000)], {f"p{n}": "reviewer" for n in range(10)})
    decide_all(tmp_path, [], opinion)
    with ReviewDatabase(tmp_path / "review.sqlite") as database:
        state = ReviewState(database)
        from caretbench.people.review.records import ReviewEvent, new_event_id, now

        moment = now()
        database.add_events([
            ReviewEvent(id=new_event_id(), kind="decision", person=person, item=item, protocol=state.protocol.key,
                        made_at=moment, received_at=moment, answers=opinion(made_item(place % 50), person))
            for place, item in enumerate(state.kinds) for person in state.people_of(item)
        ])  # fmt: skip
    begin = time.process_time()
    sum(number * number for number in range(10_000_000))
    loop = time.process_time() - begin
    begin = time.process_time()
    assert len(tables(tmp_path)) >= 6
    assert time.process_time() - begin < max(2, 6 * loop)
