"""Releases of a set that a replayed generator built, and of the starter set: the programs still pass."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from caretbench.people.releases.release import ReleaseOptions, release_set
from caretbench.suites import load_suite
from caretbench.suites.devbench.starter import starter_root
from tests.support.built_sets import read_jsonl
from tests.support.replayed_answers import replayed_generator, written_answers

SEED = 11


def caretbench(*words: object) -> None:
    command = [sys.executable, "-m", "caretbench", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_built_set_is_released_with_the_figures_of_its_manifest(tmp_path: Path) -> None:
    cells = ("python/low_context", "python/code_purpose")
    answers = [one for one in written_answers() if one.id.rpartition("/")[0] in cells]
    model = replayed_generator(tmp_path, answers, SEED, faults=("malformed", "wrong"))
    built = tmp_path / "mine"
    caretbench(
        "build", "devbench", "-m", model, "--language", "python", "--category", "low_context", "--category",
        "code_purpose", "-n", 2, "--patience", 20, "--compare", "none", "--scenario-seed", SEED, "-o", built,
    )  # fmt: skip
    sheet = release_set(built, tmp_path / "out", ReleaseOptions(holdout=0.5, licence="MIT")).public
    manifest = json.loads((built / "manifest.json").read_text("utf-8"))
    found = sheet.generation
    assert (found.wall_hours, found.cost) == (manifest["wall_hours"], manifest["cost"])
    assert found.request_hours == pytest.approx(manifest["request_hours"])
    assert {cell: dict(one.reasons) | {"instance": one.instances} for cell, one in found.cells.items()} == manifest[
        "yields"
    ]
    assert sheet.canary == manifest["canary"]
    ids = [
        [one.id for one in load_suite("devbench").load(str(tmp_path / name)).problems]
        for name in ("out", "out-holdout")
    ]
    assert [len(part) for part in ids] == [2, 2]
    assert sorted(ids[0] + ids[1]) == sorted(row["id"] for row in read_jsonl(built / "instances.jsonl"))


@pytest.mark.long
def test_the_canary_lets_every_reference_pass_and_no_empty_answer(tmp_path: Path) -> None:
    built = tmp_path / "starter"
    for language in ("python", "javascript", "java", "cpp"):
        shutil.copytree(starter_root() / language / "low_context", built / language / "low_context")
    release_set(built, tmp_path / "out", ReleaseOptions(licence="MIT"))
    rows = read_jsonl(tmp_path / "out" / "texts.jsonl")
    answers = ({"problem_id": row["id"], "text": row["reference"]} for row in rows)
    (tmp_path / "model.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    caretbench(
        "score", "devbench", "--data", tmp_path / "out", "--completions", tmp_path / "model.jsonl", "--policy", "raw",
        "--no-html", "-o", tmp_path / "run",
    )  # fmt: skip
    scores = [row for row in read_jsonl(tmp_path / "run" / "scores.jsonl") if row["scorer"].startswith("execution")]
    passed = {(row["problem_id"], row["model"]): row["values"]["passed"] for row in scores}
    assert all(passed[row["id"], "model"] == 1 and passed[row["id"], "empty"] == 0 for row in rows)
    assert len(rows) == 8
