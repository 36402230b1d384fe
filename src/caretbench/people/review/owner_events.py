"""Events that the owner of a review makes: items are opened again, or given to other people."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.files import DataError
from caretbench.people.review.event import OWNER, EventKind, ReviewEvent, new_event_id, now
from caretbench.people.review.state import ReviewState


def reopen_items(state: ReviewState, items: Sequence[str], note: str = "") -> int:
    """Let everybody decide items again; return their number.

    Raises:
        DataError: there is no item to open.
    """
    if not items:
        raise DataError("no item to open again; name items, or --disputed")
    return sum(state.add(_event(state, "reopen", OWNER, item, note)) for item in dict.fromkeys(items))


def assign_items(state: ReviewState, person: str, items: Sequence[str], *, release: bool = False) -> int:
    """Give items to a reviewer, or take them away; return their number.

    Raises:
        DataError: there is no such reviewer.
    """
    reviewers = state.names("reviewer")
    if person not in reviewers:
        raise DataError(f"no reviewer {person}; invited: {', '.join(reviewers) or 'nobody'}")
    kind: EventKind = "release" if release else "assign"
    return sum(state.add(_event(state, kind, person, item, "")) for item in dict.fromkeys(items))


def _event(state: ReviewState, kind: EventKind, person: str, item: str, note: str) -> ReviewEvent:
    moment = now()
    return ReviewEvent(
        id=new_event_id(), kind=kind, person=person, item=item, protocol=state.protocol.key, made_at=moment,
        received_at=moment, note=note,
    )  # fmt: skip
