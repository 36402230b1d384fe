"""Codes of events from the decisions of a review, as the analysis of events takes them."""

from __future__ import annotations

from caretbench.files import DataError
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange.event_items import EVENT_SUITE
from caretbench.people.review.state import ReviewState
from caretbench.people.telemetry.analysis.people_codes import EventCodes


def event_codes(database: ReviewDatabase) -> list[EventCodes]:
    """Return the codes of each event that somebody has coded, in the order in which the last code was given.

    Raises:
        DataError: the review is not about events, or nobody has coded one.
    """
    state = ReviewState(database)
    question = state.protocol.settlement.question
    found = []
    for _, item_id, item in database.items():
        if item.suite != EVENT_SUITE or item.kind != "item" or question is None:
            continue
        decisions = state.decisions(item_id)
        final = state.final_decision(item_id)
        if not decisions:
            continue
        answers = {
            person: {name: str(value) for name, value in one.answers.items()} for person, one in decisions.items()
        }
        settled = None if final is None else {name: str(value) for name, value in final.answers.items()}
        last = max(event.made_at for event in decisions.values())
        found.append((last, EventCodes(item.problem_id, answers, settled)))
    if not found:
        raise DataError(
            f"{database.path}: nobody has coded an event; make a review of events with `caretbench review new FOLDER "
            "--protocol event-codes --events FILE`"
        )
    return [codes for _, codes in sorted(found, key=lambda entry: (entry[0], entry[1].event))]
