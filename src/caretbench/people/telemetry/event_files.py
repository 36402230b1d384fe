"""Files of events: their examination, their extraction without code, and the folder of an analysis."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

from caretbench.errors import DataError
from caretbench.files import write_atomically, write_document, write_rows
from caretbench.people.telemetry.event_features import extracted_event, secret_texts
from caretbench.people.telemetry.event_privacy import WORD_FIELDS, replaced_words, salted_hashes, secret_words
from caretbench.people.telemetry.event_table import EventTable
from caretbench.people.telemetry.events import CompletionEvent, EventBlock, EventCut, EventReader
from caretbench.people.telemetry.people_codes import NONE, CodeAnalysis, EventCodes, analyse_codes
from caretbench.people.telemetry.usage_analysis import ScenarioRow, UsageAnalysis, UserRate, analyse_usage
from caretbench.progress import Progress
from caretbench.suites.usage_weights import read_weights

WEIGHTS_NAME: Final = "weights.toml"
# A caret at the beginning of its block is no cut: that share is the scenario's.
_CUTS: Final = tuple(name for name in get_args(EventCut) if name != "block")
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "block": get_args(EventBlock),
    "scenario": ("full_block", "inner_block", "incomplete_suffix", "rag"),
    "cut": _CUTS,
    "language": (),
    "category": (),
}
"""Names of the shares of each table of a file of weights; empty: those of the events. Factors of lines are 1: kinds of
block and cuts say already where lines go on."""


class MeasuredShare(NamedTuple):
    """One share of a table of weights, with its interval."""

    table: str
    name: str
    rate: UserRate


def measured_shares(scenarios: Sequence[ScenarioRow], codes: CodeAnalysis | None = None) -> list[MeasuredShare]:
    """Return the shares of events for all tables of a file of weights, in its order.

    Categories are those of the events; without any, those that people gave to a sample.
    """
    shares = {(row.dimension, row.value): row.share for row in scenarios}
    none = UserRate(value=0.0, low=None, high=None, events=0, users=0)
    measured = []
    for table, names in _TABLES.items():
        values = names or tuple(value for dimension, value in shares if dimension == table)
        measured += [MeasuredShare(table, name, shares.get((table, name), none)) for name in values]
    # Labels of an editor are about all events; people's codes are of a sample, and stand in for missing labels only.
    if codes is not None and not any(share.table == "category" for share in measured):
        for coded in codes.shares:
            if coded.question == "category" and coded.code != NONE:
                rate = UserRate(value=coded.share, low=coded.low, high=coded.high, events=codes.events, users=0)
                measured.append(MeasuredShare("category", coded.code, rate))
    return measured


def write_weights(folder: Path, shares: Sequence[MeasuredShare], *, events: int, users: int) -> Path:
    """Write ``weights.toml`` into a folder, with the intervals as comments; return its path.

    Without an event at an inner block, the cuts are those of the weights ``even``.
    """
    lines = [
        "# Shares of the completions that users saw, in percent; behind each its interval over users.",
        f"name = {_string(folder.resolve().name or 'usage')}",
        f'source = "{events} events of {users} users"',
    ]
    for table in _TABLES:
        table_shares = [share for share in shares if share.table == table]
        values = {share.name: 100 * (share.rate.value or 0.0) for share in table_shares}
        if not any(values.values()):
            if table != "cut":
                continue
            # A table without a share above 0 is refused by builds, which need a choice for inner blocks all the same.
            values = read_weights("even").cut.model_dump()
            lines += ["", "# No event is at an inner block: the shares are those of the weights `even`."]
        lines += ["", f"[{table}]"]
        lines += [f"{_key(share.name)} = {values[share.name]:.4f}{_interval(share.rate)}" for share in table_shares]
    path = folder / WEIGHTS_NAME
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _key(name: str) -> str:
    # TOML's bare keys are ASCII letters, digits, - and _; a category of a user may be any word.
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _string(name)


def _string(text: str) -> str:
    """Return a string of TOML: unlike in JSON, no half of a surrogate pair is escaped, and DEL is."""
    # Half of a surrogate pair cannot be written in UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _interval(rate: UserRate) -> str:
    if rate.low is None or rate.high is None or not rate.value:
        return ""
    return f"  # {100 * rate.low:.2f} to {100 * rate.high:.2f}"


EVENTS_NAME: Final = "events.jsonl"
CODES_NAME: Final = "codes.json"
ROWS_NAMES: Final = ("scenarios.jsonl", "failures.jsonl", "summary.json")
"""Names of the files in the folder of an analysis."""

# A report for each of a million events would cost more than reading them.
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


def check_events(path: Path, *, progress: Progress | None = None) -> EventCheck:
    """Return the examination of a file of events.

    Raises:
        DataError: the file cannot be read, or has no event that can be used.
    """
    reader = EventReader(path)
    users: set[str] = set()
    outcomes: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    with_texts = with_secrets = 0
    for event in _with_progress(reader, "events read", progress):
        users.add(event.user)
        outcomes[event.outcome if event.shown else "never shown"] += 1
        replaced.update(replaced_words(event).keys())
        secrets = secret_words(event)
        if event.texts is not None:
            with_texts += 1
            secrets += secret_texts(event.texts)
        elif event.features is not None:
            secrets += event.features.secrets
        with_secrets += secrets > 0
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


def extract_events(path: Path, folder: Path, salt: Path, *, progress: Progress | None = None) -> Extraction:
    """Write the events of a file with features in place of texts, and with hashed identities, into a folder.

    Raises:
        DataError: the file or the salt cannot be used, the file would be overwritten, or the salt would be given away
            with the folder.
    """
    target = folder / EVENTS_NAME
    _refuse_own_input(path, [target])
    # The folder is what is sent to others. Links are resolved: a link in it to a salt elsewhere is no salt in it.
    if salt.resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"{salt}: the salt is in the folder that is given to others, who could find out the users by it; keep it "
            "in another place"
        )
    reader = EventReader(path)
    hashes, new_salt = salted_hashes(salt)
    replaced: Counter[str] = Counter()
    hashed_again = 0

    def extracted() -> Iterator[CompletionEvent]:
        nonlocal hashed_again
        for event in _with_progress(reader, "extracted", progress):
            extract = extracted_event(event, hashes)
            replaced.update(name for name in WORD_FIELDS if getattr(extract, name) != getattr(event, name))
            # A file that others extracted is hashed under this salt too, so that both hashes must be broken to find a
            # user.
            hashed_again += event.features is not None
            yield extract

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
    path: Path, folder: Path, *, seed: int = 0, progress: Progress | None = None, coded: Sequence[EventCodes] = ()
) -> AnalysedEvents:
    """Analyse the events of a file, and write scenarios, failures, weights and a summary into a folder.

    Args:
        path: The file; events with texts are extracted in memory.
        folder: The folder.
        seed: Random seed of the intervals.
        progress: Receives the number of events.
        coded: Codes of some of the events by people.

    Raises:
        DataError: the file cannot be used, would be overwritten, or has none of the coded events; or no completion was
            visible long enough.
    """
    _refuse_own_input(path, [folder / name for name in (*ROWS_NAMES, CODES_NAME, WEIGHTS_NAME)])
    reader, table = EventReader(path), EventTable()
    coded_ids = {codes.event for codes in coded}
    places: dict[str, int] = {}
    users: dict[str, str] = {}
    for event in _with_progress(reader, "analysed", progress):
        # The table forgets ids; the places of the coded events are all that is kept of them.
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
    write_document(written[2], usage.summary)
    codes = analyse_codes(coded, places, users, table, seed) if coded else None
    if codes is not None:
        written.append(folder / CODES_NAME)
        write_document(written[-1], codes)
    shares = measured_shares(usage.scenarios, codes)
    weights = write_weights(folder, shares, events=len(table), users=table.user_count)
    return AnalysedEvents(reader, table, usage, codes, (*written, weights))


def _refuse_own_input(path: Path, targets: Sequence[Path]) -> None:
    """Raise a DataError if one of the files that are written is the file that is read, by whatever name or link."""
    for target in targets:
        # Hard links have other paths and the same file; events are in one copy mostly, and an overwritten one is gone.
        if path.resolve() == target.resolve() or (path.exists() and target.exists() and path.samefile(target)):
            raise DataError(f"{path}: the results would overwrite this file ({target}); give another folder with -o")


def _with_progress(reader: EventReader, step: str, progress: Progress | None) -> Iterator[CompletionEvent]:
    for number, event in enumerate(reader, start=1):
        yield event
        if progress is not None and number % _STEP == 0:
            progress(step, _STEP, None)
