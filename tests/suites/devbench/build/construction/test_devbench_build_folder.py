"""Folders that come from somebody else: nothing outside of them is written or moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.suites.devbench.build.construction.build_folder import ATTEMPTS_FILE, BuildFolder, InstanceAttempt


def attempt(instance: str) -> InstanceAttempt:
    return InstanceAttempt(request="r", track="t", scenario="s", cell="python/low_context", generator="g", attempt=1,
                           outcome="instance", instance=instance)  # fmt: skip


@pytest.mark.parametrize(
    "name", ["python/../../victim", "python/low_context/../x", "/etc/x", "python/low_context", "a/b/.c", "a/b\\c/d"]
)
def test_an_id_is_a_place_in_the_folder(name: str) -> None:
    with pytest.raises(ValueError, match="no id"):
        attempt(name)


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "python").symlink_to(tmp_path / "outside")
    folder = BuildFolder(tmp_path / "mine")
    with pytest.raises(DataError, match="leads out"):
        folder.write_instance("python/low_context/x", "a = ⟦1⟧\n", None)
    assert not list((tmp_path / "outside").iterdir())
    (tmp_path / "mine" / ATTEMPTS_FILE).symlink_to(tmp_path / "outside" / "log")
    with pytest.raises(DataError, match="it is a link"):
        folder.append(ATTEMPTS_FILE, attempt("python/low_context/x"))


def test_an_unknown_language_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown language 'cobol'"):
        BuildFolder(tmp_path).file_of("cobol/low_context/x")
