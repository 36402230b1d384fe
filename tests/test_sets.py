"""What all tests share by tests/conftest.py: the three sets, and suites that are forgotten behind each file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import MAX_SMOKE_FILES

ROOT = Path(__file__).parents[1]

FILES = {
    "test_length.py": """
import pytest
@pytest.mark.long
def test_far(): ...
@pytest.mark.dear
def test_costly(): ...
@pytest.mark.data
def test_released(): ...
def test_near(): ...
def test_next(): ...
""",
    "test_marks.py": """
import pytest
def test_first(): ...
@pytest.mark.smoke
def test_chosen(): ...
""",
    "test_registers.py": """
from caretbench.suites import load_suite, register
from tests.support.instructed import Instructed
def test_registers():
    register(Instructed)
    assert load_suite("instructed").name == "instructed"
    assert load_suite("efcb").name == "efcb"
""",
    "test_sees.py": """
from caretbench.suites import load_suite, suite_names
def test_sees():
    assert "instructed" not in suite_names()
    assert load_suite("efcb").name == "efcb"
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four files with tests, which share our conftest.py."""
    made = tmp_path_factory.mktemp("sets")
    for name, text in FILES.items():
        (made / name).write_text(text)
    (made / "pytest.ini").write_text("[pytest]\nmarkers =\n    data\n    dear\n    long\n    smoke\n")
    return made


def ran(folder: Path, *arguments: str) -> str:
    """The output of pytest."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_smoke_is_what_a_file_marks_or_its_first_test_that_is_neither_long_nor_dear(folder: Path) -> None:
    names = re.findall(r"::test_(\w+)", ran(folder, "-q", "--collect-only", "-m", "smoke"))
    assert names == ["near", "chosen", "registers", "sees"]


def test_a_large_folder_has_so_many_files_with_a_smoke_test(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    long\n    smoke\n")
    for number in range(MAX_SMOKE_FILES + 3):
        (tmp_path / f"test_{number}.py").write_text(f"def test_{number}(): ...\n")
    (tmp_path / "test_marked.py").write_text(FILES["test_marks.py"])
    names = re.findall(r"::test_(\w+)", ran(tmp_path, "-q", "--collect-only", "-m", "smoke"))
    assert "chosen" in names
    assert len(names) == MAX_SMOKE_FILES


def test_a_file_leaves_no_suite_behind_and_the_summary_is_the_last_line(folder: Path) -> None:
    said = ran(folder, "-v", "-m", "not long")
    names = ["costly", "released", "near", "next", "first", "chosen", "registers", "sees"]
    assert re.findall(r"::test_(\w+) (\w+)", said) == [(name, "PASSED") for name in names]
    assert re.search(r"=+ 8 passed, 1 deselected in [\d.]+s.* =+$", said.rstrip().splitlines()[-1])


@pytest.mark.smoke
def test_targets_run_the_three_sets() -> None:
    """``make check`` ends with the summary of pytest, which CI reads."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    rules = dict(re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    chosen = {target: re.findall(r"pytest -m (\w+|'[^']+')", rule) for target, rule in rules.items()}
    assert chosen["test"] == ["smoke"]
    assert chosen["test-most"] == chosen["quick"] == ["'not long'"]
    assert chosen["test-long"] == ["long"]
    assert rules["check"].rstrip().splitlines()[-1] == "\t@$(MAKE) --no-print-directory test-most"
