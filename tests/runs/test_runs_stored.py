"""Stored examples of schema 1: runs and verdicts that earlier versions wrote are read as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from caretbench import RunConfig, load_suite, report, score
from caretbench.errors import DataError
from caretbench.files import read_rows
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.validity import Validity

STORED = Path(__file__).parent / "stored"
SUITES = ("devbench", "efcb", "simcopilot", "c3bench", "codevbench")
"""The first two were written at a73c2c8, before the rooms were redrawn."""


@pytest.mark.parametrize("suite", SUITES)
def test_its_numbers_are_the_same(suite: str) -> None:
    known = json.loads((STORED / suite / "numbers.json").read_text("utf-8"))
    columns = {column.model: column for column in report(STORED / suite).columns}
    assert columns.keys() == known.keys()
    for model, numbers in known.items():
        overall = columns[model].overall
        assert {str(k): rate.value for k, rate in overall.pass_at.items()} == numbers["pass_at"]
        similarity = {name: one.value for name, one in overall.similarity.items()}
        assert similarity == pytest.approx(numbers["similarity"], abs=1e-9)
        assert columns[model].statuses == numbers["statuses"]


@pytest.mark.parametrize("suite", ["devbench", pytest.param("efcb", marks=pytest.mark.long)])
def test_scoring_it_again_adds_what_is_new_and_once(suite: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / suite)
    shutil.copytree(STORED / suite, folder.path)
    # The starter set may have other problems since; those of the run are the same.
    manifest = json.loads(folder.manifest_path.read_text("utf-8"))
    manifest["data"]["hash"] = load_suite(suite).load("starter").hash
    folder.manifest_path.write_text(json.dumps(manifest), "utf-8")
    before = folder.scores_path.read_bytes(), folder.completions_path.read_bytes()
    ids = "|".join(problem.id for problem in folder.problems())
    config = RunConfig(suites=({"name": suite, "select": f"id={ids}"},), output=folder.path)  # type: ignore[arg-type]
    score(config)
    after = folder.scores_path.read_bytes(), folder.completions_path.read_bytes()
    old, new = set(before[0].splitlines()), after[0].splitlines()
    added = [json.loads(line) for line in new if line not in old]
    assert [line for line in new if line in old] == before[0].splitlines()
    assert {row["scorer"] for row in added} <= {"accepted-prefix@1", "error-kinds@3"}
    assert after[1] == before[1]
    score(config)
    assert (folder.scores_path.read_bytes(), folder.completions_path.read_bytes()) == after


def test_stored_verdicts_of_the_gate_are_read() -> None:
    (verdict,) = read_rows(STORED / "validity.jsonl", Validity)
    assert (verdict.problem_id, verdict.verdict) == ("python/low_context/refresh-stale-token", "valid")


def test_a_folder_of_several_runs_names_them() -> None:
    with pytest.raises(DataError, match=r"manifest.json .*c3bench or .*codevbench"):
        RunFolder(STORED).manifest()
