"""Submitted events: what a browser sends, checked against the person, the item and the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.event import EventId, Note, ReviewEvent, Time, now
from caretbench.people.review.protocol import Answer
from caretbench.people.review.state import ReviewState
from caretbench.problem import Row

MOST_EVENTS = 1_000
"""Maximum number of events of one request."""


class SubmittedEvent(Row):
    """Event as a browser sends it. The person is known from the cookie, and the time of arrival from the clock."""

    id: EventId
    kind: Literal["decision", "withdrawal", "later", "send_back"]
    item: str = Field(max_length=64)
    repeat: int = Field(default=0, ge=0, le=1)
    protocol: str = Field(max_length=200)
    made_at: Time
    answers: Mapping[str, Answer] = Field(default_factory=dict)
    note: Note = ""
    active_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Verdict(NamedTuple):
    """Outcome of a submitted event: ``stored``, ``known`` (it was stored before) or ``refused`` with a reason."""

    id: str
    status: Literal["stored", "known", "refused"]
    reason: str = ""


def submit(database: ReviewDatabase, state: ReviewState, person: Person, value: object) -> Verdict:
    """Store one event that a person sent.

    Raises:
        OSError: it cannot be stored; the browser keeps it.
    """
    try:
        event = SubmittedEvent.model_validate(replace_surrogates(value))
    except ValidationError as error:
        claimed = value.get("id") if isinstance(value, dict) else None
        return Verdict(str(claimed)[:64], "refused", describe_validation_error(error))
    reason = _fault(database, state, person, event)
    if reason is not None:
        return Verdict(event.id, "refused", reason)
    received = now()
    fields: dict[str, Any] = event.model_dump()
    fields |= {"person": person.name, "received_at": received, "made_at": min(event.made_at, received)}
    return Verdict(event.id, "stored" if state.add(ReviewEvent(**fields)) else "known")


def _fault(database: ReviewDatabase, state: ReviewState, person: Person, event: SubmittedEvent) -> str | None:
    """Return why an event is refused, or None."""
    if event.item not in state.kinds:
        return f"there is no item {event.item}"
    if event.protocol != state.protocol.key:
        return f"decided by the protocol {event.protocol}; this review is by {state.protocol.key}: load the page again"
    if person.role == "adjudicator" and not (state.is_disputed(event.item) or state.final_decision(event.item)):
        return "nobody differs about this item"
    if event.kind == "send_back":
        if person.role != "adjudicator":
            return "only the adjudicator asks people again"
        return None if event.note.strip() else "a note must say what to look at again"
    if event.kind != "decision":
        return None
    item = database.item(event.item)
    choices = len(item.shown.choices) if item else 0
    return state.protocol.faults(event.answers, event.note, choices)
