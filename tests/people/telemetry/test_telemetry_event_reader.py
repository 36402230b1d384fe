"""Reading of events: every refused line is counted by its reason, and a file without events ends with one line."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import DataError
from caretbench.people.telemetry.events import EventReader
from tests.support.made_events import FEATURES, NOW, event_row, hashed, write_lines


def read(path: Path) -> EventReader:
    reader = EventReader(path, now=NOW)
    assert len(list(reader)) == reader.used
    return reader


def test_refused_lines_are_counted_by_reason(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "events.jsonl",
        event_row(1),
        event_row(2),
        "{no json}",
        event_row(3, schema_version=2),
        event_row(4, surprise=1),
        event_row(5, user="ann@example.org"),
        event_row(6, time=(NOW + timedelta(hours=2)).isoformat()),
        event_row(7, time=(NOW + timedelta(minutes=30)).isoformat()),
        event_row(8, shown=False),
        event_row(1),
        dict(reversed(event_row(2).items())),
        event_row(2, outcome="ignored"),
        event_row(9, features=FEATURES | {"failures": ["mistake"]}),
        "",
    )
    with path.open("a") as stream:
        stream.write(json.dumps(event_row(10))[:70])
    reader = read(path)
    assert reader.refused == {
        "not_json": 1, "schema": 3, "plain_identity": 1, "future": 1, "contradictory": 1, "doubled": 2,
        "id_used_twice": 1, "torn": 1,
    }  # fmt: skip
    assert (reader.read, reader.used) == (14, 3)
    assert reader.first["schema"].line == 4
    assert "schema_version" in reader.first["schema"].detail
    assert reader.first["doubled"].line == 10


def test_a_line_that_is_too_long_is_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caretbench.people.telemetry.events.LONGEST_LINE", 2_000)
    path = tmp_path / "events.jsonl.gz"
    lines = [json.dumps(event_row(1)), "x" * 70_000, "y" * 1_999, json.dumps(event_row(2)), "z" * 2_001]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    reader = read(path)
    assert reader.refused == {"too_long": 2, "not_json": 1}
    assert (reader.used, reader.first["too_long"].line) == (2, 2)


def test_a_line_that_is_nested_too_deep_is_no_json(tmp_path: Path) -> None:
    for depth in (700, 990, 5_000):
        path = tmp_path / f"{depth}.jsonl"
        path.write_text(f'{json.dumps(event_row(1))}\n{{"a": {"[" * depth}{"]" * depth}}}\n')
        assert read(path).refused.keys() <= {"not_json", "schema"}


def test_a_last_line_without_its_end_is_read_if_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(event_row(1)))
    assert read(path).used == 1


def test_compressed_files_and_halves_of_surrogates(tmp_path: Path) -> None:
    row = event_row(1, texts={"prefix": "x = '\ud83d", "completion": "y'"})
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(row).encode() + b"\n"))
    [event] = EventReader(path, now=NOW)
    assert event.texts is not None
    assert event.texts.prefix == "x = '\ufffd"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no events"),
        ([event_row(1, schema_version=7)], ":1: none of 1 lines .*schema_version"),
        ([{"prefix": "a", "accepted": True}], ":1: none of 1 lines .*Field required"),
        (["[1]", "{"], ":1: none of 2 lines .*refused as schema"),
        ([event_row(1, texts={"prefix": "", "completion": "x"}, features=FEATURES)], "either texts or features"),
        ([event_row(1, visible_ms=-1)], "visible_ms"),
        ([event_row(1, time="2026-03-01T12:00:00")], "time"),
    ],
)
def test_a_file_without_events_is_an_error_of_one_line(tmp_path: Path, rows: list[Any], message: str) -> None:
    path = write_lines(tmp_path / "events.jsonl", *rows)
    with pytest.raises(DataError, match=message) as raised:
        list(EventReader(path, now=NOW))
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none\.jsonl: cannot be"):
        list(EventReader(tmp_path / "none.jsonl"))
    damaged = tmp_path / "events.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"x" * 9_000)[:-9])
    with pytest.raises(DataError, match=r"/events\.jsonl\.gz: cannot be"):
        list(EventReader(damaged))


def test_hashes_are_of_the_expected_form() -> None:
    assert len(hashed("ann")) == 64
