"""Download of the released data: what is fetched again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from caretbench.download import PinnedFile
from caretbench.errors import DataError
from caretbench.suites.devbench import pull as released

TEXTS = {"benchmark/a.jsonl": b"one\n", "benchmark/b.jsonl": b"two\n"}


def release(root: Path) -> Path:
    for name, text in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text)
    return root


@pytest.fixture
def _two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [PinnedFile(name, len(text), hashlib.sha256(text).hexdigest()) for name, text in TEXTS.items()]
    monkeypatch.setattr(released, "pinned_files", lambda _models=(): files)
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_two_files")
def test_files_that_are_missing_or_differ_are_fetched_and_no_others(tmp_path: Path) -> None:
    source = release(tmp_path / "source")
    with pytest.raises(DataError):
        released.released_folder()
    folder = released.pull(source=source)
    assert folder == released.released_folder()
    assert {name: (folder / name).read_bytes() for name in TEXTS} == TEXTS
    damaged, complete = TEXTS
    (folder / damaged).write_bytes(b"cut")
    (source / complete).unlink()  # it could not be fetched again
    released.pull(source=source)
    assert (folder / damaged).read_bytes() == TEXTS[damaged]
