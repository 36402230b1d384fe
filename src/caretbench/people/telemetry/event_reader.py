"""Reader of files of events: one event at a time, each refused one counted by its reason."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple, get_args

from pydantic import ValidationError

from caretbench.errors import DataError
from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.people.telemetry.event_rows import CompletionEvent
from caretbench.people.telemetry.event_rules import TelemetryRules, contradiction, has_plain_identity, telemetry_rules

RefusalReason = Literal[
    "torn", "too_long", "not_json", "schema", "plain_identity", "future", "contradictory", "doubled", "id_used_twice"
]  # fmt: skip
"""Reason for which a line is refused. ``torn``: the last line, without its end. ``too_long``: more than
:data:`LONGEST_LINE` bytes. ``doubled``: the same event again. ``id_used_twice``: another event with the id of an
earlier one."""

REFUSAL_REASONS: Final = get_args(RefusalReason)
LONGEST_LINE: Final = 32 * 2**20
"""Maximum number of bytes of a line: a compressed file of a few megabytes can have one of gigabytes."""


class Refusal(NamedTuple):
    """First line that was refused for a reason, and the detail."""

    line: int
    detail: str


class EventReader:
    """Iterator over the events of a file (JSONL, ``.gz`` too) that can be used; ``refused`` has the others by reason.

    Args:
        path: The file.
        now: Time from which an event is in the future.
        rules: Rules, by default those of the package.

    Raises:
        DataError: on iteration, if the file cannot be read, or has no event that can be used.
    """

    def __init__(self, path: Path, *, now: datetime | None = None, rules: TelemetryRules | None = None) -> None:
        self.path = path
        self.read = 0
        self.refused: Counter[RefusalReason] = Counter()
        self.first: dict[RefusalReason, Refusal] = {}
        tolerance = timedelta(seconds=(rules or telemetry_rules()).future_tolerance_s)
        self._latest = (now or datetime.now(UTC)) + tolerance
        self._known: dict[int, int] = {}

    @property
    def used(self) -> int:
        """Number of events that can be used."""
        return self.read - self.refused.total()

    def __iter__(self) -> Iterator[CompletionEvent]:
        try:
            with gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb") as stream:
                for number, raw in enumerate(_bounded_lines(stream), start=1):
                    if len(raw) > LONGEST_LINE:
                        self.read += 1
                        self._refuse("too_long", number, f"the line has more than {LONGEST_LINE:,} bytes")
                    elif raw.strip():
                        event = self._event(number, raw)
                        if event is not None:
                            yield event
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not self.used:
            self._refuse_all()

    def _event(self, number: int, raw: bytes) -> CompletionEvent | None:
        """Return the event of a line; None if it is refused."""
        self.read += 1
        try:
            event = CompletionEvent.model_validate_json(raw)
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] != "json_invalid":
                self._refuse("schema", number, describe_validation_error(error))
                return None
            mended = self._mended(number, raw)
            if mended is None:
                return None
            event = mended
        if has_plain_identity(event):
            self._refuse("plain_identity", number, "user and id must be salted hashes beside features")
            return None
        if event.time > self._latest:
            self._refuse("future", number, f"{event.time.isoformat()} is later than now")
            return None
        if (detail := contradiction(event)) is not None:
            self._refuse("contradictory", number, detail)
            return None
        key, content = hash(event.id), hash(event.model_dump_json())
        if (known := self._known.get(key)) is not None:
            self._refuse("doubled" if known == content else "id_used_twice", number, event.id)
            return None
        self._known[key] = content
        return event

    def _mended(self, number: int, raw: bytes) -> CompletionEvent | None:
        """Return the event of a line with halves of surrogate pairs, which become U+FFFD; None if it is refused."""
        try:
            value = replace_surrogates(json.loads(raw))
        except (ValueError, RecursionError) as error:
            self._refuse("not_json" if raw.endswith(b"\n") else "torn", number, str(error))
            return None
        try:
            return CompletionEvent.model_validate_json(json.dumps(value))
        except ValidationError as error:
            self._refuse("schema", number, describe_validation_error(error))
            return None

    def _refuse(self, reason: RefusalReason, number: int, detail: str) -> None:
        self.refused[reason] += 1
        self.first.setdefault(reason, Refusal(number, detail))

    def _refuse_all(self) -> None:
        if not self.read:
            raise DataError(f"{self.path}: no events; the file is empty")
        reason, first = min(self.first.items(), key=lambda entry: entry[1].line)
        raise DataError(
            f"{self.path}:{first.line}: none of {self.read} lines is an event that can be used; the first is refused "
            f"as {reason} ({first.detail}); docs/reference/telemetry.md has the fields"
        )


def _bounded_lines(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Yield the lines of a stream; of a line that is too long, the beginning: one byte more than the maximum."""
    while raw := stream.readline(LONGEST_LINE + 1):
        yield raw
        rest = raw
        while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE + 1)
