"""Files of events: their examination, their extraction without code, and the folder of an analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.errors import DataError
from caretbench.files import write_atomically, write_rows
from caretbench.people.telemetry.analysis.event_table import EventTable
from caretbench.people.telemetry.analysis.measured_weights import WEIGHTS_NAME, measured_shares, write_weights
from caretbench.people.telemetry.analysis.people_codes import CodeAnalysis, EventCodes, analyse_codes
from caretbench.people.telemetry.analysis.usage_analysis import UsageAnalysis, analyse_usage
from caretbench.people.telemetry.event_reader import EventReader
from caretbench.people.telemetry.event_rows import CompletionEvent
from caretbench.people.telemetry.features.event_features import extracted_event, secret_texts
from caretbench.people.telemetry.features.event_words import WORD_FIELDS, replaced_words, secret_words
from caretbench.people.telemetry.identities import salted_hashes
from caretbench.progress import Progress

EVENTS_NAME: Final = "events.jsonl"
SCENARIOS_NAME: Final = "scenarios.jsonl"
FAILURES_NAME: Final = "failures.jsonl"
SUMMARY_NAME: Final = "summary.json"
CODES_NAME: Final = "codes.json"
ROWS_NAMES: Final = (SCENARIOS_NAME, FAILURES_NAME, SUMMARY_NAME)
"""Names of the files in the folder of an analysis."""

_STEP: Final = 1_000
"""Number of events between two reports of progress."""


class EventCheck(NamedTuple):
    """Examination of a file of events: its reader, and numbers of usable events.

    ``replaced`` is the number of words that an extraction replaces by ``other``, by field.
    """

    reader: EventReader
    users: int
    with_texts: int
    with_secrets: int
    outcomes: Counter[str]
    replaced: Counter[str]


def check_events(path: Path, *, now: datetime | None = None, progress: Progress | None = None) -> EventCheck:
    """Return the examination of a file of events.

    Raises:
        DataError: the file cannot be read, or has no event that can be used.
    """
    reader = EventReader(path, now=now)
    users: set[str] = set()
    outcomes: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    with_texts = with_secrets = 0
    for event in _with_progress(reader, "events read", progress):
        users.add(event.user)
        outcomes[event.outcome if event.shown else "never shown"] += 1
        replaced.update(replaced_words(event).keys())
        found = secret_words(event)
        if event.texts is not None:
            with_texts += 1
            found += secret_texts(event.texts)
        elif event.features is not None:
            found += event.features.secrets
        with_secrets += found > 0
    return EventCheck(reader, len(users), with_texts, with_secrets, outcomes, replaced)


class Extraction(NamedTuple):
    """Result of an extraction: the reader, the written file, whether the salt was made, and words that were replaced.

    ``replaced`` is the number of words by field, ``hashed_again`` the number of events that had been extracted before.
    """

    reader: EventReader
    path: Path
    new_salt: bool
    replaced: Counter[str]
    hashed_again: int


def extract_events(
    path: Path, folder: Path, salt: Path, *, now: datetime | None = None, progress: Progress | None = None
) -> Extraction:
    """Write the events of a file with features in place of texts, and with hashed identities, into a folder.

    Raises:
        DataError: the file or the salt cannot be used, the file would be overwritten, or the salt would be given away
            with the folder.
    """
    target = folder / EVENTS_NAME
    _refuse_own_input(path, [target])
    if salt.resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"{salt}: the salt is in the folder that is given to others, who could find out the users by it; keep it "
            "in another place"
        )
    reader = EventReader(path, now=now)
    hashes, new_salt = salted_hashes(salt)
    replaced: Counter[str] = Counter()
    hashed_again = 0

    def extracted() -> Iterator[CompletionEvent]:
        nonlocal hashed_again
        for event in _with_progress(reader, "extracted", progress):
            found = extracted_event(event, hashes)
            replaced.update(name for name in WORD_FIELDS if getattr(found, name) != getattr(event, name))
            hashed_again += event.features is not None
            yield found

    write_rows(target, extracted())
    return Extraction(reader, target, new_salt, replaced, hashed_again)


class AnalysedEvents(NamedTuple):
    """Result of an analysis: the reader, the numbers, those of people's codes, and the paths of the written files."""

    reader: EventReader
    table: EventTable
    usage: UsageAnalysis
    codes: CodeAnalysis | None
    written: tuple[Path, ...]


def analyse_events(
    path: Path,
    folder: Path,
    *,
    seed: int = 0,
    now: datetime | None = None,
    progress: Progress | None = None,
    coded: Sequence[EventCodes] = (),
) -> AnalysedEvents:
    """Analyse the events of a file, and write scenarios, failures, weights and a summary into a folder.

    Args:
        path: The file; events with texts are extracted in memory.
        folder: The folder.
        seed: Random seed of the intervals.
        now: Time from which an event is in the future.
        progress: Receives the number of events.
        coded: Codes of some of the events by people.

    Raises:
        DataError: the file cannot be used, would be overwritten, or has none of the coded events; or no completion was
            visible long enough.
    """
    _refuse_own_input(path, [folder / name for name in (*ROWS_NAMES, CODES_NAME, WEIGHTS_NAME)])
    reader, table = EventReader(path, now=now), EventTable()
    coded_ids = {one.event for one in coded}
    places: dict[str, int] = {}
    users: dict[str, str] = {}
    for event in _with_progress(reader, "analysed", progress):
        if event.id in coded_ids:
            places[event.id], users[event.id] = len(table), event.user
        table.add(event if event.features is not None else extracted_event(event))
    if coded and not places:
        raise DataError(
            f"{path}: none of the {len(coded)} events that people coded is here; give the file that the review was "
            "made of"
        )
    if table.has_outcome("unseen").all():
        raise DataError(f"{path}: none of {len(table)} completions was visible long enough to be read")
    usage = analyse_usage(table, seed=seed)
    usage = usage._replace(
        summary=usage.summary.model_copy(update={"lines_read": reader.read, "refused": dict(reader.refused)})
    )
    written = [folder / name for name in ROWS_NAMES]
    write_rows(written[0], usage.scenarios)
    write_rows(written[1], usage.failures)
    write_atomically(written[2], usage.summary.model_dump_json(indent=2) + "\n")
    codes = analyse_codes(coded, places, users, table, seed) if coded else None
    if codes is not None:
        written.append(folder / CODES_NAME)
        write_atomically(written[-1], codes.model_dump_json(indent=2) + "\n")
    shares = measured_shares(usage.scenarios, codes)
    weights = write_weights(folder, shares, events=len(table), users=table.user_count)
    return AnalysedEvents(reader, table, usage, codes, (*written, weights))


def _refuse_own_input(path: Path, targets: Sequence[Path]) -> None:
    """Raise a DataError if one of the files that are written is the file that is read, by whatever name or link."""
    for target in targets:
        if path.resolve() == target.resolve() or (path.exists() and target.exists() and path.samefile(target)):
            raise DataError(f"{path}: the results would overwrite this file ({target}); give another folder with -o")


def _with_progress(reader: EventReader, step: str, progress: Progress | None) -> Iterator[CompletionEvent]:
    for number, event in enumerate(reader, start=1):
        yield event
        if progress is not None and number % _STEP == 0:
            progress(step, _STEP, None)
