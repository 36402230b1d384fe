"""What CI promises to run is not skipped in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TESTS = """
import pytest

@pytest.mark.requires("rocket")
@pytest.mark.skipif(True, reason="no rocket here")
def test_marked(): ...

@pytest.mark.requires("rocket")
def test_skipping_itself():
    pytest.skip("no fuel")

@pytest.mark.requires("boat")
def test_of_something_else():
    pytest.skip("no water")
"""


@pytest.mark.parametrize(
    ("promised", "outcome"),
    [("", "3 skipped"), ("rocket", "1 failed, 1 skipped, 1 error"), ("boat, rocket", "2 failed, 1 error")],
)
def test_a_skip_is_a_failure_where_the_tool_is_promised(tmp_path: Path, promised: str, outcome: str) -> None:
    (tmp_path / "test_trial.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requires\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.required", "-p", "no:cacheprovider", tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CARETBENCH_REQUIRE": promised},
    )  # fmt: skip
    assert outcome in done.stdout.splitlines()[-1], done.stdout + done.stderr
    if promised:
        assert "was skipped: Skipped: no fuel" in done.stdout


def test_ci_installs_what_it_promises() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "export CARETBENCH_REQUIRE=ray,axe " in script
    assert "SETUP_EXTRAS=ray" in script
    assert "-m tests.support.axe\n" in script
