"""Simulated acceptance next to logged acceptance, and the share of completed code by sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.people.telemetry.event_features import extracted_event
from caretbench.people.telemetry.event_files import analyse_events
from caretbench.people.telemetry.event_privacy import SaltedHashes
from caretbench.people.telemetry.event_table import EventTable
from caretbench.people.telemetry.events import CompletionEvent, has_plain_identity
from caretbench.people.telemetry.simulated_acceptance import simulated_acceptance
from tests.support.made_events import made_event, write_lines

RIGHT, WRONG = "return a * b", "return width"


def event(number: int, completion: str, outcome: str, later: str | None = RIGHT) -> CompletionEvent:
    texts = {"prefix": "def area(a, b):\n    ", "completion": completion, "after_30s": later}
    return made_event(
        number=number, outcome=outcome, texts=texts, user="ann", session="monday", typed_characters=6, visible_ms=900
    )


EVENTS = [
    event(0, RIGHT, "accepted"), event(1, WRONG, "rejected"), event(2, "return", "ignored", "pass"),
    event(3, RIGHT, "rejected"), event(4, RIGHT, "accepted", None),
]  # fmt: skip


def test_the_keys_that_a_completion_would_save_are_compared_with_what_users_did() -> None:
    features = [extracted_event(one).features for one in EVENTS]
    # One key for all 12 characters; `return ` alone by one key; nothing agrees; nothing is known of the last.
    assert [one and one.simulated_keys for one in features] == [11, 5, 0, 11, None]
    table = EventTable()
    for one in EVENTS:
        table.add(extracted_event(one))
    found = simulated_acceptance(table)
    assert (found.events, found.sessions) == (4, 1)
    assert (found.area_simulated, found.area_length) == (pytest.approx(2.5 / 3), pytest.approx(2 / 3))
    assert found.completed_share == pytest.approx(24 / (24 + 30))
    assert "better than their length alone (0.67), over 4 events; 44.4% of the code was completed" in str(found.note)


def test_names_of_sessions_are_given_away_as_hashes_only(tmp_path: Path) -> None:
    given = extracted_event(EVENTS[0], SaltedHashes(b"salt" * 8))
    assert given.session not in (None, "monday")
    assert not has_plain_identity(given)
    assert has_plain_identity(given.model_copy(update={"session": "monday"}))
    path = write_lines(tmp_path / "events.jsonl", *(one.model_dump_json() for one in EVENTS))
    summary = analyse_events(path, tmp_path / "usage").usage.summary
    assert summary.simulated.events == 4
