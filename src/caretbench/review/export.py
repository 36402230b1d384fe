"""Export of a review: every single decision, the settled results, and the rejections; always the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from caretbench.files import write_rows
from caretbench.problem import Row
from caretbench.review.database import ReviewDatabase
from caretbench.review.event import ReviewEvent
from caretbench.review.protocol import Answer
from caretbench.review.queues import QueueEntry
from caretbench.review.state import ReviewState


class ExportedDecision(Row):
    """One decision of one person; ``holds`` is false if a later event took its place."""

    item: str
    problem_id: str
    suite: str
    language: str
    answer: str
    kind: str
    holds: bool
    event: ReviewEvent


class SettledItem(Row):
    """Result of one item; ``value`` answers the question of the settlement, ``means`` are over people by scale."""

    item: str
    problem_id: str
    suite: str
    state: str
    value: Answer | None
    means: Mapping[str, float] = Field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def export_review(database: ReviewDatabase, folder: Path) -> dict[str, int]:
    """Write ``decisions.jsonl``, ``settled.jsonl`` and ``rejections.jsonl``; return the number of rows of each.

    Rows are sorted by item, person and time, whatever the order in which events arrived.
    """
    state = ReviewState(database)
    items = {item_id: item for _, item_id, item in database.items()}
    events = sorted((event for _, event in database.events()), key=lambda one: (one.item, one.person, *one.order))
    decisions = []
    for event in events:
        item = items.get(event.item)
        if event.kind == "decision" and item is not None:
            held = state.decision(event.person, QueueEntry(event.item, event.repeat))
            decisions.append(
                ExportedDecision(
                    item=event.item, problem_id=item.problem_id, suite=item.suite, language=item.language,
                    answer=item.answer, kind=item.kind, holds=held is not None and held.id == event.id, event=event,
                )
            )  # fmt: skip
    settled = []
    for item_id in sorted(items):
        item = items[item_id]
        if item.kind == "item" and item_id not in state.replaced:
            found = state.settled(item_id)
            settled.append(
                SettledItem(
                    item=item_id, problem_id=item.problem_id, suite=item.suite, state=found.state, value=found.value,
                    means=found.means, reasons=found.reasons, notes=found.notes,
                )
            )  # fmt: skip
    files: dict[str, Sequence[Row]] = {
        "decisions.jsonl": decisions,
        "settled.jsonl": settled,
        "rejections.jsonl": [row for row in settled if row.value == "reject"],
    }
    return {name: write_rows(folder / name, rows) for name, rows in files.items()}
