"""Builds of C3-Bench in the sandbox: what is kept, what is refused, and the same bytes after a stop."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from caretbench import api
from caretbench.errors import DataError
from caretbench.execution.sandbox import bubblewrap
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.suites import load_suite
from caretbench.suites.c3bench.build import build
from caretbench.suites.c3bench.build.build_folder import C3Folder, Reject
from caretbench.suites.c3bench.suite import starter_folder

pytestmark = [
    pytest.mark.long, pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]  # fmt: skip
OPTIONS = {"max_share": 1.0, "max_scc": 12, "per_file": 4, "jobs": 1}
BROKEN = '''def unchecked(values):
    """Return the sum of the values."""
    total = 0
    for value in values:
        total += value
    return total
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    text = (starter_folder() / "functions" / "readings.py").read_text()
    checks = (starter_folder() / "functions" / "check_readings.py").read_text()
    (folder / "readings.py").write_text(text[: text.index("def moving_average")])
    (folder / "check_readings.py").write_text(checks[: checks.index("def check_moving_average")])
    (folder / "wrong.py").write_text(BROKEN)
    (folder / "check_wrong.py").write_text("def check_unchecked(candidate):\n    assert candidate([1]) == 2\n")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_stopped_build_ends_with_the_same_bytes(source: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    result = api.build_problems("c3bench", [str(source)], whole, **OPTIONS)
    assert result.usable
    assert sorted(files_of(whole)) == ["manifest.json", "problems.jsonl", "rejected.jsonl", "validity.jsonl"]
    problems = list(read_rows(whole / "problems.jsonl", Problem))
    assert {one.label("task") for one in problems} == {"icc", "scc"}
    rejects = list(read_rows(whole / "rejected.jsonl", Reject))
    [broken] = [one for one in rejects if one.stage == "tests" and one.place.startswith("source/wrong/unchecked")]
    assert (broken.place, broken.reason, broken.count) == ("source/wrong/unchecked", "reference_fails", 1)
    assert not any("wrong/unchecked" in one.id for one in problems if one.label("task") == "icc")
    again = tmp_path / "again"
    for seconds in (0.6, 1.2, 2.0, 3.0):
        _stopped_build(source, again, seconds)
    api.build_problems("c3bench", [str(source)], again, **OPTIONS)
    assert files_of(again) == files_of(whole)


def _stopped_build(source: Path, output: Path, seconds: float) -> None:
    """Start a build in a process of its own, and kill it after some seconds."""
    import signal
    import subprocess
    import sys

    program = (
        f"from caretbench import api; api.build_problems('c3bench', [{str(source)!r}], {str(output)!r}, **{OPTIONS!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_folder_with_another_build_or_something_else_is_refused(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    api.build_problems("c3bench", [str(source)], folder, max_icc=0, **OPTIONS)
    with pytest.raises(DataError, match="other sources or options"):
        api.build_problems("c3bench", [str(source)], folder, seed=5, **OPTIONS)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="contains something else"):
        api.build_problems("c3bench", [str(source)], tmp_path / "else", **OPTIONS)


def _fails(*_arguments: object) -> NoReturn:
    raise DataError("no variant")


def test_verdicts_about_changed_sources_are_not_used_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    before = C3Folder(folder).manifest()
    finished = files_of(folder)
    text = (source / "readings.py").read_text()
    (source / "readings.py").write_text("def lonely():\n    return 1\n")
    with monkeypatch.context() as patched:
        patched.setattr(build, "variant_stage", _fails)
        with pytest.raises(DataError, match="no variant"):
            api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    assert files_of(folder).items() >= finished.items(), "a build that fails leaves the finished one"
    (source / "readings.py").write_text(text)
    shutil.copy(source / "check_wrong.py", source / "old.txt")
    (source / "check_wrong.py").write_text(
        "def check_unchecked(candidate):\n    assert candidate([1]) == 1\n    assert candidate([4, 5, 6]) == 15\n"
    )
    api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    assert C3Folder(folder).manifest().material != before.material
    assert any(
        "wrong/unchecked" in one.id
        for one in load_suite("c3bench").load(str(folder)).problems
        if one.label("task") == "icc"
    )
