"""Review database: one SQLite file with the protocol, the items, the people and all events of a review."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from pydantic import ValidationError

from caretbench.files import DataError, describe_validation_error
from caretbench.people.review.protocol import Answer, ReviewProtocol
from caretbench.people.review.records import (
    EventKind,
    PersonRole,
    ReviewEvent,
    ReviewItem,
    checked_name,
    new_event,
    now,
)

DATABASE_NAME: Final = "review.sqlite"
"""Name of the file in a review's folder."""

_WAIT_S: Final = 10.0
"""Seconds for which a writer waits for another one."""

_MIGRATIONS: Final[Sequence[str]] = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE items (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL) STRICT;
    CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL, invited_at TEXT NOT NULL, link TEXT) STRICT;
    CREATE TABLE sessions (cookie TEXT PRIMARY KEY, person TEXT NOT NULL, made_at TEXT NOT NULL) STRICT;
    CREATE TABLE events (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL) STRICT;
    CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
    CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
    """,
    # The id of an invitation that was no event yet is its row, so that two copies of a review have the same one.
    """
    CREATE TABLE people_events (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL) STRICT;
    INSERT INTO people_events (id, row) SELECT printf('%032x', rowid), json_object(
        'schema_version', 1, 'id', printf('%032x', rowid), 'kind', 'invite', 'person', name, 'role', role,
        'protocol', '', 'made_at', invited_at, 'received_at', invited_at
    ) FROM people WHERE role != 'owner';
    CREATE TRIGGER people_events_stay BEFORE UPDATE ON people_events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
    CREATE TRIGGER people_events_remain BEFORE DELETE ON people_events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
    """,
)
"""Steps from one version of the tables to the next; their number is the version (``user_version``)."""


class Person(NamedTuple):
    """Person of a review. ``joined``: the link was used, and a browser has the cookie."""

    name: str
    role: PersonRole
    joined: bool


class ItemFacts(NamedTuple):
    """Facts of an item for tables: its labels with the language, and the right answers, if they are known."""

    item: str
    problem_id: str
    labels: Mapping[str, str]
    expect: Mapping[str, Sequence[Answer]]


class ReviewDatabase:
    """Open database of a review.

    Each write is one transaction, on disk when the method returns (``synchronous = FULL``), and in the one file that a
    user copies (no write-ahead log). Links and cookies are stored as hashes.

    Raises:
        DataError: there is no review, or a newer version of CaretBench made it.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise DataError(f"{path}: no review; make one with `caretbench review new {path.parent}`")
        with self._faults():
            # The server calls from one thread at a time; SQLite's module would refuse every thread but the one that
            # opened it.
            self._connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            # A decision is on disk when the browser hears of it, whatever happens to the power. The journal is SQLite's
            # own one, since users copy the file without its neighbours.
            self._connection.execute("PRAGMA synchronous = FULL")
            self._migrate()

    @classmethod
    def create(
        cls, folder: Path, protocol: ReviewProtocol, items: Iterable[ReviewItem], seed: int, *, run: Path | None = None
    ) -> Self:
        """Return the database of a new review in ``folder``; ``run`` is the folder of the run that it is about.

        Raises:
            DataError: the folder has a review already.
        """
        path = folder / DATABASE_NAME
        if path.exists():
            raise DataError(f"{path}: there is a review already; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        # A review that was killed while it was made would look like one with few items.
        partial = folder / f".{DATABASE_NAME}.partial"
        partial.unlink(missing_ok=True)
        # Names, notes and the hashes of links are nobody else's on a shared machine.
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        new = cls(partial, create=True)
        try:
            about = {} if run is None else {"run": str(run.resolve())}
            new.add_facts({"protocol": protocol.model_dump_json(), "seed": str(seed), "made_at": now()} | about)
            new.add_items(items)
        finally:
            new.close()
        partial.replace(path)
        return cls(path)

    def backup(self, path: Path) -> None:
        """Write a whole copy to a new file, also while a server is at work.

        Raises:
            DataError: there is a file already.
        """
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise DataError(f"{path}: there is a file already; choose another name") from None
        with self._faults(), contextlib.closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- reading ---

    @property
    def version(self) -> tuple[int, int]:
        """Two numbers, one of which changes with every write: of another process, or of this one."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0]), self._connection.total_changes

    @property
    def identity(self) -> str:
        """Short hash that tells this review from others on the same machine."""
        # Cookies are by host and not by port: two reviews on one machine need two names.
        return hashlib.sha256(f"{self.fact('made_at')} {self.fact('seed')}".encode()).hexdigest()[:8]

    def fact(self, name: str) -> str | None:
        """Return a fact of the review, such as its ``seed``, or None."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def protocol(self) -> ReviewProtocol:
        """Return the protocol of the review."""
        return ReviewProtocol.model_validate_json(self.fact("protocol") or "{}")

    def items(self, after: int = 0) -> Iterator[tuple[int, str, ReviewItem]]:
        """Yield place, id and item of all items behind a place, in the order in which they were added."""
        query = "SELECT place, id, row FROM items WHERE place > ? ORDER BY place"
        for place, item_id, row in self._connection.execute(query, (after,)):
            yield place, item_id, ReviewItem.model_validate_json(row)

    def item_kinds(self, after: int = 0) -> Iterator[tuple[int, str, str, str | None]]:
        """Yield place, id, kind and predecessor of all items behind a place, without reading their texts."""
        # The texts of 10,000 items are not parsed: state and queues need kinds and predecessors alone.
        fields = "place, id, json_extract(row, '$.kind'), json_extract(row, '$.successor_of')"
        yield from self._connection.execute(f"SELECT {fields} FROM items WHERE place > ? ORDER BY place", (after,))  # noqa: S608  # fixed names

    def item_facts(self) -> Iterator[ItemFacts]:
        """Yield what tables say of each item, without reading its texts."""
        fields = ", ".join(f"json_extract(row, '$.{name}')" for name in ("problem_id", "language", "labels"))
        query = f"SELECT id, {fields}, json_extract(row, '$.hidden.expect') FROM items ORDER BY place"  # noqa: S608  # fixed
        for item_id, problem_id, language, labels, expect in self._connection.execute(query):
            about = ({"language": language} if language else {}) | json.loads(labels or "{}")
            yield ItemFacts(item_id, problem_id, about, json.loads(expect or "{}"))

    def item(self, item_id: str) -> ReviewItem | None:
        """Return one item, or None."""
        row = self._connection.execute("SELECT row FROM items WHERE id = ?", (item_id,)).fetchone()
        return None if row is None else ReviewItem.model_validate_json(row[0])

    def events(self, after: int = 0) -> Iterator[tuple[int, ReviewEvent]]:
        """Yield place and event of all events behind a place, in the order in which they arrived."""
        yield from self._events("events", after)

    def people_events(self) -> list[ReviewEvent]:
        """Return all events that are about a person, in their order."""
        return sorted((event for _, event in self._events("people_events")), key=lambda event: event.order)

    def _events(self, table: str, after: int = 0) -> Iterator[tuple[int, ReviewEvent]]:
        query = f"SELECT place, row FROM {table} WHERE place > ? ORDER BY place"  # noqa: S608  # one of two tables
        for place, row in self._connection.execute(query, (after,)):
            try:
                event = ReviewEvent.model_validate_json(row)
            except ValidationError as error:
                raise DataError(f"{self.path}: {table} {place}: {describe_validation_error(error)}") from None
            yield place, event

    def people(self) -> list[Person]:
        """Return all people, in the order in which they were invited."""
        query = "SELECT name, role, link IS NULL FROM people ORDER BY rowid"
        return [Person(name, role, bool(joined)) for name, role, joined in self._connection.execute(query)]

    # --- writing ---

    def add_facts(self, facts: dict[str, str]) -> None:
        """Store facts of the review."""
        with self._transaction():
            self._connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())

    def add_items(self, items: Iterable[ReviewItem]) -> int:
        """Store items that are not there yet; return their number."""
        with self._transaction():
            return self._insert_items(items)

    def add_events(self, events: Sequence[ReviewEvent]) -> list[bool]:
        """Store events, all or none; return for each whether it is new. An event with a known id is the same event."""
        with self._transaction():
            return self._insert_events(events)

    def merge(self, people: Sequence[ReviewEvent], items: Iterable[ReviewItem], events: Sequence[ReviewEvent]) -> int:
        """Store new events about people (who get no link), items and events, all or none; return the new events."""
        with self._transaction():
            self._insert_events(people, "people_events")
            latest = {event.person: event for event in self.people_events() if event.kind != "erase"}
            for name, event in latest.items():
                if event.kind == "remove":
                    self._forget(name)
                else:
                    self._connection.execute(
                        # The empty text is the hash of no secret, so that no link leads to them until they are invited.
                        "INSERT INTO people VALUES (?, ?, ?, '') ON CONFLICT (name) DO UPDATE SET role = ?2",
                        (name, event.role or "reviewer", event.made_at),
                    )
            self._insert_items(items)
            return sum(self._insert_events(events))

    def invite(self, name: str, role: PersonRole, *, change_role: bool = False) -> str:
        """Return the secret of a new link for a person; an earlier link and the person's cookies end.

        A person who is known keeps the role, unless ``change_role`` is true.
        """
        secret = secrets.token_urlsafe(32)
        earlier = {person.name: person.role for person in self.people()}.get(name)
        # A new link for the adjudicator must not open what the adjudicator has settled.
        if earlier is not None and not change_role:
            role = earlier
        with self._transaction():
            self._connection.execute(
                "INSERT INTO people VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET role = ?2, link = ?4",
                (name if role == "owner" else checked_name(name), role, now(), _hash(secret)),
            )
            # Whoever had the earlier link, perhaps by mistake, is out at once.
            self._connection.execute("DELETE FROM sessions WHERE person = ?", (name,))
            if role not in {earlier, "owner"}:
                self._add_about("invite", name, role)
        return secret

    def remove(self, name: str) -> None:
        """End a person's part: the link and the cookies end; the decisions stay.

        Raises:
            DataError: there is no such person.
        """
        roles = {person.name: person.role for person in self.people() if person.role != "owner"}
        if name not in roles:
            raise DataError(f"{self.path}: nobody is called {name}; known: {', '.join(roles) or 'nobody'}")
        with self._transaction():
            self._forget(name)
            self._add_about("remove", name, roles[name])

    def erase(self, name: str) -> str:
        """Replace the name of a person who was removed in all events, and the person's notes; return the new name.

        This is the one change of stored events, and it is an event itself.

        Raises:
            DataError: the person takes part, or no event has the name.
        """
        tables = {table: list(self._events(table)) for table in ("events", "people_events")}
        names = {event.person for rows in tables.values() for _, event in rows}
        if name not in names or name in {person.name for person in self.people()}:
            raise DataError(f"{self.path}: nobody called {name} was removed")
        new = next(free for number in itertools.count(1) if (free := f"person-{number}") not in names)
        mention = re.compile(rf"(?<![\w@-]){re.escape(name)}(?![\w@-])")
        with self._transaction():
            for table, rows in tables.items():
                self._connection.execute(f"DROP TRIGGER {table}_stay")
                for place, event in rows:
                    is_theirs = event.person == name
                    # An option that needs a note is no answer without one.
                    note = new if is_theirs and event.note.strip() else mention.sub(new, event.note)
                    if is_theirs or note != event.note:
                        changed = event.model_copy(update={"person": new if is_theirs else event.person, "note": note})
                        self._connection.execute(
                            f"UPDATE {table} SET row = ? WHERE place = ?",  # noqa: S608  # one of two names above
                            (changed.model_dump_json(), place),
                        )
                self._connection.execute(
                    f"CREATE TRIGGER {table}_stay BEFORE UPDATE ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'events are never changed'); END"
                )
            self._add_about("erase", new, None)
        with self._faults():
            self._connection.execute("VACUUM")  # free pages of the file still had the name
        return new

    def _forget(self, name: str) -> None:
        self._connection.execute("DELETE FROM people WHERE name = ?", (name,))
        self._connection.execute("DELETE FROM sessions WHERE person = ?", (name,))

    def _add_about(self, kind: EventKind, name: str, role: PersonRole | None) -> None:
        """Store an event about a person."""
        self._insert_events([new_event(kind, name, self.protocol().key, role=role)], "people_events")

    def invited(self, secret: str) -> Person | None:
        """Return the person whose unused link has this secret, or None."""
        row = self._connection.execute("SELECT name, role FROM people WHERE link = ?", (_hash(secret),)).fetchone()
        return None if row is None else Person(row[0], row[1], joined=False)

    def join(self, secret: str) -> tuple[Person, str] | None:
        """Use a link: return the person and the secret of a new cookie, or None where the link is unknown or used."""
        cookie = secrets.token_urlsafe(32)
        with self._transaction():
            row = self._connection.execute(
                # Test and use in one statement: a link that two browsers open at the same time lets one of them in.
                "UPDATE people SET link = NULL WHERE link = ? RETURNING name, role",
                (_hash(secret),),
            ).fetchone()
            if row is None:
                return None
            self._connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(cookie), row[0], now()))
        return Person(row[0], row[1], joined=True), cookie

    def person_of(self, cookie: str) -> Person | None:
        """Return the person with this cookie, or None."""
        row = self._connection.execute(
            "SELECT name, role FROM people JOIN sessions ON person = name WHERE cookie = ?", (_hash(cookie),)
        ).fetchone()
        return None if row is None else Person(row[0], row[1], joined=True)

    def admit(self, name: str) -> Person | None:
        """Return the invited person of this name, whose link is used up; None: nobody is called so."""
        invited = next((person for person in self.people() if person.name == name and person.role != "owner"), None)
        if invited is None or invited.joined:
            return invited
        with self._transaction():
            self._connection.execute("UPDATE people SET link = NULL WHERE name = ?", (name,))
        return invited._replace(joined=True)

    def _insert_items(self, items: Iterable[ReviewItem]) -> int:
        before = self._connection.total_changes
        self._connection.executemany(
            "INSERT OR IGNORE INTO items (id, row) VALUES (?, ?)", ((item.id, item.model_dump_json()) for item in items)
        )
        return self._connection.total_changes - before

    def _insert_events(self, events: Sequence[ReviewEvent], table: str = "events") -> list[bool]:
        return [
            self._connection.execute(
                f"INSERT OR IGNORE INTO {table} (id, row) VALUES (?, ?)",  # noqa: S608  # one of two tables
                (event.id, event.model_dump_json()),
            ).rowcount
            > 0
            for event in events
        ]

    def _migrate(self) -> None:
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        # An older program would write rows that the newer one does not expect.
        if version > len(_MIGRATIONS):
            raise DataError(f"{self.path}: made by a newer version of CaretBench; update it")
        for number, script in enumerate(_MIGRATIONS[version:], start=version + 1):
            # Two servers that start at once: the second one waits, and its transaction fails instead of doing the step
            # twice.
            self._connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Hold the write lock; commit at the end, or undo all where anything fails."""
        with self._faults():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            # A stopped server (KeyboardInterrupt) must not leave a lock behind.
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Raise errors of SQLite with the file: OSError where it cannot be written, DataError where it is damaged."""
        try:
            yield
        # Full disks and locks pass by, and the browser keeps its events; a damaged file does not.
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise DataError(f"{self.path}: {error}; put a copy of the file back") from None


def _hash(secret: str) -> str:
    """Return the SHA-256 of a link's or cookie's secret; it has 256 random bits, so that no salt is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()
