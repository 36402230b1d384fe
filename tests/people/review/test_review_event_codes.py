"""Events as items of a review: the sample, what people see, and the codes that come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caretbench.files import DataError
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.event_items import event_codes, event_items
from caretbench.people.review.protocol import load_protocol
from caretbench.suites.usage_weights import read_weights
from tests.support.command_run import in_this_process as caretbench
from tests.support.made_events import event_row, write_lines
from tests.support.simulated_people import decide_all

PROTOCOL = load_protocol("event-codes")


def row(number: int, outcome: str = "rejected", **changes: Any) -> dict[str, Any]:
    shown = {"prefix": f"x{number} = ", "suffix": "\n", "completion": f"f({number})"}
    texts = {name: changes.pop(name) for name in ("prefix", "after_5min") if name in changes}
    return event_row(number, texts=shown | texts, outcome=outcome, user=f"user-{number % 7}", model="small", **changes)


def test_people_code_what_users_saw_and_did_not_keep(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "events.jsonl",
        row(1),
        row(2, "accepted", after_5min="f(2)"),
        row(3, "accepted", after_5min="f(2) + g(4)"),
        row(4, "accepted", after_5min=""),
        row(5, visible_ms=10),
        row(6, "ignored", after_5min="f(6)"),
        row(7, "ignored", after_5min="other"),
        row(8, prefix="password = 'hunter2hunter2'\nx = "),
        event_row(9, outcome="rejected"),
    )
    found = event_items(path, PROTOCOL, texts=10)
    assert [item.problem_id for item in found.items] == ["e1", "e3", "e4", "e7"]
    assert (found.failed, found.with_secrets) == (4, 1)
    shown = found.items[1].shown
    assert (shown.before, shown.span, shown.after) == ("x3 = ", "f(3)", "\n")
    assert shown.reference == "f(2) + g(4)"
    assert found.items[0].shown.reference is None
    seen = json.dumps([item.model_dump(mode="json", exclude={"hidden"}) for item in found.items])
    assert "user-" not in seen
    assert "rejected" not in seen


def test_the_sample_is_random_and_seeded(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "events.jsonl", *(row(number) for number in range(200)))
    samples = [
        [item.problem_id for item in event_items(path, PROTOCOL, texts=50, seed=seed).items] for seed in (0, 0, 1)
    ]
    assert samples[0] == samples[1] != samples[2]
    places = [int(name[1:]) for name in samples[0]]
    assert len(set(places)) == 50
    assert 70 < sum(places) / 50 < 130


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "events.jsonl", event_row(1), row(2, "accepted"))
    with pytest.raises(DataError, match="no event with texts"):
        event_items(path, PROTOCOL, texts=5)
    with pytest.raises(DataError, match="devbench-instance is not about completions"):
        event_items(path, load_protocol("devbench-instance"), texts=5)
    for words in (("--run", "r"), ("--criterion", "c"), ("--limit", "3")):
        done = caretbench(
            "review", "new", str(tmp_path / "r"), "--protocol", "event-codes", "--events", str(path), *words
        )
        assert done.returncode == 2
        assert "--events is" in done.stderr
    done = caretbench("review", "new", str(tmp_path / "r"), "--events", str(path), "--suite", "devbench")
    assert "--events brings" in done.stderr


def test_planted_codes_come_out(tmp_path: Path) -> None:
    """Two simulated people find the planted codes, one of them errs at every tenth; the analysis has them."""
    events = write_lines(tmp_path / "events.jsonl", *(row(number, after_5min="y") for number in range(300)))
    folder = str(tmp_path / "codes")
    made = caretbench("review", "new", folder, "--protocol", "event-codes", "--events", str(events), "--texts", "60")
    assert made.returncode == 0, made.stderr
    assert "60 of 300" in made.stderr
    with ReviewDatabase(tmp_path / "codes/review.sqlite") as database, pytest.raises(DataError, match="nobody has"):
        event_codes(database)

    def rule(item: Any, name: str) -> dict[str, str]:
        number = int(item.problem_id[1:])
        errs = name == "bob" and number % 10 == 0
        failure = "incomplete" if errs else "wrong_name" if number % 3 else "over_generation"
        return {"failure": failure, "category": "api_usage" if number % 2 else "none"}

    decide_all(Path(folder), ("ann", "bob"), rule)
    done = caretbench("telemetry", "analyze", str(events), "--codes", folder, "-o", str(tmp_path / "usage"), "--json")
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)["codes"]
    assert (codes["events"], codes["population"], codes["people"]) == (60, 300, 2)
    shares = {(one["question"], one["code"]): one for one in codes["shares"]}
    for code, planted in (("wrong_name", 2 / 3 * 0.95), ("over_generation", 1 / 3 * 0.95), ("incomplete", 0.05)):
        assert shares["failure", code]["low"] <= planted <= shares["failure", code]["high"]
    agreement = {one["question"]: one["alpha"] for one in codes["agreement"]}
    assert 0.7 < agreement["failure"] < 0.95
    assert agreement["category"] == 1.0
    assert read_weights(str(tmp_path / "usage/weights.toml")).category.keys() == {"api_usage"}
    printed = caretbench("telemetry", "analyze", str(events), "--codes", folder, "-o", str(tmp_path / "usage")).stdout
    for title in ("Codes of 2 people for 60 of 300 events", "Agreement"):
        assert title in printed
    other = str(write_lines(tmp_path / "other.jsonl", row(900)))
    wrong = caretbench("telemetry", "analyze", other, "--codes", folder, "-o", str(tmp_path / "usage"))
    assert "none of the 60 events" in wrong.stderr
