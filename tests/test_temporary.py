"""Temporary folders: what a killed process leaves is removed, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench import file_locks
from caretbench.build.sources.git.git_repository import open_repository as opened_clone
from caretbench.execution.cache.result_cache import open_cache as opened_cache
from caretbench.file_locks import remove_leftover_folders, temporary_folder
from tests.support.efcb_changes import write_history

HOLDING = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import open_cache as cache
from caretbench.build.sources.git.git_repository import open_repository as clone
with clone(Path(sys.argv[1])), cache(None, use_cache=False):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder that all users have in common."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield place
    tempfile.tempdir = None


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    history = write_history(tmp_path / "widgets", 2)
    history.write()
    return history.folder


def test_a_killed_run_leaves_folders_that_the_next_removes(shared: Path, clone: Path) -> None:
    command = (sys.executable, "-c", HOLDING, str(clone))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        left = {*shared.iterdir()}
        assert len(left) == 2
        remove_leftover_folders()
        assert {*shared.iterdir()} == left, "their process lives"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert {*shared.iterdir()} == left
    with opened_clone(clone):
        assert len([*shared.iterdir()]) == 1
    assert not [*shared.iterdir()]


def test_a_verdict_cache_of_one_run_removes_what_another_left(shared: Path) -> None:
    left = shared / "caretbench-tmp-cache-killed"
    (left / "artefacts").mkdir(parents=True)
    with opened_cache(None, use_cache=False):
        assert not left.exists()
        assert [*shared.iterdir()]
    assert not [*shared.iterdir()]


def test_links_files_and_folders_of_others_stay(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    (shared / "caretbench-tmp-link").symlink_to(precious)
    (shared / "caretbench-tmp-file").write_text("a file")
    (shared / "caretbench-box-other").mkdir()
    remove_leftover_folders()
    assert len([*shared.iterdir()]) == 3
    assert (precious / "thesis").exists()
    theirs = shared / "caretbench-tmp-theirs"
    theirs.mkdir()
    with monkeypatch.context() as another:
        another.setattr(file_locks.os, "geteuid", lambda: os.getuid() + 1)
        remove_leftover_folders()
    assert theirs.exists()
    remove_leftover_folders()
    assert not theirs.exists()


def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tempfile.mkdtemp

    def stolen(*arguments: str | None) -> str:
        place = made(*arguments)
        monkeypatch.setattr(tempfile, "mkdtemp", made)
        Path(place).rmdir()
        return place

    monkeypatch.setattr(tempfile, "mkdtemp", stolen)
    with temporary_folder("test") as folder:
        assert folder.is_dir()
        assert [*shared.iterdir()] == [folder]
