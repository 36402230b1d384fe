"""Completion events: their rows, rules (``rules.toml``), and the reader of files of them."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal, NamedTuple, Self, get_args

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError, model_validator

from caretbench.errors import DataError, UsageError
from caretbench.files import describe_validation_error, read_packaged_toml, replace_surrogates
from caretbench.metrics.error_kinds.kind_table import edit_kind_names
from caretbench.problem import Row
from caretbench.syntax.analysis_types import CaretBoundary

EventOutcome = Literal["accepted", "accepted_in_part", "rejected", "ignored"]
"""Action of the user. ``rejected``: dismissed by a key. ``ignored``: the user typed on, or moved away."""

EventBlock = Literal[
    "method", "if", "for", "while", "try", "catch", "statement", "argument_list", "partial_line", "comment"
]
"""Kind of block of the text that was due, named as in files of weights."""

EventCut = Literal["block", "statement", "token", "operator", "empty"]
"""Place of the caret in its block: at its beginning, or the cut of an inner block."""

OTHER = "other"
"""Word in place of one that is not given away, or of one too many."""

EventName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
# 80 and 40 characters: longer words of an editor are texts, not names, and a text may be code.
ModelWord = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@+/-]{0,79}$")]
"""Name of a model: no blanks or quotes, so that no text of code passes as one."""
Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_+#.-]{0,39}$")]
Share = Annotated[float, Field(ge=0, le=1)]


@cache
def known_failures() -> frozenset[str]:
    """Return the names of the error kinds that events can have."""
    return frozenset(edit_kind_names())


class EventTexts(Row):
    """Texts of an event: they are code of its user, and stay on the machine of the editor.

    ``after_30s`` and ``after_5min`` are the text between prefix and suffix at that time, whatever the user did; None if
    it is not known.
    """

    prefix: str
    suffix: str = ""
    completion: str
    after_30s: str | None = None
    after_5min: str | None = None

    @property
    def last_known(self) -> str | None:
        """Text that was there last; None if it is not known."""
        return self.after_5min if self.after_5min is not None else self.after_30s


class EventFeatures(Row):
    """Features of an event: names of fixed lists and numbers, no text.

    ``block`` and ``cut`` are of the text that was due. ``kept_30s`` and ``kept_5min`` are the share of the accepted
    text's words that are there at that time. ``failures`` are error kinds; None if they were not examined.
    ``typed_anyway``: the user did not accept the text, and then typed it.
    """

    block: EventBlock
    cut: EventCut = "block"
    boundary: CaretBoundary
    partial_line: bool = False
    has_suffix: bool = True
    lines: int = Field(ge=0)
    characters: int = Field(ge=0)
    prefix_lines: int = Field(default=0, ge=0)
    prefix_characters: int = Field(ge=0)
    suffix_characters: int = Field(ge=0)
    added_faults: int | None = None
    """Number of syntax faults of the program with the completion, minus those with the text that was due."""
    kept_30s: Share | None = None
    kept_5min: Share | None = None
    typed_anyway: bool = False
    simulated_keys: int | None = Field(default=None, ge=0)
    """Keys that a simulated developer who types the later text saves by the completion; None if it is not known."""
    failures: tuple[Word, ...] | None = None
    secrets: int = Field(default=0, ge=0)
    """Number of texts and words of the event with something in the shape of a key or a password."""

    @model_validator(mode="after")
    def _has_known_failures(self) -> Self:
        unknown = {*(self.failures or ())} - known_failures()
        if unknown:
            raise ValueError(f"failures has {min(unknown)!r}, which is no error kind")
        return self


class CompletionEvent(Row):
    """One completion that an editor requested, with its outcome. It has ``texts`` or ``features``, not both.

    ``id`` and ``user`` are any names where the texts are, and salted hashes beside features. ``visible_ms`` is the time
    for which the text could be seen. ``accepted_characters``: number of characters that were accepted, of a text that
    was accepted in part. ``other_files``: number of other files in the prompt. ``category``: a label of the user's own,
    such as a category of DevBench. ``session``: name of the time in which the editor was open, ``typed_characters``:
    number of characters typed since its previous event.
    """

    schema_version: Literal[1] = 1
    id: EventName
    user: EventName
    time: AwareDatetime
    language: Word
    outcome: EventOutcome
    shown: bool = True
    visible_ms: float = Field(ge=0, allow_inf_nan=False)
    latency_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    accepted_characters: int | None = Field(default=None, ge=0)
    trigger: Word = "automatic"
    model: ModelWord | None = None
    category: Word | None = None
    other_files: int = Field(default=0, ge=0)
    session: EventName | None = None
    typed_characters: int | None = Field(default=None, ge=0)
    texts: EventTexts | None = None
    features: EventFeatures | None = None

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if (self.texts is None) == (self.features is None):
            raise ValueError("an event has either texts or features")
        return self

    @property
    def was_accepted(self) -> bool:
        """True if the user accepted the text or a part of it."""
        return self.outcome in ("accepted", "accepted_in_part")

    @property
    def characters(self) -> int:
        """Number of characters of the completion."""
        if self.texts is not None:
            return len(self.texts.completion)
        return self.features.characters if self.features is not None else 0


CountedOutcome = Literal["kept", "edited", "accepted", "reverted", "rejected", "typed_anyway", "ignored", "unseen"]
"""Outcome as it counts. ``accepted``: accepted, and nothing is known of the text later. ``reverted``: accepted, and
soon deleted. ``typed_anyway``: not accepted, but right: the user typed it. ``unseen``: not visible long enough to be
read."""

COUNTED_OUTCOMES: Sequence[CountedOutcome] = get_args(CountedOutcome)
ACCEPTED_OUTCOMES = frozenset({"kept", "edited", "accepted"})
"""Outcomes that count as accepted."""
FAILED_OUTCOMES = frozenset({"edited", "reverted", "rejected", "ignored"})
"""Outcomes of completions that were seen and not kept as they were: people code what is wrong with them."""

# The form of an HMAC-SHA256, in which `extract` gives names away.
_HASH = re.compile(r"^[0-9a-f]{64}$")


class NumberClasses(Row):
    """Upper bounds of classes of numbers."""

    lines: tuple[int, ...]
    prompt_characters: tuple[int, ...]


class KnownWords(Row):
    """Words of events that pass ``extract`` in addition to the names that CaretBench has itself."""

    languages: tuple[str, ...]
    triggers: tuple[str, ...]


class TelemetryRules(Row):
    """Rules of ``rules.toml``."""

    seen_from_ms: float = Field(ge=0)
    reverted_below: float = Field(ge=0, le=1)
    kept_from: float = Field(ge=0, le=1)
    future_tolerance_s: float = Field(ge=0)
    classes: NumberClasses
    words: KnownWords


@cache
def telemetry_rules() -> TelemetryRules:
    """Return the rules."""
    return TelemetryRules.model_validate(read_packaged_toml("caretbench.people.telemetry", "rules.toml"))


def contradiction(event: CompletionEvent) -> str | None:
    """Return the contradiction in an event; None if there is none."""
    taken = event.accepted_characters
    if not event.shown and (event.visible_ms > 0 or event.was_accepted):
        return "visible or accepted, and never shown"
    if event.was_accepted and not event.characters:
        return "accepted, and empty"
    if event.outcome == "accepted_in_part":
        if taken is None or not 0 < taken < event.characters:
            return "accepted in part, without a number of characters between 0 and all"
    elif taken is not None and taken != (event.characters if event.was_accepted else 0):
        return f"{event.outcome}, with another number of accepted characters"
    if event.features is not None and event.features.typed_anyway and event.was_accepted:
        return "accepted, and typed anyway"
    return None


def has_plain_identity(event: CompletionEvent) -> bool:
    """Return whether an event without texts names its user or itself in another form than a salted hash."""
    names = filter(None, (event.user, event.id, event.session))
    return event.features is not None and not all(map(_HASH.match, names))


def counted_outcome(event: CompletionEvent, rules: TelemetryRules | None = None) -> CountedOutcome:
    """Return the outcome of an event with features, as it counts.

    Raises:
        UsageError: the event has no features.
    """
    features = event.features
    if features is None:
        raise UsageError(f"{event.id}: an event without features has no outcome that counts; extract it first")
    shares = [share for share in (features.kept_30s, features.kept_5min) if share is not None]
    return outcome_by_survival(event, shares, features.typed_anyway, rules or telemetry_rules())


def outcome_by_survival(
    event: CompletionEvent, shares: Sequence[float], typed_anyway: bool, rules: TelemetryRules
) -> CountedOutcome:
    """Return the outcome of an event as it counts, by the known shares of its text that were there, the last one last.

    Args:
        event: The event.
        shares: Shares of the accepted text.
        typed_anyway: The user typed the text.
        rules: Thresholds.
    """
    # Acceptance goes before visibility: an editor may count the time only after the text was taken.
    if event.was_accepted:
        if not shares:
            return "accepted"
        # The lowest share decides: a text that was deleted after 30 seconds and typed again later was still taken back.
        if min(shares) < rules.reverted_below:
            return "reverted"
        whole = event.outcome == "accepted" and shares[-1] >= rules.kept_from
        return "kept" if whole else "edited"
    if not event.shown or event.visible_ms < rules.seen_from_ms:
        return "unseen"
    if typed_anyway:
        return "typed_anyway"
    return "rejected" if event.outcome == "rejected" else "ignored"


RefusalReason = Literal[
    "torn", "too_long", "not_json", "schema", "plain_identity", "future", "contradictory", "doubled", "id_used_twice"
]
"""Reason for which a line is refused. ``torn``: the last line, without its end. ``too_long``: more than
:data:`LONGEST_LINE` bytes. ``doubled``: the same event again. ``id_used_twice``: another event with the id of an
earlier one."""

REFUSAL_REASONS: Final = get_args(RefusalReason)
# `readline` holds a whole line in memory, whatever an archive unpacks to.
LONGEST_LINE: Final = 32 * 2**20
"""Maximum number of bytes of a line: a compressed file of a few megabytes can have one of gigabytes."""


class Refusal(NamedTuple):
    """First line that was refused for a reason, and the detail."""

    line: int
    detail: str


class _RefusedLineError(DataError):
    """Line that is no event that can be used."""

    def __init__(self, reason: RefusalReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: RefusalReason = reason


class EventReader:
    """Iterator over the events of a file (JSONL, ``.gz`` too) that can be used; ``refused`` has the others by reason.

    Args:
        path: The file.
        now: Time from which an event is in the future.

    Raises:
        DataError: on iteration, if the file cannot be read, or has no event that can be used.
    """

    def __init__(self, path: Path, *, now: datetime | None = None) -> None:
        self.path = path
        self.read = 0
        self.refused: Counter[RefusalReason] = Counter()
        self.first: dict[RefusalReason, Refusal] = {}
        # Clocks of editors run ahead of the clock here: only what is later than the tolerance is a faulty time.
        tolerance = timedelta(seconds=telemetry_rules().future_tolerance_s)
        self._latest = (now or datetime.now(UTC)) + tolerance
        # Hashes in place of ids and rows: a million events keep two numbers each, not their texts (`check` takes 186 MB
        # for them).
        self._known: dict[int, int] = {}

    @property
    def used(self) -> int:
        """Number of events that can be used."""
        return self.read - self.refused.total()

    def __iter__(self) -> Iterator[CompletionEvent]:
        try:
            with gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb") as stream:
                for number, raw in enumerate(_bounded_lines(stream), start=1):
                    if len(raw) <= LONGEST_LINE and not raw.strip():
                        continue
                    self.read += 1
                    try:
                        event = self._event(raw)
                    except _RefusedLineError as error:
                        self.refused[error.reason] += 1
                        self.first.setdefault(error.reason, Refusal(number, str(error)))
                        continue
                    yield event
        # A cut archive ends in EOFError, a damaged one in zlib.error; gzip wraps neither in OSError.
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not self.used:
            self._refuse_all()

    def _event(self, raw: bytes) -> CompletionEvent:
        """Return the event of a line."""
        if len(raw) > LONGEST_LINE:
            raise _RefusedLineError("too_long", f"the line has more than {LONGEST_LINE:,} bytes")
        event = _parsed_event(raw)
        # Features without texts were made to be given away; a plain name in them would go out with the next file.
        if has_plain_identity(event):
            raise _RefusedLineError("plain_identity", "user and id must be salted hashes beside features")
        if event.time > self._latest:
            raise _RefusedLineError("future", f"{event.time.isoformat()} is later than now")
        if (detail := contradiction(event)) is not None:
            raise _RefusedLineError("contradictory", detail)
        key, content = hash(event.id), hash(event.model_dump_json())
        # An editor that sends its log twice repeats whole events; other contents under an old id are a fault of its
        # ids.
        if (earlier := self._known.get(key)) is not None:
            raise _RefusedLineError("doubled" if earlier == content else "id_used_twice", event.id)
        self._known[key] = content
        return event

    def _refuse_all(self) -> None:
        if not self.read:
            raise DataError(f"{self.path}: no events; the file is empty")
        # The earliest line: the user mends the file from its beginning, and later refusals often follow from the first.
        reason, first = min(self.first.items(), key=lambda entry: entry[1].line)
        raise DataError(
            f"{self.path}:{first.line}: none of {self.read} lines is an event that can be used; the first is refused "
            f"as {reason} ({first.detail}); docs/reference/telemetry.md has the fields"
        )


def _parsed_event(raw: bytes) -> CompletionEvent:
    """Return the event of a line; halves of surrogate pairs become U+FFFD."""
    try:
        try:
            return CompletionEvent.model_validate_json(raw)
        except ValidationError as error:
            # Pydantic refuses half of a surrogate pair as JSON, and editors that cut a text in a pair write such
            # halves. The line gets a second try.
            if error.errors(include_url=False)[0]["type"] != "json_invalid":
                raise
        return CompletionEvent.model_validate_json(json.dumps(replace_surrogates(json.loads(raw))))
    except ValidationError as error:
        raise _RefusedLineError("schema", describe_validation_error(error)) from None
    # json.loads recurses by depth, so 10,000 open brackets raise RecursionError and not ValueError.
    except (ValueError, RecursionError) as error:
        raise _RefusedLineError("not_json" if raw.endswith(b"\n") else "torn", str(error)) from None


def _bounded_lines(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Yield the lines of a stream; of a line that is too long, the beginning: one byte more than the maximum."""
    while raw := stream.readline(LONGEST_LINE + 1):
        yield raw
        # The rest of the line is read and dropped piece by piece; else it would be taken for lines of its own.
        rest = raw
        while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE + 1)
