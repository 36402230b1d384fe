"""The download of the release: pinned files of two repositories, from the network or from clones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import respx
from typer.testing import CliRunner

from caretbench.build import load_builder
from caretbench.cli import app
from caretbench.download import PinnedFile, download_file
from caretbench.files import DataError
from caretbench.suites.simcopilot.build import builder as downloads
from caretbench.suites.simcopilot.build.builder import HOST, RepositoryFile, pinned_files
from caretbench.suites.simcopilot.released import spans
from caretbench.suites.simcopilot.released.spans import RELEASE_REVISION, released_folder, released_tests

_PROGRAM = b"print(1)\n"
_BLOB = hashlib.sha1(b"blob 6\0large\n", usedforsecurity=False).hexdigest()
FILES = (
    RepositoryFile(PinnedFile("example/one.py", len(_PROGRAM), hashlib.sha256(_PROGRAM).hexdigest()), "o/New", "c1"),
    RepositoryFile(PinnedFile("labels/one.csv", 2, hashlib.sha256(b"a\n").hexdigest()), "o/Old", "c2"),
    RepositoryFile(PinnedFile("example/large.csv", git_blob=_BLOB), "o/Old", "c2"),
)


@pytest.fixture(autouse=True)
def few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins: dict[str, dict[str, dict[str, object]]] = {}
    for one in FILES:
        pin = {name: value for name, value in one.file._asdict().items() if value}
        pins.setdefault(f"{one.repository}@{one.commit}", {})[one.file.path] = pin
    monkeypatch.setattr(downloads, "pinned_files", lambda: FILES)
    monkeypatch.setattr(spans, "released_files", lambda: pins)
    monkeypatch.setattr(spans, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setitem(download_file.__kwdefaults__, "pause", lambda _seconds: None)  # 14 s for a file that is absent


def pull(source: Path | None = None, progress: Callable[[int, int], None] = lambda _added, _total: None) -> Path:
    return load_builder("simcopilot").pull(source, [], progress)


def route(entry: RepositoryFile) -> str:
    return f"{HOST}/{entry.repository}/{entry.commit}/{entry.file.path}"


def test_pinned_files_are_in_two_repositories_and_cover_all_programs() -> None:
    files = pinned_files()
    assert {entry.commit for entry in files if entry.clone_name == "Sim-CoPilot"} == {RELEASE_REVISION}
    assert {entry.repository for entry in files} == {"mj33rice/Sim-CoPilot", "mj33rice/SimCoPilot"}
    folders = {entry.file.path.rpartition("/")[0] for entry in files}
    assert {program.folder for program in released_tests().programs.values()} <= folders
    assert [entry.file.path.rpartition("/")[2] for entry in files if entry.is_optional] == [
        "allWordsBig", "bankfullclean.csv",
    ]  # fmt: skip


@respx.mock
def test_a_pull_fetches_what_is_missing_and_resumes() -> None:
    contents = dict(zip(FILES, (_PROGRAM, b"a\n", b"large\n"), strict=True))
    routes = {entry: respx.get(route(entry)).respond(content=content) for entry, content in contents.items()}
    routes[FILES[1]].side_effect = [httpx.Response(404)] * 4
    with pytest.raises(DataError, match=r"(?s)labels/one\.csv.*GitHub.*--from"):
        pull()
    with pytest.raises(DataError, match=r"1 files .*pull simcopilot"):
        released_folder()
    routes[FILES[1]].side_effect = [httpx.Response(200, content=b"a\n")]
    folder = pull()
    assert released_folder() == folder
    assert {entry.file.path: (folder / entry.file.path).read_bytes() for entry in FILES} == {
        entry.file.path: content for entry, content in contents.items()
    }
    assert routes[FILES[0]].call_count == 1  # it was there


@respx.mock
def test_the_large_inputs_may_be_missing_but_not_wrong() -> None:
    for entry, content in zip(FILES, (_PROGRAM, b"a\n", b"other\n"), strict=True):
        respx.get(route(entry)).respond(content=content)
    folder = pull()
    assert not (folder / "example/large.csv").exists()
    assert released_folder() == folder


def test_clones_are_copied_and_a_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "New" / "example").mkdir(parents=True)
    (tmp_path / "New" / "example" / "one.py").write_bytes(_PROGRAM)
    with pytest.raises(DataError, match=r"labels/one\.csv: .*New \(commit c1\)"):
        pull(source=tmp_path)
    (tmp_path / "Old" / "labels").mkdir(parents=True)
    (tmp_path / "Old" / "labels" / "one.csv").write_bytes(b"a\n")
    assert (pull(source=tmp_path) / "labels" / "one.csv").read_bytes() == b"a\n"
    with pytest.raises(DataError, match=r"nowhere: .*--from"):
        pull(source=tmp_path / "nowhere")  # though nothing but optional files is missing
    counts = []
    pull(source=tmp_path, progress=lambda added, total: counts.append((added, total)))
    assert counts == [(0, 3), (1, 3), (1, 3), (0, 3)]
    shown = CliRunner().invoke(app, ["pull", "simcopilot", "--from", str(tmp_path)])
    assert "1 optional file" in " ".join(shown.output.split())
    (tmp_path / "New" / "example" / "one.py").write_bytes(b"print(2)\n")
    (released_folder() / "example" / "one.py").unlink()
    with pytest.raises(DataError, match="not that of the pinned revision"):
        pull(source=tmp_path)


def test_no_completions_of_models_are_released() -> None:
    with pytest.raises(ValueError, match="--model gpt-4o:"):
        load_builder("simcopilot").pull(None, ["gpt-4o"], lambda _added, _total: None)
