"""Events as browsers send them: who sent them and when, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.protocol import Answer
from caretbench.people.review.records import EventId, Note, ReviewEvent, Time, now
from caretbench.people.review.state import ReviewState
from caretbench.problem import Row


class SubmittedEvent(Row):
    """Event as a browser sends it, with the person of the page, who may not be the cookie's any more."""

    id: EventId
    person: str = Field(max_length=64)
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


class BrowserClock:
    """Clock of one browser: how far it is from the server's, and the last time of its events."""

    def __init__(self, begin: str) -> None:
        self._last = begin
        self.offset_s: float | None = 0.0

    def measure(self, sent_at: str | None) -> None:
        """Measure the difference of the clocks by the time at which a request was sent, by the browser's clock."""
        try:
            # Programs say nothing; their clock is taken for right.
            gap = datetime.now(UTC) - datetime.fromisoformat(sent_at[:40]) if sent_at else timedelta()
            self.offset_s = gap.total_seconds()
        except (ValueError, TypeError, OverflowError):
            self.offset_s = None

    def timed(self, event: ReviewEvent) -> ReviewEvent:
        """Return an event with the time at which it was made: that of arrival, where the browser's cannot be right.

        It cannot be later than the arrival, or earlier than the review or an event that the browser sent before: the
        clock was set in between.
        """
        offset = self.offset_s
        if offset is not None:
            try:
                made = datetime.fromisoformat(event.made_at) + timedelta(seconds=offset)
                fits = self._last <= made.isoformat(timespec="microseconds").replace("+00:00", "Z") <= event.received_at
            except OverflowError:
                fits = False
            offset = offset if fits else None
        timed = event.model_copy(update={"offset_s": offset})
        self._last = timed.moment
        return timed


def submit(
    database: ReviewDatabase, state: ReviewState, person: Person, value: object, clock: BrowserClock | None = None
) -> Verdict:
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
    fields: dict[str, Any] = event.model_dump()
    stored = ReviewEvent(**fields, role=person.role, received_at=now())
    is_new = state.add(clock.timed(stored) if clock is not None else stored)
    return Verdict(event.id, "stored" if is_new else "known")


def foreign_page(claimed: str, person: Person) -> str:
    """Return the message to a page of one person in a browser that is now another's."""
    return (
        f"This page is {claimed[:64]}'s, and this browser is now {person.name}'s. Load the page again to go on as "
        f"{person.name}; what {claimed[:64]} decided waits here for a new link of {claimed[:64]}. For two people take "
        "two browsers, or two profiles of one."
    )


def _fault(database: ReviewDatabase, state: ReviewState, person: Person, event: SubmittedEvent) -> str | None:
    """Return why an event is refused, or None."""
    if event.person != person.name:
        return foreign_page(event.person, person)
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
    if event.kind == "withdrawal" and person.role == "reviewer" and state.is_adjudicated(event.item):
        return "the adjudicator has settled this item meanwhile; tell the owner if it must be decided again"
    if event.kind != "decision":
        return None
    item = database.item(event.item)
    choices = len(item.shown.choices) if item else 0
    return state.protocol.faults(event.answers, event.note, choices)
