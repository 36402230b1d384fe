"""Locks on files and folders, held by processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from caretbench.file_locks import lock_file, locked_folder

_HOLDER = """
import sys, time
from pathlib import Path
from caretbench.file_locks import lock_file, locked_folder
kind, place = sys.argv[1], Path(sys.argv[2])
if kind == "folder":
    held = locked_folder(place)
    held.__enter__()
else:
    stream = place.open("ab")
    lock_file(stream, shared=kind == "shared")
print("held", flush=True)
time.sleep(600)
"""


def _hold(kind: str, place: Path) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, kind, str(place)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def _end(holder: subprocess.Popen[bytes]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.communicate()


def test_an_exclusive_lock_excludes_others_until_its_process_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "rows"
    holder = _hold("exclusive", place)
    with place.open("ab") as stream:
        for shared in (False, True):
            with pytest.raises(OSError, match="unavailable"):
                lock_file(stream, shared=shared, wait=False)
        _end(holder)
        lock_file(stream)


def test_shared_locks_exclude_exclusive_ones_alone(tmp_path: Path) -> None:
    place = tmp_path / "rows"
    holder = _hold("shared", place)
    with place.open("ab") as stream:
        lock_file(stream.fileno(), shared=True, wait=False)
        with pytest.raises(OSError, match="unavailable"):
            lock_file(stream, wait=False)
    _end(holder)


def test_a_folder_is_created_and_locked_and_no_descriptor_is_left(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    holder = _hold("folder", place)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BlockingIOError, match="a/b"), locked_folder(place):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    _end(holder)
    with locked_folder(place):
        assert list(place.iterdir()) == []
