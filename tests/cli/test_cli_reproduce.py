"""``caretbench reproduce`` on an answer that a run has scored."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from caretbench import cli

IDENTITY = "python/api_usage/latency-percentiles"


def caretbench(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, arguments)
    return done.exit_code, done.stdout


def test_the_flags_of_an_answer_are_shown(tmp_path: Path) -> None:
    folder, mine = tmp_path / "run", tmp_path / "mine.jsonl"
    mine.write_text(json.dumps({"problem_id": IDENTITY, "text": "    import os\n    os._exit(0)\n"}) + "\n")
    _, scored = caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={IDENTITY}", "--baseline", "golden", "-o",
        str(folder), "--json",
    )  # fmt: skip
    [entry] = json.loads(scored)["flagged"]
    assert (entry["answers"], entry["flagged_passes"]) == (1, 0)
    status, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--no-program")
    assert status == 0
    assert "flags: tamper:early_exit" in shown
    _, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--json")
    assert json.loads(shown)["flags"] == ["tamper:early_exit"]
    _, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "golden", "--json")
    assert json.loads(shown)["flags"] == []
