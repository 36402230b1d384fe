from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from caretbench.training.pair_set import pair_prompts, terms_notes
from tests.support.command_run import in_this_process as caretbench
from tests.support.model_server import Behaviour, ModelServer, Recorded
from tests.training.test_training_pairs import MIT

FILES = 10
KILLS = 3


def source(folder: Path, files: int = FILES) -> Path:
    folder.mkdir(parents=True)
    (folder / "LICENSE").write_text(f"MIT License\n\n{MIT}")
    for number in range(files):
        steps = "".join(
            f"def step_{number}_{n}(values):\n    found = [one + {n} for one in values]\n    found.sort()\n"
            f"    return found[{n}:]\n\n\n"
            for n in range(8)
        )
        (folder / f"file_{number}.py").write_text(steps)
    return folder


def asked_for(request: Recorded) -> tuple[str, str, int]:
    """Role, code and number of the file of a request."""
    system, user = (message["content"] for message in request.body["messages"][:2])
    assert "examples" in system
    code = user.rpartition("The code, from ")[2]
    number = re.match(r"file_(\d+)\.py", code)
    assert number
    role = "generator" if "in the manner of the examples" in user else "seeder"
    return role, code.partition(":\n\n")[2], int(number[1])


def scripted(request: Recorded, _choice: int) -> str:
    """One good pair for a seed; of a generator one good pair and one of each fault, or what is no answer."""
    role, code, number = asked_for(request)
    good = re.search(r"    found = .*\n    found\.sort\(\)", code)
    assert good
    pairs = [{"middle": good[0], "instruction": f"Make a list\nof {number} sums and sort it."}]
    if role == "generator":
        if number == 3:
            return "I would rather not."
        other = re.findall(r"    found = .*\n    found\.sort\(\)", code)[1]
        pairs = [
            {"middle": other, "instruction": "Write a comprehension, then sort in place."},
            {"middle": other, "instruction": "Say it again."},
            {"middle": other.replace("    ", "  "), "instruction": "Two blanks."},
            {"middle": other.replace("sort", "reverse"), "instruction": "Not there."},
            {"middle": "    found.sort()\n", "instruction": "Eight times."},
            {"middle": code[:400], "instruction": "Nearly all of it."},
            {"middle": f"{other}\n    return found", "instruction": "Write `found.sort()` in the second line."},
            {"middle": "  \n", "instruction": "Blanks."},
            {"instruction": "No middle."},  # type: ignore[dict-item] # the fault
        ]
    return json.dumps({"pairs": pairs})


FAULTS = {
    "repeated": FILES - 1, "altered": FILES - 1, "not in the file": FILES - 1, "several times in the file": FILES - 1,
    "long": FILES - 1, "told": FILES - 1, "malformed": 2 * (FILES - 1) + 1,
}  # fmt: skip


def command(folder: Path, server: ModelServer) -> list[str]:
    return [
        "sft", "make", str(folder.parent / "own"), "-o", str(folder), "--share", "line=1", "--share", "instruction=1",
        "-m", "seeder=openai/gpt-4o", "-m", "generator=openai/gpt-4o-mini", "--seeds", "3",
        "--base-url", f"{server.url}/v1", "--connections", "1", "--retries", "2",
    ]  # fmt: skip


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_only_middles_that_stand_once_in_their_file_are_used(tmp_path: Path) -> None:
    own = source(tmp_path / "own")
    with ModelServer(answer=scripted) as server:
        made = caretbench(*command(tmp_path / "pairs", server), OPENAI_API_KEY="k")
        assert made.returncode == 0, made.stderr
        roles = Counter(asked_for(request)[0] for request in server.requests)
        seen = [request.body["messages"][1]["content"] for request in server.requests]
    # What is no answer is asked for once more.
    assert roles == {"seeder": 3, "generator": FILES + 1}
    pairs = [row for row in rows(tmp_path / "pairs/pairs.jsonl") if row["author"]]
    assert Counter(row["author"] for row in pairs) == {"openai/gpt-4o": 3, "openai/gpt-4o-mini": FILES - 1}
    for row in pairs:
        text = (own / row["path"]).read_text()
        assert row["prefix"] + row["middle"] + row["suffix"] == text
        assert text.count(row["middle"]) == 1
        assert "\n" not in row["instruction"]
        assert (row["boundary"], row["licence"]) == ("instruction", "MIT")
    assert Counter(row["fault"].partition(":")[0] for row in rows(tmp_path / "pairs/refused.jsonl")) == FAULTS
    stored = json.loads((tmp_path / "pairs/pairs.json").read_text())
    assert stored["models"] == {"seeds": 3, "pairs": FILES + 2, "refused": FAULTS}
    versions = {role: one["prompt_version"] for role, one in stored["roles"].items()}
    assert versions == {role: prompt.version for role, prompt in pair_prompts().items()}
    # A file is no example of itself where there are others, and each example is an answer as it is wanted.
    examples = [text for text in seen if "Example 1" in text]
    assert len(examples) == FILES + 1
    for text in examples:
        path = text.rpartition("The code, from ")[2].partition(":")[0]
        number = re.findall(r"\d+", path)[0]
        shown = [json.loads(line)["instruction"] for line in text.splitlines() if line.startswith('{"middle": "  ')]
        assert shown
        assert f"Make a list of {number} sums and sort it." not in shown


