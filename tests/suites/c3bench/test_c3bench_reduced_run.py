"""Runs with reductions: lines that only look like what an instruction asks for do not count, and rows say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench import RunConfig, report, score
from caretbench.files import write_rows
from caretbench.problem import Completion
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.c3bench.measures import failed_predicates

PROBLEM = next(
    one for one in load_suite("c3bench").load("starter").problems if one.id == "icc/written/primes-below/hand-3"
)


def decoy() -> str:
    """Return the right answer to this instruction, and after it that to another one, which computes all again."""
    return PROBLEM.reference + PROBLEM.released["other_variant"]


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_a_decoy_passes_and_follows_nothing_when_it_is_reduced(tmp_path: Path, profile: str) -> None:
    answers = {"right": PROBLEM.reference, "decoy": decoy(), "other": PROBLEM.released["other_variant"]}
    rows = [Completion(problem_id=PROBLEM.id, model=model, text=text) for model, text in answers.items()]
    write_rows(tmp_path / "m.jsonl", rows)
    settings = {"name": "c3bench", "select": f"id={PROBLEM.id}", "profile": profile}
    config = RunConfig(suites=(settings,), output=tmp_path / "run")  # type: ignore[arg-type]
    score(config, [tmp_path / "m.jsonl"])
    values: dict[str, dict[str, float]] = {}
    for row in RunFolder(tmp_path / "run").scores():
        values.setdefault(row.model, {}).update(row.values)
    assert {values[model]["passed"] for model in answers} == {1.0}
    found = {model: (values[model]["followed"], values[model].get("followed_reduced")) for model in answers}
    assert not failed_predicates(PROBLEM, decoy())
    reduced = {"right": 1.0, "decoy": 0.0, "other": None} if profile == "default" else {}
    assert found == {
        model: (followed, reduced.get(model)) for model, followed in (("right", 1.0), ("decoy", 1.0), ("other", 0.0))
    }
    before = (tmp_path / "run" / "scores.jsonl").read_bytes()
    score(config, [tmp_path / "m.jsonl"])
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == before
    assert report(tmp_path / "run").columns
