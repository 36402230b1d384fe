"""One version everywhere; what earlier versions wrote is read, and only today's words are written."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import caretbench
from caretbench.execution.execution_types import RunCosts
from caretbench.problem import Completion, Problem, TestsCheck
from caretbench.reports.frame import load_run
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.suite_types import ProblemSet
from caretbench.suites.validity import Validity
from caretbench.versions import current_model, current_text
from tests.support.command_run import in_this_process
from tests.support.make_problem import make_problem

IDS = "id=python/low_context/refresh-stale-token|python/code_purpose/checkout-hold"
FILES = ("manifest.json", "completions.jsonl", "scores.jsonl")


ROOT = Path(__file__).parents[1]


def test_the_version_is_that_of_the_project_file_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert caretbench.__version__ == project
    assert in_this_process("--version").stdout.split()[-1] == project
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == project
    locked = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    assert [row["version"] for row in locked if row["name"] == "caretbench"] == [project]


@pytest.mark.parametrize("page", ["docs/conf.py", "Containerfile", "Makefile", ".github/workflows/release.yml"])
def test_no_other_file_repeats_the_version(page: str) -> None:
    assert caretbench.__version__ not in (ROOT / page).read_text("utf-8")


def config(output: Path, **settings: object) -> caretbench.RunConfig:
    suites = [{"name": "devbench", "select": IDS}]
    return caretbench.RunConfig.model_validate(
        {"suites": suites, "baselines": ["reference", "empty"], "output": str(output)} | settings
    )


def content(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text("utf-8") for name in FILES}


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("golden_s", "reference_s"),
        ("golden_fails: timeout", "reference_fails: timeout"),
        ("extraction_changes_golden", "extraction_changes_reference"),
        ("golden answer: runtime_error", "reference: runtime_error"),
        ("golden answer does not pass here", "reference does not pass here"),
        ("goldenrod", "goldenrod"),
        ("missing dependency: golden", "missing dependency: golden"),
    ],
)
def test_former_texts(former: str, current: str) -> None:
    assert current_text(former) == current


def test_only_the_baseline_itself_is_renamed() -> None:
    assert [current_model(name) for name in ("golden", "my-golden", "golden_retriever", "reference")] == [
        "reference", "my-golden", "golden_retriever", "reference",
    ]  # fmt: skip


def test_a_problem_with_the_former_field_has_the_same_hash(tmp_path: Path) -> None:
    check = TestsCheck(command=("pytest",), reference_s=1.5)
    problem = make_problem().model_copy(update={"checks": (check,), "reference": 'say("\\"golden_s\\":")'})
    row = problem.model_dump_json()
    former = row.replace('"reference_s":1.5', '"golden_s":1.5')
    assert former != row
    assert Problem.model_validate_json(former) == problem
    assert "golden_s" not in json.loads(row)["checks"][0]
    # Recorded with the release that wrote the former field.
    assert ProblemSet.of("x", [problem]).hash == caretbench.files.sha256_text(former)


def test_former_reasons_of_the_gate_are_read() -> None:
    row = {"problem_id": "a", "verdict": "invalid", "reasons": ["golden_flaky: timeout"]}
    assert Validity.model_validate(row).reasons == ("reference_flaky: timeout",)


def test_a_stored_run_with_the_former_word_is_resumed_reported_and_compared(tmp_path: Path) -> None:
    folder = caretbench.score(config(tmp_path / "run"), []).path
    today = content(folder)
    for name, text in today.items():
        (folder / name).write_text(re.sub(r'("model": ?)"reference"', r'\1"golden"', text), "utf-8")
    former = content(folder)
    assert former != today
    assert all('"golden"' in text for text in former.values())
    caretbench.score(config(tmp_path / "run", baselines=["golden", "empty"]), [])
    again = content(folder)
    assert again["manifest.json"] == today["manifest.json"]
    assert {name: again[name] for name in FILES[1:]} == {name: former[name] for name in FILES[1:]}  # not one row more
    run = load_run(folder, list(caretbench.load_suite("devbench").load("starter").problems))
    assert set(run.frame["model"]) == {"reference", "empty"}
    assert run.baselines[0] == "reference"
    other = caretbench.score(config(tmp_path / "other"), []).path
    compared = caretbench.compare(folder, other, models=["golden", "empty"])
    assert (
        compared.names == ("run: reference", "other: reference", "run: empty", "other: empty")
        or len(compared.names) == 4
    )


def test_a_resumed_run_adds_its_costs_and_a_complete_one_keeps_them(tmp_path: Path) -> None:
    def costs(**changes: object) -> RunCosts | None:
        return RunFolder(caretbench.score(config(tmp_path / "run", **changes), []).path).manifest().costs

    first, again = costs(), costs()
    assert first is not None
    assert again == first
    more = costs(baselines=["reference", "empty", "stub"])
    assert more is not None
    assert more.wall_s > first.wall_s


def test_a_users_rows_with_the_former_word_are_those_of_the_baseline() -> None:
    row = Completion.model_validate({"problem_id": "a", "model": "golden", "text": ""})
    assert row.model == "reference"
    assert '"reference"' in row.model_dump_json()


def test_no_model_under_test_takes_the_former_word(tmp_path: Path) -> None:
    wanted = config(tmp_path / "run", models=[{"spec": "openai/gpt-4o-mini", "name": "golden"}])
    with pytest.raises(ValueError, match="'golden' is the name of a baseline"):
        caretbench.run(wanted, opener=lambda _spec: pytest.fail("opened"))
