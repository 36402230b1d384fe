"""Messages about paths that cannot be written: path, cause and remedy, before anything is created."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from caretbench.cli.common import check_file_is_writable
from caretbench.errors import DataError, MachineError, check_folder_is_writable, describe_os_error
from caretbench.execution.cache.cache_folders import check_cache_is_writable
from caretbench.files import write_atomically

_USER = 64_123


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("mine")
    return path


def refused(folder: Path) -> str:
    with pytest.raises(DataError) as raised:
        check_folder_is_writable(folder)
    return str(raised.value)


def test_a_folder_that_can_be_made_is_not_made(tmp_path: Path) -> None:
    check_folder_is_writable(tmp_path / "a" / "b")
    check_folder_is_writable(tmp_path)
    check_file_is_writable(tmp_path / "a" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_named(taken: Path) -> None:
    remedy = "; choose another folder with -o"
    assert refused(taken) == f"{taken}: a file, not a folder{remedy}"
    below = taken / "run" / "one"
    assert refused(below) == f"{below}: a file, not a folder ({taken}){remedy}"
    with pytest.raises(DataError, match="a folder, not a file"):
        check_file_is_writable(taken.parent)
    assert taken.read_text() == "mine"


def test_the_folder_that_takes_no_files_is_named() -> None:
    assert "the file system is read-only (/proc)" in refused(Path("/proc/run/one"))


def test_a_folder_of_others_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(_USER)
    try:
        message = refused(folder / "run")
    finally:
        os.seteuid(user)
    assert ": permission denied (" in message


def test_a_full_disk_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert refused(tmp_path).endswith(": no space left; free space, or choose another folder with -o")


def test_an_unusable_cache_names_its_variable(taken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(taken / "cache"))
    with pytest.raises(MachineError, match=r"/file\); choose another cache \(CARETBENCH_CACHE="):
        check_cache_is_writable()


def test_an_error_while_writing_names_the_file_and_not_a_temporary_one(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_atomically(page, "text")
    assert describe_os_error(raised.value) == f"{page}: a folder, not a file; choose another path"
    assert list(tmp_path.iterdir()) == [page]


def test_errors_of_reading_keep_the_words_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        (tmp_path / "absent").read_text()
    assert describe_os_error(raised.value) == f"{tmp_path / 'absent'}: No such file or directory"
