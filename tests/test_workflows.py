"""Workflow files and the container recipe: their steps, run in a clean clone as far as this machine can."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.tracked_copy import copy_tracked_files

_ROOT = Path(__file__).parents[1]
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_NOT_RUN_HERE = {
    "make test": "runs tests again",
    "bash .ci/run": "runs this file",
    "sudo sysctl": "changes the machine",
    "apt-get": "changes the machine",
}
"""Beginnings of steps that the tests do not run, with the reason."""


def _steps(workflow: Path) -> list[str]:
    """Return the commands of all jobs of a workflow."""
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_hooks_before_a_commit_run_tools_and_targets_that_exist() -> None:
    config = yaml.safe_load((_ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    commands = [hook["entry"].split() for repository in config["repos"] for hook in repository["hooks"]]
    assert {command[0] for command in commands} == {".venv/bin/ruff", "make"}
    assert {command[1] for command in commands if command[0] == "make"} <= _targets()
    for _, *words in (command for command in commands if command[0] == ".venv/bin/ruff"):
        ruff = [sys.executable, "-m", "ruff", *words, __file__]
        assert subprocess.run(ruff, cwd=_ROOT, capture_output=True, check=False).returncode == 0, ruff


def test_updates_are_asked_for_the_tools_of_this_repository() -> None:
    config = yaml.safe_load((_ROOT / ".github" / "dependabot.yml").read_text("utf-8"))
    assert {entry["package-ecosystem"] for entry in config["updates"]} == {"uv", "github-actions"}
    assert (_ROOT / "uv.lock").exists()


def test_workflows_name_targets_that_exist() -> None:
    named = [step.split()[1] for workflow in _WORKFLOWS for step in _steps(workflow) if step.startswith("make ")]
    named += re.findall(r"&& make ([a-z-]+)", (_ROOT / "Containerfile").read_text("utf-8"))
    assert {"test-most", "site", "packages"} <= {*named} <= _targets()


def test_the_tests_run_on_every_supported_interpreter() -> None:
    jobs: dict[str, Any] = yaml.safe_load((_ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_releases_need_no_token() -> None:
    text = (_ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text


@pytest.mark.long
def test_steps_run_in_a_clean_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    copy_tracked_files(clone)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    tools = [str(tmp_path / "env" / "bin"), *([str(_ROOT / ".venv-tools/bin")] if not shutil.which("uv") else [])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_"))}
    environment["PATH"] = os.pathsep.join([*tools, environment["PATH"]])
    for step in dict.fromkeys(step for workflow in _WORKFLOWS for step in _steps(workflow)):
        if step.startswith(tuple(_NOT_RUN_HERE)):
            continue
        done = subprocess.run(
            ["/bin/bash", "-c", step], cwd=clone, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    assert (clone / "docs/_build/html/index.html").stat().st_size > 5_000
    assert len(list((clone / "dist").glob("caretbench-*"))) == 2
    assert (clone / "out/report.html").exists()
