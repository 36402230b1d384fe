"""A run of an editor's completions: judged as those of models, and the scores compared with what users did."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from caretbench.api import judge
from caretbench.files import DataError
from caretbench.models import ModelRequest
from caretbench.people.telemetry.event_run import event_scores, write_event_run
from caretbench.runs.judging.plan import JudgingConfig
from caretbench.runs.run_folder import RunFolder
from tests.support.command_run import in_this_process as caretbench
from tests.support.fakes import FakeClient
from tests.support.made_events import event_row, write_lines

OUTCOMES = (("accepted", "keep({})"), ("accepted", "keep(other)"), ("rejected", "other"), ("ignored", "other"))


def rows(count: int) -> list[dict[str, Any]]:
    """Return events; the completions that users keep are called `keep`, others `drop`, with mistakes."""
    draw = random.Random(1)  # noqa: S311  a sample, not a secret
    found = []
    for number in range(count):
        outcome, later = OUTCOMES[number % 4]
        word = "keep" if outcome == "accepted" and draw.random() < 0.9 else "drop"
        texts = {
            "prefix": f"x{number} = ",
            "suffix": "\n",
            "completion": f"{word}({number})",
            "after_5min": later.format(number),
        }
        if number == 5:
            texts["prefix"] = "password = 'hunter2hunter2'\n"
        found.append(
            event_row(number, texts=texts, outcome=outcome, user=f"user-{number % 40}", latency_ms=200 + number % 7)
        )
    return found


def rated(request: ModelRequest, _sample: int) -> str:
    good = "keep(" in str(request)
    return json.dumps({"reasoning": "r", "relevance": 5 if good else 1, "helpfulness": 4 if good else 0})


def test_judged_events_are_compared_with_what_users_did(tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", *rows(200))
    made = caretbench("telemetry", "to-run", str(events), "-o", str(tmp_path / "run"))
    assert made.returncode == 0, made.stderr
    assert "149 of 149 completions that users kept, edited or rejected" in made.stdout
    with pytest.raises(DataError, match="no judge has judged it yet"):
        list(event_scores(RunFolder(tmp_path / "run")))
    client = FakeClient(rated)
    judge(
        tmp_path / "run", JudgingConfig(judges={"grader": "mock/judge"}, control_problems=0), opener=lambda *_: client
    )
    assert len(client.asked) == 149
    assert not [request for request in client.asked if "user-" in str(request) or "hunter2" in str(request)]
    done = caretbench(
        "telemetry", "judge", str(events), "--run", str(tmp_path / "run"), "-o", str(tmp_path / "usage"), "--json"
    )
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    assert (study["events"], study["users"], study["unmatched_scores"]) == (149, 30, 0)
    [whole] = [one for one in study["rows"] if one["users"] == one["value"] == "all"]
    assert whole["criterion"] == "devbench-quality@1, grader"
    assert whole["low"] > 0.4
    assert (tmp_path / "usage/acceptance.json").exists()


def test_a_file_of_scores(tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", *rows(160))
    scores = write_lines(
        tmp_path / "scores.jsonl",
        *({"event": f"e{number}", "criterion": name, "score": value}
          for number in range(160) for name, value in (("good", 2 - number % 4), ("bad", number % 3))),
    )  # fmt: skip
    words = ("telemetry", "judge", str(events), "--scores", str(scores), "-o", str(tmp_path / "usage"))
    printed = caretbench(*words).stdout
    assert "120 scored events of 30 users; 80 scores of other events" in printed
    assert "good: best on the first half of the users" in printed


def test_a_sample_is_seeded(tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", *rows(200))
    found = [
        sorted(one.id for one in write_event_run(events, tmp_path / name, texts=40, seed=seed).folder.problems())
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert len(found[0]) == 40
    assert found[0] == found[1] != found[2]


def test_mistakes_end_with_one_line(tmp_path: Path) -> None:
    events = str(write_lines(tmp_path / "events.jsonl", *rows(8)))
    nothing = str(write_lines(tmp_path / "nothing.jsonl", event_row(1)))
    scores = str(write_lines(tmp_path / "scores.jsonl", {"event": "none", "criterion": "c", "score": 1}))
    wrong = str(write_lines(tmp_path / "wrong.jsonl", {"event": "none", "score": "high"}))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    out = str(tmp_path / "usage")
    for words, expected in [
        (("to-run", nothing, "-o", out), "no event with texts that a user kept, edited or rejected"),
        (("to-run", events, "-o", str(tmp_path / "full")), "not empty"),
        (("judge", events, "-o", out), "give the scores once"),
        (("judge", events, "--scores", scores, "--run", "r", "-o", out), "give the scores once"),
        (("judge", events, "--scores", scores, "-o", out), "none of the 1 scored events is here"),
        (("judge", events, "--scores", wrong, "-o", out), "wrong.jsonl:1: criterion: Field required"),
        (("judge", events, "--run", str(tmp_path / "none"), "-o", out), "none"),
    ]:
        done = caretbench("telemetry", *words)
        assert done.returncode == 2, words
        assert expected in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
