from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.people.telemetry.judge_acceptance import read_scores


def write(path: Path, *events: str) -> Path:
    rows = [{"event": event, "criterion": "fit", "score": number} for number, event in enumerate(events)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_event_has_one_score_by_a_criterion(tmp_path: Path) -> None:
    assert [one.event for one in read_scores(write(tmp_path / "a.jsonl", "e1", "e2"))] == ["e1", "e2"]
    with pytest.raises(DataError, match="2 scores of event 'e2' by fit; keep one of them"):
        read_scores(write(tmp_path / "b.jsonl", "e1", "e2", "e2"))
    with pytest.raises(DataError, match="no scores"):
        read_scores(write(tmp_path / "c.jsonl"))
