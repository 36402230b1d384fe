"""`run` is killed at random moments: nothing stored is asked again, and every row stands in its file once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from caretbench.files import read_lines
from caretbench.runs.run_folder import RunFolder
from tests.support.sandbox_boxes import still_runs

KILLS = 20
SAMPLES = 6
CONNECTIONS = 3

COMPLETER = """
import hashlib, json, os, random, sys, time

request = json.load(sys.stdin)
asked = hashlib.sha256(request["prefix"].encode()).hexdigest()[:16]
with open(os.environ["ASKED"], "a") as log:
    log.write(json.dumps({"asked": asked}) + "\\n")
time.sleep(random.uniform(0.05, 0.25))
if request["prefix"].count("def ") % 5 == 4 and "BUSY" in os.environ:
    sys.exit("busy")
print(json.dumps({"text": "    pass\\n"}))
"""
"""A model that is slow, notes whatever it is asked before it answers, and fails for some problems."""


@pytest.mark.long
def test_twenty_kills_lose_double_and_repeat_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    log = tmp_path / "asked.jsonl"
    completer = tmp_path / "completer.py"
    completer.write_text(COMPLETER)
    command = [
        sys.executable, "-m", "caretbench", "run", "devbench", "-m", f"m=command/{sys.executable} {completer}",
        "--select", "language=python|javascript|java", "-n", str(SAMPLES), "--connections", str(CONNECTIONS),
        "--retries", "0", "--no-execute", "--no-html", "--json", "-o", str(folder.path),
    ]  # fmt: skip
    environment = {**os.environ, "ASKED": str(log), "BUSY": "1"}
    moments = random.Random(7)  # noqa: S311 - moments, not secrets
    interrupted = 0
    for number in range(KILLS):
        before = size(folder.completions_path)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Most moments fall into the asking, some into the start.
        while number % 4 and size(folder.completions_path) == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0.0, 0.6))
        interrupted += process.poll() is None
        process.kill()
        process.wait()
        assert most(row.key for row in folder.completions()) == 1
        assert most(row.key for row in folder.missing()) == 1
    assert interrupted >= KILLS * 3 // 4
    assert not still_runs(str(completer)), "programs that outlive a kill write their last line"
    kept = {row.key for row in folder.completions()}
    asked_before = sum(1 for _ in read_lines(log))

    final = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    busy = {row.key for row in folder.missing()}
    assert final.returncode == (1 if busy else 0), final.stderr
    models = [row for row in folder.completions() if row.model == "m"]
    there = Counter(row.key for row in models)
    assert set(there.values()) == {1}
    assert kept <= set(there)
    assert set(there).isdisjoint(busy)
    assert len(there) + len(busy) == 36 * SAMPLES
    # The last run asked for what was not stored, and for nothing else.
    assert sum(1 for _ in read_lines(log)) - asked_before == 36 * SAMPLES - len(kept)
    # Over all runs, what was asked and is not stored was under way when a kill came, or failed.
    asked = Counter(json.loads(line)["asked"] for line in log.read_text().splitlines())
    assert len(asked) == 36
    surplus = sum(asked.values()) - len(there)
    failures = sum(1 for _ in busy) * (KILLS + 1)
    assert 0 <= surplus <= CONNECTIONS * KILLS + failures

    del environment["BUSY"]
    asked_before = sum(asked.values())
    end = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert end.returncode == 0, end.stderr
    assert list(folder.missing()) == []
    assert sum(1 for _ in read_lines(log)) - asked_before == len(busy)
    keys = Counter(row.key for row in folder.scores())
    assert set(keys.values()) == {1}
    assert {row.completion_key for row in folder.scores()} == {row.key for row in folder.completions()}


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def most(keys: Iterable[object]) -> int:
    return max(Counter(keys).values(), default=1)
