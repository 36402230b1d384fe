"""Codes of events from the decisions of a review, as the analysis of events takes them."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import NamedTuple

from caretbench.files import DataError
from caretbench.judging.answers import answer_key
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.protocol import ReviewProtocol
from caretbench.people.review.queues import rank
from caretbench.people.review.records import HiddenItem, ReviewEvent, ReviewItem, ShownItem
from caretbench.people.review.state import ReviewState
from caretbench.people.telemetry.event_features import outcome_of_texts, secret_texts
from caretbench.people.telemetry.events import FAILED_OUTCOMES, CompletionEvent, EventReader, EventTexts
from caretbench.people.telemetry.people_codes import EventCodes

EVENT_SUITE = "telemetry"
"""Name of the suite of items from events; no suite has it."""


class EventItems(NamedTuple):
    """Items from events, and numbers of events: that can be coded, and that have something like a secret."""

    items: list[ReviewItem]
    failed: int
    with_secrets: int


def event_items(path: Path, protocol: ReviewProtocol, *, texts: int, seed: int = 0) -> EventItems:
    """Return the items of a random sample of the events that users saw and did not keep as they were.

    Events with something in the shape of a secret are excluded.

    Args:
        path: File of events with texts.
        protocol: A protocol about answers.
        texts: Largest number of items.
        seed: Seed of the sample.

    Raises:
        DataError: the protocol is not about answers, or the file has no such event with texts.
    """
    if protocol.subject != "answer" or protocol.suites or protocol.questions_from_criterion:
        raise DataError(f"the protocol {protocol.name} is not about completions of editors; event-codes is")
    failed = with_secrets = 0
    sample: list[tuple[int, int, CompletionEvent, EventTexts]] = []
    for number, event in enumerate(EventReader(path)):
        # People code what is wrong with a text; of features alone there is nothing to read.
        if event.texts is None or outcome_of_texts(event, event.texts) not in FAILED_OUTCOMES:
            continue
        if secret_texts(event.texts):
            with_secrets += 1
            continue
        failed += 1
        # The heap's first entry is the largest rank of the sample.
        entry = (-int.from_bytes(rank(seed, "event", event.id)), number, event, event.texts)
        if len(sample) < texts:
            heapq.heappush(sample, entry)
        elif entry[0] > sample[0][0]:
            heapq.heapreplace(sample, entry)
    if not sample:
        raise DataError(
            f"{path}: no event with texts that a user saw and did not keep; people code texts, so that the review is "
            "made where the texts are"
        )
    # In the order of the file: the rank would show which ones a smaller sample had.
    chosen = sorted(sample, key=lambda entry: entry[1])
    return EventItems([_item(event, shown, protocol) for _, _, event, shown in chosen], failed, with_secrets)


def _item(event: CompletionEvent, texts: EventTexts, protocol: ReviewProtocol) -> ReviewItem:
    return ReviewItem(
        problem_id=event.id,
        suite=EVENT_SUITE,
        language=event.language,
        answer=answer_key(texts.completion),
        shown=ShownItem(
            before=texts.prefix,
            span=texts.completion,
            after=texts.suffix,
            reference=texts.last_known if "reference" in protocol.shows else None,
        ),
        hidden=HiddenItem(models=(event.model,) if event.model else ()),
    )


def event_codes(database: ReviewDatabase) -> list[EventCodes]:
    """Return the codes of each event that somebody has coded, in the order in which the last code was given.

    Items that were replaced do not count.

    Raises:
        DataError: the review is not about events, or nobody has coded one.
    """
    state = ReviewState(database)
    question = state.protocol.settlement.question
    coded = []
    for item_id, item in state.current_items().items():
        decisions, final = state.decisions(item_id), state.final_decision(item_id)
        if item.suite != EVENT_SUITE or question is None or not decisions:
            continue
        alone = {person: _codes(event) for person, event in state.first_decisions(item_id).items()}
        # Saturation is about when a code first occurred, so the order of coding counts.
        last = max(event.moment for event in decisions.values())
        answers = {person: _codes(event) for person, event in decisions.items()}
        coded.append((last, EventCodes(item.problem_id, answers, None if final is None else _codes(final), alone)))
    if not coded:
        raise DataError(
            f"{database.path}: nobody has coded an event; make a review of events with `caretbench review new FOLDER "
            "--protocol event-codes --events FILE`"
        )
    return [codes for _, codes in sorted(coded, key=lambda entry: (entry[0], entry[1].event))]


def _codes(event: ReviewEvent) -> dict[str, str]:
    return {name: str(value) for name, value in event.answers.items()}
