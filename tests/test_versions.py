"""One version everywhere, and the costs that a resumed run adds."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

import caretbench
from caretbench.execution.execution_types import RunCosts
from caretbench.runs.run_folder import RunFolder
from tests.support.command_run import in_this_process

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


def test_a_resumed_run_adds_its_costs_and_a_complete_one_keeps_them(tmp_path: Path) -> None:
    def costs(**changes: object) -> RunCosts | None:
        return RunFolder(caretbench.score(config(tmp_path / "run", **changes), []).path).manifest().costs

    first, again = costs(), costs()
    assert first is not None
    assert again == first
    more = costs(baselines=["reference", "empty", "stub"])
    assert more is not None
    assert more.wall_s > first.wall_s
