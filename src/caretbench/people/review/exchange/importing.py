"""Import of decisions: from the export of a review, or from the database of a copy on another machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from caretbench.files import DataError, read_rows
from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.event import OWN_KINDS, OWNER, ReviewEvent, checked_name
from caretbench.people.review.exchange.export import ExportedDecision
from caretbench.people.review.item import ReviewItem
from caretbench.people.review.protocol import ReviewProtocol


class ImportedRows(NamedTuple):
    """Numbers of events: new ones, and those that were there; and the names of people who were not known."""

    new: int
    known: int
    people: tuple[str, ...]


class _Source(NamedTuple):
    """Rows of one file: its people, the items that it has, and its events with their places in it."""

    people: tuple[Person, ...]
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
    choices = {item_id: len(item.shown.choices) for _, item_id, item in database.items()}
    choices |= {item.id: len(item.shown.choices) for source in sources for item in source.items}
    roles = {person.name: person.role for person in database.people()}
    added: dict[str, Person] = {}
    for source in sources:
        for person in source.people:
            known = roles.get(person.name, person.role)
            if known != person.role:
                raise DataError(f"{database.path}: {person.name} is {known} here, and {person.role} in the import")
            if person.name not in roles:
                roles[person.name] = person.role
                added[person.name] = person
        for where, event in source.events:
            _check(where, event, protocol, choices)
    events = {event.id: event for source in sources for _, event in source.events}
    new = database.merge(
        list(added.values()), [item for source in sources for item in source.items], list(events.values())
    )
    return ImportedRows(new, len(events) - new, tuple(sorted(added)))


def _check(where: str, event: ReviewEvent, protocol: ReviewProtocol, choices: dict[str, int]) -> None:
    if event.protocol != protocol.key:
        raise DataError(f"{where}: protocol: {event.protocol}; this review is by {protocol.key}")
    if event.person == OWNER and event.kind in OWN_KINDS:
        raise DataError(f"{where}: person: the owner of a review decides no item")
    if event.person != OWNER:
        try:
            checked_name(event.person)
        except ValueError as error:
            raise DataError(f"{where}: person: {error}") from None
    if event.item not in choices:
        raise DataError(f"{where}: item: this review has no item {event.item}")
    if event.kind == "decision":
        fault = protocol.faults(event.answers, event.note, choices[event.item])
        if fault is not None:
            raise DataError(f"{where}: answers: {fault}")


def _read(path: Path, protocol: ReviewProtocol) -> _Source:
    if path.suffix == ".jsonl":
        rows = list(read_rows(path, ExportedDecision))
        people = {row.event.person: Person(row.event.person, row.role, joined=False) for row in rows}
        events = tuple((f"{path}:{line}", row.event) for line, row in enumerate(rows, 1))
        return _Source(tuple(person for person in people.values() if person.role != "owner"), (), events)
    with ReviewDatabase(path) as other:
        theirs = other.protocol()
        if theirs.key != protocol.key or theirs.fingerprint != protocol.fingerprint:
            raise DataError(f"{path}: protocol: {theirs.key} with other questions; this review is by {protocol.key}")
        return _Source(
            tuple(person for person in other.people() if person.role != "owner"),
            tuple(item for _, _, item in other.items()),
            tuple(_places(path, other)),
        )


def _places(path: Path, database: ReviewDatabase) -> Iterator[tuple[str, ReviewEvent]]:
    for place, event in database.events():
        yield f"{path}: event {place}", event
