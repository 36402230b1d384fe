"""Export of a review: everything that people did, the settled results, and the rejections; always the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from caretbench.build.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem
from caretbench.files import write_atomically, write_rows
from caretbench.people.review.database import PersonRole, ReviewDatabase
from caretbench.people.review.event import OWNER, ReviewEvent
from caretbench.people.review.item import ReviewItem
from caretbench.people.review.queues import QueueEntry
from caretbench.people.review.state import ReviewState
from caretbench.problem import Row

RATING_FIELDS: Final = (
    "item", "problem", "suite", "language", "labels", "kind", "person", "role", "repeat", "question", "answer", "note",
    "seconds", "holds", "made_at",
)  # fmt: skip
"""Columns of ``ratings.csv``."""

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters by which spreadsheets know a formula."""


class ExportedDecision(Row):
    """One event of one person, with the item; ``holds``: it is a decision, and no later event took its place."""

    item: str
    problem_id: str
    suite: str
    language: str
    answer: str
    kind: str
    role: PersonRole
    holds: bool
    event: ReviewEvent


def export_review(database: ReviewDatabase, folder: Path) -> dict[str, int]:
    """Write the files of an export; return the number of rows of each.

    ``decisions.jsonl`` has every event, ``ratings.csv`` every answer of a decision, ``settled.jsonl`` the result of
    each item, ``rejections.jsonl`` the rejected ones. Rows are sorted by item, person and time, whatever the order in
    which events arrived.
    """
    state = ReviewState(database)
    items = {item_id: item for _, item_id, item in database.items()}
    decisions = _decisions(database, state, items)
    settled = []
    for item_id in sorted(items):
        item = items[item_id]
        if item.kind == "item" and item_id not in state.replaced:
            found = state.settled(item_id)
            settled.append(
                ReviewedProblem(
                    item=item_id, problem_id=item.problem_id, suite=item.suite, state=found.state, value=found.value,
                    problem_hash=item.problem_hash,
                    means=found.means, reasons=found.reasons, notes=found.notes,
                )
            )  # fmt: skip
    files: dict[str, Sequence[Row]] = {
        "decisions.jsonl": decisions,
        SETTLED_NAME: settled,
        "rejections.jsonl": [row for row in settled if row.value == REJECTED],
    }
    counts = {name: write_rows(folder / name, rows) for name, rows in files.items()}
    ratings = list(_rating_lines(decisions, items))
    write_atomically(folder / "ratings.csv", csv_text((RATING_FIELDS, *ratings)).encode())
    return counts | {"ratings.csv": len(ratings)}


def _decisions(database: ReviewDatabase, state: ReviewState, items: Mapping[str, ReviewItem]) -> list[ExportedDecision]:
    roles: dict[str, PersonRole] = {person.name: person.role for person in state.people.values()}
    events = (event for _, event in database.events() if event.item in items)
    rows = []
    for event in sorted(events, key=lambda one: (one.item, one.person, *one.order)):
        item = items[event.item]
        held = state.decision(event.person, QueueEntry(event.item, event.repeat))
        rows.append(
            ExportedDecision(
                item=event.item, problem_id=item.problem_id, suite=item.suite, language=item.language,
                answer=item.answer, kind=item.kind, holds=held is not None and held.id == event.id, event=event,
                role="owner" if event.person == OWNER else roles.get(event.person, "reviewer"),
            )
        )  # fmt: skip
    return rows


def _rating_lines(
    decisions: Sequence[ExportedDecision], items: Mapping[str, ReviewItem]
) -> Iterator[tuple[object, ...]]:
    for row in decisions:
        event = row.event
        labels = " ".join(f"{name}={value}" for name, value in sorted(items[row.item].labels.items()))
        for question, answer in sorted(event.answers.items()):
            yield (
                row.item, row.problem_id, row.suite, row.language, labels, row.kind, event.person, row.role,
                event.repeat, question, answer, event.note, "" if event.active_s is None else event.active_s,
                int(row.holds), event.made_at,
            )  # fmt: skip


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; a text that a spreadsheet would run as a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(
            [f"'{field}" if isinstance(field, str) and field[:1] in FORMULA_STARTS else field for field in row]
        )
    return text.getvalue()
