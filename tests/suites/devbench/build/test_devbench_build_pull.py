"""Download of the released data: what is fetched again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.errors import DataError
from caretbench.suites.devbench import released_problems
from caretbench.suites.devbench.build import builder as downloads
from caretbench.suites.devbench.released_problems import released_folder

TEXTS = {"benchmark/a.jsonl": b"one\n", "benchmark/b.jsonl": b"two\n"}


def release(root: Path) -> Path:
    for name, text in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text)
    return root


@pytest.fixture
def _two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: {"size": len(text), "sha256": hashlib.sha256(text).hexdigest()} for name, text in TEXTS.items()}
    for module in (released_problems, downloads):
        monkeypatch.setattr(module, "released_files", lambda: files)
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_two_files")
def test_files_that_are_missing_or_differ_are_fetched_and_no_others(tmp_path: Path) -> None:
    source = release(tmp_path / "source")
    with pytest.raises(DataError):
        released_folder()
    pull = load_builder("devbench").pull
    folder = pull(source, [], lambda _added, _total: None)
    assert folder == released_folder()
    assert {name: (folder / name).read_bytes() for name in TEXTS} == TEXTS
    damaged, complete = TEXTS
    (folder / damaged).write_bytes(b"cut")
    (source / complete).unlink()  # it could not be fetched again
    pull(source, [], lambda _added, _total: None)
    assert (folder / damaged).read_bytes() == TEXTS[damaged]