def test_a_dry_run_sends_and_writes_nothing(tmp_path: Path) -> None:
    source(tmp_path / "own")
    with ModelServer(answer=scripted) as server:
        shown = caretbench(*command(tmp_path / "pairs", server), "--dry-run", OPENAI_API_KEY="k")
        assert not server.requests
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("a middle and its instruction: to openai/gpt-4o,") == 3
    assert not (tmp_path / "pairs").exists()


def test_without_a_usable_seed_there_are_no_examples(tmp_path: Path) -> None:
    source(tmp_path / "own", 2)
    with ModelServer(answer='{"pairs": [{"middle": "nowhere", "instruction": "x"}]}') as server:
        made = caretbench(*command(tmp_path / "pairs", server), OPENAI_API_KEY="k")
    assert made.returncode == 2
    assert "'not in the file': 1" in made.stderr
    assert not (tmp_path / "pairs/pairs.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["-m", "generator=openai/x"], "-m seeder="),
        (["-m", "seeder=openai/x", "--share", "line=1"], "--share"),
        (["-m", "judge=openai/x"], "judge"),
        (["-m", "openai/x", "-m", "openai/y"], "one model"),
    ],
)
def test_models_that_cannot_take_part_are_refused(options: list[str], fault: str, tmp_path: Path) -> None:
    own = str(source(tmp_path / "own", 1))
    made = caretbench("sft", "make", own, "-o", str(tmp_path / "pairs"), *options, OPENAI_API_KEY="k")
    assert (made.returncode, fault in made.stderr) == (2, True), made.stderr


@pytest.mark.parametrize(
    ("spec", "warned"), [("gguf/gemma", True), ("openrouter/google/gemma-3-27b-it", True), ("gguf/smollm2", False)]
)
def test_terms_that_reach_trained_models_are_named(spec: str, warned: bool) -> None:
    notes = list(terms_notes({"generator": spec}))
    assert bool(notes) is warned
    assert not warned or f"generator={spec}" in notes[0]


@pytest.mark.long
def test_three_kills_change_no_row_and_ask_nothing_twice(tmp_path: Path) -> None:
    """Killed while seeds are asked for, and twice among the pairs of the generator."""
    for name in ("whole", "killed"):
        source(tmp_path / name / "own")
    with ModelServer(answer=scripted) as server:
        made = caretbench(*command(tmp_path / "whole/pairs", server), OPENAI_API_KEY="k")
        assert made.returncode == 0, made.stderr
        whole = len(server.requests)
    folder = tmp_path / "killed/pairs"
    answered = Counter[str]()

    def behaviour(request: Recorded) -> Behaviour:
        answered[json.dumps(request.body["messages"])] += 1
        return Behaviour(pause_s=0.4)

    with ModelServer(behaviour, answer=scripted) as server:
        argv = [sys.executable, "-m", "caretbench", *command(folder, server)]
        environment = os.environ | {"OPENAI_API_KEY": "k"}
        for moment in (2, 6, 9):
            process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 60
            while process.poll() is None and stored_answers(folder) < moment and time.monotonic() < end:
                time.sleep(0.02)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        stored = stored_answers(folder)
        before = len(server.requests)
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert stored_answers(folder) == whole
    assert len(server.requests) - before == whole - stored
    # Of each kill, at most the request in flight is lost; nothing that was stored is asked for again.
    assert sum(answered.values()) - whole <= KILLS
    for name in ("pairs.jsonl", "refused.jsonl"):
        assert (folder / name).read_bytes() == (tmp_path / "whole/pairs" / name).read_bytes()


def stored_answers(folder: Path) -> int:
    path = folder / "asked.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
