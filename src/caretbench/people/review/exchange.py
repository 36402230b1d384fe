"""Events that the owner of a review makes: items are opened again, or given to other people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.build.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem
from caretbench.errors import check_folder_is_writable
from caretbench.files import DataError, read_rows, sha256_json, write_atomically, write_rows
from caretbench.grouping import grouped
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.protocol import Answer, ReviewProtocol
from caretbench.people.review.records import (
    OWN_KINDS,
    OWNER,
    PEOPLE_KINDS,
    EventKind,
    Note,
    PersonRole,
    ReviewEvent,
    ReviewItem,
    Time,
    checked_name,
    new_event,
    now,
    shown_texts,
)
from caretbench.people.review.state import ReviewState
from caretbench.problem import Row
from caretbench.runs.judging.ratings import RATINGS_NAME, HumanRating
from caretbench.runs.run_folder import RunFolder

RATING_FIELDS: Final = (
    "item", "problem", "suite", "language", "labels", "kind", "person", "role", "repeat", "question", "answer", "note",
    "seconds", "holds", "first", "made_at",
)  # fmt: skip
"""Columns of ``ratings.csv``."""

# A note `=HYPERLINK(…)` would run in the spreadsheet of the owner who opens the export.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters by which spreadsheets know a formula."""


class ExportedDecision(Row):
    """One event of one person, with the item.

    ``holds``: it is a decision, and no later event took its place. ``first``: it is what the person decided alone,
    which agreement is about; None in files of earlier versions.
    """

    item: str
    problem_id: str
    suite: str
    language: str
    answer: str
    kind: str
    role: PersonRole
    holds: bool
    first: bool | None = None
    event: ReviewEvent


