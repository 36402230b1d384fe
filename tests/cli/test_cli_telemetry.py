"""``caretbench telemetry``: examination, extraction and analysis of events; mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.suites.usage_weights import read_weights
from tests.support.command_run import in_this_process as caretbench
from tests.support.made_events import FEATURES, event_row, write_lines
from tests.support.synthetic_events import write_events


def texts(number: int, **changes: str | None) -> dict[str, object]:
    shown = {"prefix": "def f(secret_name):\n    ", "suffix": "\n", "completion": "return secret_name"} | changes
    return event_row(number, texts=shown, outcome="rejected" if number % 2 else "accepted")


def test_check_counts_refused_lines_and_exits_with_1(tmp_path: Path) -> None:
    good = str(write_lines(tmp_path / "good.jsonl", texts(1), texts(2, prefix="key = 'sk-abcdefghijkl'\n")))
    found = caretbench("telemetry", "check", good)
    assert (found.returncode, found.stderr.count("Traceback")) == (0, 0)
    assert "2 events of 1 users (1 rejected, 1 accepted)" in found.stdout
    assert "with texts: 2; with something in the shape of a secret: 1" in found.stdout
    bad = str(write_lines(tmp_path / "bad.jsonl", texts(1), texts(1), "{", texts(3)))
    found = caretbench("telemetry", "check", bad)
    assert found.returncode == 1
    assert "doubled" in found.stdout
    as_json = json.loads(caretbench("telemetry", "check", bad, "--json").stdout)
    assert as_json["refused"] == {"doubled": 1, "not_json": 1}
    assert as_json["first"]["not_json"]["line"] == 3


def test_extracted_events_are_analysed_as_those_with_texts(tmp_path: Path) -> None:
    rows = [texts(number, after_5min="return secret_name" if number % 3 else "pass") for number in range(20)]
    events, salt = str(write_lines(tmp_path / "events.jsonl", *rows)), str(tmp_path / "salt")
    found = caretbench("telemetry", "extract", events, "--salt", salt, "-o", str(tmp_path / "given"))
    assert found.returncode == 0, found.stderr
    assert "new salt" in found.stderr
    given = tmp_path / "given/events.jsonl"
    assert "hashes of hashes" not in found.stderr
    twice = caretbench("telemetry", "extract", str(given), "--salt", salt, "-o", str(tmp_path / "twice"))
    assert "20 events had no texts before: their users and ids are hashes of hashes now" in " ".join(
        twice.stderr.split()
    )
    assert "secret_name" not in given.read_text()
    assert "ann" not in given.read_text()
    analysed = []
    for path, folder in ((events, "one"), (str(given), "two")):
        done = caretbench("telemetry", "analyze", path, "-o", str(tmp_path / folder), "--json")
        assert done.returncode == 0, done.stderr
        analysed.append(json.loads(done.stdout))
    assert analysed[0] == analysed[1]
    assert analysed[0]["outcomes"]["typed_anyway"] == 7
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        "scenarios.jsonl", "failures.jsonl", "summary.json", "weights.toml",
    }  # fmt: skip


def test_the_printed_tables(tmp_path: Path) -> None:
    events = str(write_events(tmp_path / "events.jsonl", 400, 30))
    done = caretbench("telemetry", "analyze", events, "-o", str(tmp_path / "usage"))
    assert done.returncode == 0, done.stderr
    assert "400 events of 26 users" in done.stdout
    assert "Accepted or typed" in done.stdout
    assert "Wrong name" in done.stdout
    assert "\ntrigger" not in done.stdout  # one value says nothing
    assert "26 users count" in " ".join(done.stderr.split())
    assert read_weights(str(tmp_path / "usage/weights.toml")).name == "usage"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (event_row(1, schema_version=2), "none of 1 lines is an event that can be used"),
        (event_row(1, outcome="rejected", visible_ms=10), "none of 1 completions was visible long enough"),
        (event_row(1, features=FEATURES | {"block": "paragraph"}), "features.block"),
    ],
)
def test_files_without_events_end_with_one_line(tmp_path: Path, row: dict[str, object], expected: str) -> None:
    events = str(write_lines(tmp_path / "events.jsonl", row))
    done = caretbench("telemetry", "analyze", events, "-o", str(tmp_path / "usage"))
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "usage").exists()


@pytest.mark.parametrize("way", ["name", "path", "hard link", "symbolic link", "linked folder"])
def test_extract_never_overwrites_its_input(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    events, given = folder / "events.jsonl", folder
    if way in ("hard link", "symbolic link"):
        events = tmp_path / "raw.jsonl"
    write_lines(events, texts(1))
    if way == "hard link":
        (folder / "events.jsonl").hardlink_to(events)
    elif way == "symbolic link":
        (folder / "events.jsonl").symlink_to(events)
    elif way == "linked folder":
        given = tmp_path / "link"
        given.symlink_to(folder, target_is_directory=True)
    elif way == "path":
        given = tmp_path / "other" / ".." / "mine"
        (tmp_path / "other").mkdir()
    before = events.read_bytes()
    done = caretbench("telemetry", "extract", str(events), "--salt", str(tmp_path / "salt"), "-o", str(given))
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "the results would overwrite this file" in done.stderr
    assert events.read_bytes() == before
    assert not (tmp_path / "salt").exists()


def test_analyze_never_overwrites_its_input(tmp_path: Path) -> None:
    events = write_events(tmp_path / "scenarios.jsonl", 50, 5)
    before = events.read_bytes()
    done = caretbench("telemetry", "analyze", str(events), "-o", str(tmp_path))
    assert done.returncode == 2
    assert "would overwrite" in done.stderr
    assert events.read_bytes() == before


def test_words_that_could_be_code_or_people_are_counted(tmp_path: Path) -> None:
    rows = [
        texts(1) | {"category": "secret_name", "model": "ann@corp.example"},
        texts(2) | {"language": "klingon", "trigger": "sk-abcdefghijkl"},
        texts(3) | {"category": "api_usage", "model": "org/small-7b"},
    ]
    events = str(write_lines(tmp_path / "events.jsonl", *rows))
    found = caretbench("telemetry", "check", events)
    assert "a secret: 1" in found.stdout
    assert "words that extract replaces by other: 1 model, 1 category, 1 language, 1 trigger" in found.stdout
    as_json = json.loads(caretbench("telemetry", "check", events, "--json").stdout)
    assert as_json["replaced_words"] == {"model": 1, "category": 1, "language": 1, "trigger": 1}
    done = caretbench("telemetry", "extract", events, "--salt", str(tmp_path / "salt"), "-o", str(tmp_path / "given"))
    assert "other: 1 model" in " ".join(done.stderr.split())
    given = (tmp_path / "given/events.jsonl").read_text()
    assert not [word for word in ("secret_name", "corp", "klingon", "abcdefghijkl") if word in given]
    assert [word for word in ("api_usage", "org/small-7b") if word in given] == ["api_usage", "org/small-7b"]


def test_the_salt_is_not_given_away(tmp_path: Path) -> None:
    events = str(write_lines(tmp_path / "events.jsonl", texts(1)))
    done = caretbench(
        "telemetry", "extract", events, "--salt", str(tmp_path / "given/salt"), "-o", str(tmp_path / "given")
    )
    assert done.returncode == 2
    assert "the salt is in the folder" in done.stderr
    assert not (tmp_path / "given").exists()
