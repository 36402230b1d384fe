"""Builds of instances by a replayed generator, in the sandbox."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from caretbench.files import sha256_text
from caretbench.suites import load_suite
from caretbench.suites.devbench.build.construction.build_folder import BuildFolder
from tests.support.command_run import in_this_process
from tests.support.replayed_answers import replayed_generator, written_answers

SEED = 11


def build(*words: object) -> subprocess.CompletedProcess[str]:
    return in_this_process("build", "devbench", *map(str, words))


def python_answers(*categories: str) -> list:
    return [one for one in written_answers() if one.id.startswith("python/") and one.id.split("/")[1] in categories]


def test_faults_are_repaired_and_the_folder_says_what_became_of_each_attempt(tmp_path: Path) -> None:
    answers = python_answers("low_context", "code_purpose")
    model = replayed_generator(tmp_path, answers, SEED, faults=("malformed", "wrong"))
    ran = build(
        "-m", model, "--language", "python", "--category", "low_context", "--category", "code_purpose", "-n", 2,
        "--patience", 20, "--compare", "none", "--scenario-seed", SEED, "-o", tmp_path / "mine",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    folder = BuildFolder(tmp_path / "mine")
    rows, attempts = folder.instances(), folder.attempts()
    assert Counter(row.scenario.cell for row in rows.values()) == {"python/low_context": 2, "python/code_purpose": 2}
    assert all(set(row.checks.values()) == {"ok"} for row in rows.values())
    assert {one.outcome for one in attempts} >= {"instance", "malformed", "gate"}
    repaired = next(one for one in attempts if one.outcome in {"malformed", "gate"})
    after = [one for one in attempts if one.track == repaired.track]
    assert [one.outcome for one in after] == [repaired.outcome, "instance"]
    # The second request shows the first answer and its diagnosis.
    second = next(one for one in folder.requests() if one.key == after[1].request)
    assert [message.role for message in second.prompt.messages] == ["system", "user", "assistant", "user"]
    assert after[0].detail[:40] in second.prompt.messages[-1].text

    problems = load_suite("devbench").load(str(tmp_path / "mine")).problems
    assert {problem.id for problem in problems} == set(rows)
    assert {problem.label("generator") for problem in problems} == {"replayed"}
    assert all(problem.cluster == rows[problem.id].scenario.id for problem in problems)

    # The same command asks for nothing more.
    calls = (tmp_path / "calls.log").read_text().count("\n")
    assert build("-m", model, "-n", 2, "--language", "python", "--category", "low_context", "--compare", "none",
                 "-o", tmp_path / "mine").returncode == 0  # fmt: skip
    assert (tmp_path / "calls.log").read_text().count("\n") == calls


def test_a_rejected_instance_is_replaced_and_an_edited_one_is_checked_again(tmp_path: Path) -> None:
    answers = python_answers("low_context")
    model = replayed_generator(tmp_path, answers, SEED, faults=())
    mine = tmp_path / "mine"
    options = ("--language", "python", "--category", "low_context", "-n", 2, "--patience", 30, "--compare", "none",
               "--scenario-seed", SEED, "-o", mine)  # fmt: skip
    assert build("-m", model, *options).returncode == 0
    folder = BuildFolder(mine)
    first, second = folder.instances().values()
    rejection = {
        "item": "1", "problem_id": first.id, "suite": "devbench", "problem_hash": first.problem_hash,
        "state": "settled", "value": "reject", "reasons": ["too-simple"], "notes": ["a textbook case"],
    }  # fmt: skip
    stale = rejection | {"problem_id": second.id, "problem_hash": "of another text"}
    review = tmp_path / "rejections.jsonl"
    review.write_text("".join(json.dumps(row) + "\n" for row in (rejection, stale)))
    edited = folder.file_of(second.id)
    edited.write_text(edited.read_text() + "# checked by hand\n")
    # Neither cells nor a number: as many as there were.
    again = ("-m", model, "--patience", 30, "--compare", "none", "-o", mine, "--again", review)
    ran = build(*again)
    assert ran.returncode == 0, ran.stderr
    assert "a textbook case" in ran.stderr
    assert "by hand; it passes" in ran.stderr
    rows = folder.instances()
    assert len(rows) == 2
    assert first.id not in rows
    assert rows[second.id].text_hash == sha256_text(edited.read_text())
    assert rows[second.id].problem_hash != second.problem_hash  # earlier reviews are of another text
    assert list((mine / "rejected").rglob("*.py"))
    requests = [one for one in folder.requests() if "a textbook case" in one.prompt.messages[-1].text]
    assert requests
    assert build(*again).returncode == 0  # once more changes nothing
    assert folder.instances() == rows


@pytest.mark.long
def test_kills_lose_no_instance_and_ask_nothing_twice(tmp_path: Path) -> None:
    answers = python_answers("low_context", "code_purpose", "api_usage", "pattern_matching")
    model = replayed_generator(tmp_path, answers, SEED, faults=("wrong", "malformed", "cut_off", "secret"))
    mine = tmp_path / "mine"
    categories = [word for name in ("low_context", "code_purpose", "api_usage", "pattern_matching")
                  for word in ("--category", name)]  # fmt: skip
    words = [sys.executable, "-m", "caretbench", "build", "devbench", "-m", model, "--language", "python", *categories,
             "-n", "2", "--patience", "20", "--compare", "none", "--scenario-seed", str(SEED),
             "--connections", "2", "-o", str(mine)]  # fmt: skip
    drawn = random.Random(5)  # noqa: S311  # moments, no secrets
    kills = 0
    for _ in range(60):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        begun = (mine / "requests.jsonl").exists()
        time.sleep(drawn.uniform(0.4, 3.0) if begun else drawn.uniform(1.0, 3.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        if kills == 20:
            break
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    folder = BuildFolder(mine)
    rows = folder.instances()
    assert len(rows) == 8
    assert {row.id for row in rows.values()} == {problem.id for problem in folder.problems()}
    ends = Counter(one.request for one in folder.attempts())
    assert set(ends.values()) == {1}
    asked = [json.loads(line)["request"] for line in (mine / "asked.jsonl").read_text().splitlines()]
    assert len(asked) == len(set(asked))
    # A request in flight at a kill may be sent again, and no other: two connections.
    calls = (tmp_path / "calls.log").read_text().splitlines()
    assert len(calls) - len(asked) <= 2 * kills
    print(f"{kills} kills, {len(asked)} answers, {len(calls) - len(asked)} of them in flight at a kill")  # noqa: T201 - with -s