def export_review(database: ReviewDatabase, folder: Path) -> dict[str, int]:
    """Write the files of an export; return the number of rows of each.

    ``decisions.jsonl`` has every event about an item, ``ratings.csv`` every answer of a decision, ``settled.jsonl`` the
    result of each item, ``rejections.jsonl`` the rejected ones. Rows are sorted by item, person and time, whatever the
    order in which events arrived.
    """
    state = ReviewState(database)
    items = {item_id: item for _, item_id, item in database.items()}
    decisions = _decisions(database, state, items)
    settled = []
    for item_id in sorted(state.result_items()):
        item, final = items[item_id], state.settled(item_id)
        settled.append(
            ReviewedProblem(
                item=item_id, problem_id=item.problem_id, suite=item.suite, state=final.state, value=final.value,
                problem_hash=item.problem_hash, means=final.means, reasons=final.reasons, notes=final.notes,
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
    first = {event.id for item in items for repeat in (0, 1) for event in state.first_decisions(item, repeat).values()}
    events = (event for _, event in database.events() if event.item in items)
    rows = []
    # Two copies of a review that received the same events in another order export the same bytes.
    for event in sorted(events, key=lambda event: (event.item, event.person, *event.order)):
        item = items[event.item]
        rows.append(
            ExportedDecision(
                item=event.item, problem_id=item.problem_id, suite=item.suite, language=item.language,
                answer=item.answer, kind=item.kind, holds=state.holds(event),
                first=event.id in first, event=event, role=state.role(event),
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
                int(row.holds), int(bool(row.first)), event.moment,
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


class ImportedRows(NamedTuple):
    """Numbers of events: new ones, and those that were there; and the names of people who were not known."""

    new: int
    known: int
    people: tuple[str, ...]


class _Source(NamedTuple):
    """Rows of one file: events about people, the items that it has, and its other events with their places in it."""

    people: tuple[ReviewEvent, ...]
    items: tuple[ReviewItem, ...]
    events: tuple[tuple[str, ReviewEvent], ...]


def import_decisions(database: ReviewDatabase, paths: Iterable[Path]) -> ImportedRows:
    """Add the decisions of files to a review, all or none. An event with a known id is the same event.

    People who were never invited are added without a link: ``invite`` makes one. The items of a copy are added too.

    Args:
        database: The review.
        paths: ``decisions.jsonl`` of an export, or ``review.sqlite`` of a copy.

    Raises:
        DataError: a file cannot be read, is of another protocol or item, has a wrong answer, or gives a known person
            another role. The message names the file and the line.
    """
    protocol = database.protocol()
    sources = [_read(path, protocol) for path in paths]
    copied = [item for source in sources for item in source.items]
    # Items of the copies too: a decision of a copy may be about one that only it has.
    choices = {item.id: len(item.shown.choices) for item in (*(item for _, _, item in database.items()), *copied)}
    earlier = database.people_events()
    here = {event.person for event in earlier}
    people: dict[str, ReviewEvent] = {}
    for source in sources:
        _check_roles(database.path, earlier, source.people)
        people |= {event.id: event for event in _new_people(earlier, source.people, protocol)}
        earlier = [*earlier, *source.people]
        for where, event in source.events:
            _check(where, event, protocol, choices)
    events = {event.id: event for source in sources for _, event in source.events}
    new = database.merge(list(people.values()), copied, list(events.values()))
    added = {event.person for event in people.values() if event.kind == "invite"} - here
    return ImportedRows(new, len(events) - new, tuple(sorted(added)))


def _new_people(
    earlier: Sequence[ReviewEvent], theirs: Sequence[ReviewEvent], protocol: ReviewProtocol
) -> Iterator[ReviewEvent]:
    """Yield the events about people that are new here."""
    here, ids = {event.person for event in earlier}, {event.id for event in earlier}
    for event in theirs:
        # Exports have no invitations: an unknown person gets one, a known person needs none.
        if event.id not in ids and (event.protocol or event.person not in here):
            yield event.model_copy(update={"protocol": protocol.key})


class OwnLabel(Row):
    """One row of a file of labels: a person's answers from elsewhere. ``id`` is that of the item's problem."""

    id: str
    person: str
    answers: Mapping[str, Answer]
    note: Note = ""
    made_at: Time | None = None


def import_labels(database: ReviewDatabase, path: Path) -> ImportedRows:
    """Add the labels of a JSONL file to a review as decisions of their people, all or none; twice is once.

    Raises:
        DataError: the file cannot be read, a row is about no item or has a wrong answer, two rows are of one person
            about one item, or a person is no reviewer. The message names the line.
    """
    protocol, state = database.protocol(), ReviewState(database)
    items = state.current_items()
    by_problem = {item.problem_id: item_id for item_id, item in items.items()}
    choices = {item_id: len(item.shown.choices) for item_id, item in items.items()}
    events: dict[tuple[str, str], ReviewEvent] = {}
    for line, row in enumerate(read_rows(path, OwnLabel), 1):
        where = f"{path}:{line}"
        if row.id not in by_problem:
            raise DataError(f"{where}: id: this review has no item of {row.id}")
        if row.person in state.people and state.people[row.person].role != "reviewer":
            raise DataError(f"{where}: person: {row.person} is no reviewer")
        item = by_problem[row.id]
        event = ReviewEvent(
            # The same row is the same event, however often it is imported.
            id=sha256_json({"label": [item, row.model_dump(mode="json")]})[:32], kind="decision", person=row.person,
            role="reviewer", item=item, protocol=protocol.key, answers=row.answers, note=row.note, received_at=now(),
            made_at=row.made_at or database.fact("made_at") or now(),
        )  # fmt: skip
        _check(where, event, protocol, choices)
        if (item, row.person) in events:
            raise DataError(f"{where}: person: {row.person} has two labels of {row.id}")
        events[item, row.person] = event
    new_people = sorted(
        {event.person for event in events.values()} - {event.person for event in database.people_events()}
    )
    invited = [new_event("invite", name, protocol.key, role="reviewer") for name in new_people]
    new = database.merge(invited, [], list(events.values()))
    return ImportedRows(new, len(events) - new, tuple(new_people))


def _check_roles(path: Path, here: Sequence[ReviewEvent], theirs: Sequence[ReviewEvent]) -> None:
    """Raise DataError if a person of the import never had the role here that the person got there."""
    ids = {event.id for event in here}
    # A copy that shares the invitation has the same person; two people of one name were invited apart.
    shared = {event.person for event in theirs if event.id in ids}
    had = grouped((event.person, event.role) for event in here if event.role and event.person not in shared)
    for event in theirs:
        if event.role is not None and event.person in had and event.role not in had[event.person]:
            roles = " and ".join(dict.fromkeys(had[event.person]))
            raise DataError(f"{path}: {event.person} is {roles} here, and {event.role} in the import")


def _check(where: str, event: ReviewEvent, protocol: ReviewProtocol, choices: dict[str, int]) -> None:
    if event.protocol != protocol.key:
        raise DataError(f"{where}: protocol: {event.protocol}; this review is by {protocol.key}")
    # A file can claim anything: decisions in the owner's name would have no queue and no control.
    if event.person == OWNER and event.kind in OWN_KINDS:
        raise DataError(f"{where}: person: the owner of a review decides no item")
    if event.person != OWNER and event.kind == "reopen":
        raise DataError(f"{where}: person: only the owner opens an item again")
    if event.kind in PEOPLE_KINDS:
        raise DataError(f"{where}: kind: {event.kind} is about no item; people come with a copy of review.sqlite")
    if event.person != OWNER:
        try:
            checked_name(event.person)
        except ValueError as error:
            raise DataError(f"{where}: person: {error}") from None
    if event.item not in choices:
        raise DataError(f"{where}: item: this review has no item {event.item}")
    if event.kind == "decision":
        # The page checks answers, but an exported file can be edited.
        fault = protocol.faults(event.answers, event.note, choices[event.item])
        if fault is not None:
            raise DataError(f"{where}: answers: {fault}")


def _read(path: Path, protocol: ReviewProtocol) -> _Source:
    if path.suffix == ".jsonl":
        rows = list(read_rows(path, ExportedDecision))
        people = dict.fromkeys((row.event.person, row.role) for row in rows if row.role != "owner")
        return _Source(
            tuple(new_event("invite", name, "", role=role) for name, role in people),
            (),
            tuple((f"{path}:{line}", row.event) for line, row in enumerate(rows, 1)),
        )
    with ReviewDatabase(path) as other:
        theirs = other.protocol()
        # Exports have the key alone; a database has the whole protocol, so that an edited one is found.
        if theirs.key != protocol.key or theirs.fingerprint != protocol.fingerprint:
            raise DataError(f"{path}: protocol: {theirs.key} with other questions; this review is by {protocol.key}")
        return _Source(
            tuple(other.people_events()),
            tuple(item for _, _, item in other.items()),
            tuple((f"{path}: event {place}", event) for place, event in other.events()),
        )


class AddedItems(NamedTuple):
    """Numbers of items: added ones, those of them that take the place of another, and those that were there."""

    new: int
    successors: int
    known: int


def add_with_successors(
    state: ReviewState, items: Sequence[ReviewItem], *, replace_rejected: bool = False
) -> AddedItems:
    """Add items to a review. An item of the same problem with other texts is replaced.

    Args:
        state: State of the review.
        items: Items of problems.
        replace_rejected: Items of new problems take the places of rejected ones with the same suite, language and
            labels, in the order in which the items were added.

    Raises:
        DataError: there are rejected items, but none has the labels of a new problem.
    """
    current = state.current_items()
    by_problem = {item.problem_id: item_id for item_id, item in current.items()}
    new = [item for item in items if item.id not in current]
    changed = {item.id: by_problem.get(item.problem_id) for item in new}
    rejected = _rejected_by_cell(state, current, set(changed.values())) if replace_rejected else {}
    added = []
    for item in new:
        predecessor = changed[item.id]
        waiting = rejected.get(_cell(item))
        if predecessor is None and waiting:
            # Oldest rejection first: `labels` are equal, so any of them fits.
            predecessor = waiting.pop(0)
        added.append(item.model_copy(update={"successor_of": predecessor}))
    successors = sum(item.successor_of is not None for item in added)
    # Otherwise the new problems would be plain additions, and the rejected ones wait for ever.
    if any(rejected.values()) and not successors:
        cell = next(" ".join(cell) for cell, waiting in rejected.items() if waiting)
        raise DataError(f"no new problem has the labels of a rejected item ({cell}); nothing is added")
    return AddedItems(state.add_items(added), successors, len(items) - len(new))


def _rejected_by_cell(
    state: ReviewState, items: Mapping[str, ReviewItem], replaced: Set[str | None]
) -> dict[tuple[str, ...], list[str]]:
    """Return the rejected items that nothing replaces yet, by their labels."""
    return grouped(
        (_cell(item), item_id)
        for item_id, item in items.items()
        if item_id not in replaced and state.settled(item_id).value == REJECTED
    )


def _cell(item: ReviewItem) -> tuple[str, ...]:
    return (item.suite, item.language, *(f"{name}={value}" for name, value in sorted(item.labels.items())))


class WrittenRatings(NamedTuple):
    """File of ratings, the number of rows of this review in it, and that of others which stay."""

    path: Path
    ratings: int
    others: int


def review_ratings(database: ReviewDatabase, state: ReviewState, folder: RunFolder) -> list[HumanRating]:
    """Return the ratings of the reviewers that hold, of items of the result; not those of the adjudicator.

    Raises:
        DataError: the review is not about a criterion, or the run has other problems.
    """
    protocol = state.protocol
    if protocol.criterion is None:
        raise DataError(f"{database.path}: the protocol {protocol.key} rates nothing that a judge rates")
    scales = [question.name for question in protocol.questions if question.kind == "scale"]
    problems = {problem.id: problem for problem in folder.problems()}
    rows = []
    for item_id, item in state.current_items().items():
        for person, event in sorted(state.decisions(item_id).items()):
            values = {name: float(event.answers[name]) for name in scales if name in event.answers}
            # A judge's total is over all scores; one of three would be compared with it.
            if len(values) < len(scales):
                continue
            if item.problem_id not in problems:
                raise DataError(f"{folder.problems_path}: no problem {item.problem_id}; name the run: --run RUN")
            rows.append(
                HumanRating(
                    problem_id=item.problem_id,
                    answer=item.answer,
                    rater=person,
                    values=values,
                    completion=item.shown.span,
                    criterion=protocol.criterion,
                    simulated=event.simulated,
                    **shown_texts(problems[item.problem_id]),
                )
            )
    return sorted(rows, key=lambda row: (row.problem_id, row.answer, row.rater))


def write_human_ratings(database: ReviewDatabase, state: ReviewState, folder: RunFolder) -> WrittenRatings:
    """Write the ratings of a review into a run. Ratings by other people, or about other criteria, stay.

    Raises:
        DataError: as :func:`review_ratings`, or the file that is there cannot be read.
        MachineError: the run's folder cannot be written.
    """
    check_folder_is_writable(folder.path, "export the ratings of a copy of the run")
    rows = review_ratings(database, state, folder)
    # An export that is repeated replaces its own rows, also those of decisions that were undone since.
    names = {*state.people, *(event.person for event in database.people_events())}
    ours = {(name, state.protocol.criterion) for name in names} | {(row.rater, row.criterion) for row in rows}
    path = folder.path / RATINGS_NAME
    stored = list(read_rows(path, HumanRating)) if path.exists() else []
    kept = [row for row in stored if (row.rater, row.criterion) not in ours]
    write_rows(path, [*kept, *rows])
    return WrittenRatings(path, len(rows), len(kept))


def erase_person(database: ReviewDatabase, name: str) -> tuple[str, int]:
    """Replace a removed person's name in all events and in the run's ratings; return the new name and their number.

    Raises:
        DataError: the person takes part, or no event has the name.
    """
    criterion = database.protocol().criterion
    about = database.fact("run")
    path = Path(about) / RATINGS_NAME if about else None
    new = database.erase(name)
    if path is None or not path.exists():
        return new, 0
    rows = list(read_rows(path, HumanRating))
    changed = [
        row.model_copy(update={"rater": new}) if (row.rater, row.criterion) == (name, criterion) else row
        for row in rows
    ]
    write_rows(path, changed)
    return new, sum(before != after for before, after in zip(rows, changed, strict=True))


def reopen_items(state: ReviewState, items: Sequence[str], note: str = "") -> int:
    """Let everybody decide items again; return their number.

    Raises:
        DataError: there is no item to open.
    """
    if not items:
        raise DataError("no item to open again; name items, or --disputed")
    return _add_events(state, "reopen", OWNER, items, note)


def assign_items(state: ReviewState, person: str, items: Sequence[str], *, release: bool = False) -> int:
    """Give items to a reviewer, or take them away; return their number.

    Raises:
        DataError: there is no such reviewer.
    """
    reviewers = state.names("reviewer")
    if person not in reviewers:
        raise DataError(f"no reviewer {person}; invited: {', '.join(reviewers) or 'nobody'}")
    return _add_events(state, "release" if release else "assign", person, items)


def _add_events(state: ReviewState, kind: EventKind, person: str, items: Sequence[str], note: str = "") -> int:
    key = state.protocol.key
    return sum(state.add(new_event(kind, person, key, item=item, note=note)) for item in dict.fromkeys(items))
