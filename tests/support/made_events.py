"""Single events for tests, with texts or with features."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caretbench.people.telemetry.events import CompletionEvent

NOW = datetime(2026, 3, 2, tzinfo=UTC)

FEATURES: dict[str, Any] = {
    "block": "statement", "boundary": "new_line", "lines": 1, "characters": 10, "prefix_characters": 100,
    "suffix_characters": 20,
}  # fmt: skip


def hashed(name: str) -> str:
    """Return 64 hexadecimal digits for a name."""
    return hashlib.sha256(name.encode()).hexdigest()


def event_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return the row of an event: with ``texts`` if they are given, else with features."""
    texts = "texts" in changes
    row: dict[str, Any] = {
        "schema_version": 1,
        "id": f"e{number}" if texts else hashed(f"e{number}"),
        "user": "ann" if texts else hashed("ann"),
        "time": "2026-03-01T12:34:56Z",
        "language": "python",
        "outcome": "accepted",
        "visible_ms": 900,
        **({} if texts else {"features": FEATURES}),
    }
    return row | changes


def made_event(**changes: Any) -> CompletionEvent:
    """Return an event with texts or features."""
    return CompletionEvent.model_validate_json(json.dumps(event_row(**changes)))


def with_features(outcome: str, *, visible_ms: float = 900, shown: bool = True, **features: Any) -> CompletionEvent:
    """Return an event with an outcome and some features."""
    changes: dict[str, Any] = {"accepted_characters": 4} if outcome == "accepted_in_part" else {}
    return made_event(outcome=outcome, visible_ms=visible_ms, shown=shown, features=FEATURES | features, **changes)


def write_lines(path: Path, *rows: dict[str, Any] | str) -> Path:
    """Write rows, or lines as they are, to a file; return its path."""
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return path
