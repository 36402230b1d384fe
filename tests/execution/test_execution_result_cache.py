from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.execution.cache.cache_keys import program_key, verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cache.staging_folders import folder_digest
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status

REQUEST = ExecutionRequest(id="a", language="python", source="print(1)")


def result(status: Status = Status.PASSED) -> ExecutionResult:
    return ExecutionResult(id="a", status=status, stage="run", exit_code=0)


def key(request: ExecutionRequest, toolchain: str = "t", bundle: str = "b") -> str:
    return verdict_key(request, toolchain=toolchain, bundle=bundle)


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "cache")


def test_the_key_holds_all_that_decides_and_not_the_id() -> None:
    changed: list[dict[str, Any]] = [
        {"source": "print(2)"}, {"language": "cpp"}, {"profile": "paper"}, {"variant": "common_headers"},
        {"needs": ("display",)}, {"limits": Limits(cpu_s=1)}, {"repeat": 1},
    ]  # fmt: skip
    keys = {key(REQUEST.model_copy(update=change)) for change in changed}
    assert len(keys | {key(REQUEST), key(REQUEST, toolchain="u"), key(REQUEST, bundle="c")}) == len(changed) + 3
    assert key(REQUEST.model_copy(update={"id": "z"})) == key(REQUEST)
    limited = REQUEST.model_copy(update={"limits": Limits(cpu_s=1), "repeat": 2})
    assert program_key(limited, toolchain="t", bundle="b") == program_key(REQUEST, toolchain="t", bundle="b")


def test_a_verdict_comes_back_marked(cache: ResultCache) -> None:
    assert cache.get("k", ExecutionResult) is None
    assert cache.store("k", REQUEST, result())
    assert cache.get("k", ExecutionResult) == result().model_copy(update={"cached": True})


def test_only_verdicts_that_would_come_out_the_same_are_kept(cache: ResultCache) -> None:
    for status in Status:
        assert cache.store(status.value, REQUEST, result(status)) is status.is_repeatable
    for status in (Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.SANDBOX_ERROR, Status.SKIPPED):
        assert cache.get(status.value, ExecutionResult) is None


@pytest.mark.parametrize(
    ("reason", "cpu_s", "signal_number", "stage", "run_s", "kept"),
    [
        ("it ran for longer than 60 s", 0.3, None, "run", 60.0, True),  # it waited
        ("it ran for longer than 3 s", 0.3, None, "run", 3.0, False),  # too short to tell
        ("it ran for longer than 60 s", 9.0, None, "run", 60.0, False),  # the machine may have been busy
        ("it used more than 15 s of CPU", 15.1, signal.SIGXCPU, "run", 15.2, True),
        ("it used more than 15 s of CPU", 17.2, None, "run", 20.0, True),
        ("", 0.0, None, "run", 60.0, False),
        ("it ran for longer than 120 s", 0.3, None, "compile", 120.0, False),
    ],
)
def test_a_timeout_is_kept_where_load_had_no_part_in_it(
    cache: ResultCache, reason: str, cpu_s: float, signal_number: int | None, stage: str, run_s: float, kept: bool
) -> None:
    late = ExecutionResult.model_validate(
        {
            "id": "0", "status": "timeout", "stage": stage, "reason": reason, "cpu_s": cpu_s,
            "signal": signal_number, "run_s": run_s,
        }
    )  # fmt: skip
    assert cache.store("k", REQUEST, late) is kept
    if stage == "run":
        checked = late.model_copy(update={"status": Status.TYPE_ERROR, "run_status": Status.TIMEOUT})
        assert cache.store("l", REQUEST, checked) is kept


def test_a_row_of_another_version_counts_as_absent(cache: ResultCache) -> None:
    cache.store("k", REQUEST, result())
    with sqlite3.connect(cache.folder / "verdicts.sqlite") as connection:
        connection.execute("UPDATE verdicts SET result = '{\"unknown\": 1}'")
    connection.close()
    assert cache.get("k", ExecutionResult) is None


def test_artefacts_appear_whole_and_the_first_stays(cache: ResultCache) -> None:
    for text in ("first", "second"):
        with cache.artefact_staging_folder() as folder:
            built = folder / "0"
            built.mkdir()
            (built / "program").write_text(text)
            assert (cache.store_artefact("ab12", built) / "program").read_text() == "first"
    kept = cache.artefact("ab12")
    assert kept is not None
    assert cache.artefact("cd34") is None
    assert not list((cache.folder / "artefacts").glob(".building-*"))


def test_statistics_and_removal_of_verdicts(cache: ResultCache) -> None:
    for number, language in enumerate(["python", "python", "cpp"]):
        cache.store(str(number), REQUEST.model_copy(update={"language": language}), result())
    with cache.artefact_staging_folder() as folder:
        (folder / "0").mkdir()
        (folder / "0" / "program").write_bytes(bytes(1000))
        cache.store_artefact("00ff", folder / "0")
    found = cache.statistics()
    assert (found.verdicts, found.artefacts, found.artefact_bytes) == (3, 1, 1000)
    assert found.by_language == {"python": 2, "cpp": 1}
    assert cache.last_verdict() == pytest.approx(time.time(), abs=60)
    assert cache.prune_verdicts(language="cpp")[0] == 1
    assert cache.prune_verdicts(unused_days=1) == (0, 0)
    bound = cache.statistics().verdict_bytes // 2
    assert cache.prune_verdicts(keep_bytes=bound)[0] == 1
    assert cache.statistics().verdict_bytes <= bound
    assert cache.prune_verdicts(unused_days=0)[0] == 1
    assert cache.last_verdict() is None
    cache.clear()
    assert cache.statistics().artefacts == 0


_WRITER = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult
cache = ResultCache(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    request = ExecutionRequest(id=str(number), language="python", source=str(number))
    cache.store(str(number), request, ExecutionResult(id=str(number), status="passed", stage="run"))
    with cache.artefact_staging_folder() as folder:
        (folder / "0").mkdir()
        (folder / "0" / "program").write_text("whole")
        cache.store_artefact(f"{number:04x}", folder / "0")
    print(number, flush=True)
"""


def _writer(folder: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_write_at_a_time(tmp_path: Path) -> None:
    writers = [_writer(tmp_path, 100), _writer(tmp_path, 100)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    found = ResultCache(tmp_path).statistics()
    assert (found.verdicts, found.artefacts) == (100, 100)


_OPENER = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    ResultCache(Path(sys.argv[1]) / str(number))
"""


def test_processes_open_new_caches_at_the_same_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPENER, str(tmp_path)]
    pipe = subprocess.PIPE
    openers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    for opener in openers:
        _, errors = opener.communicate(timeout=60)
        assert opener.returncode == 0, errors


def test_a_killed_writer_leaves_a_sane_cache(tmp_path: Path) -> None:
    writer = _writer(tmp_path, 100_000)
    assert writer.stdout is not None
    for _ in range(20):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    cache = ResultCache(tmp_path)
    found = cache.statistics()
    assert found.verdicts >= 20
    for number in range(found.artefacts):
        place = cache.artefact(f"{number:04x}")
        assert place is not None
        assert (place / "program").read_text() == "whole"
    assert cache.store("another", REQUEST, result())


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "verdicts.sqlite").write_bytes(b"no database at all, but long enough to be looked at" * 40)
    cache = ResultCache(tmp_path)
    assert cache.get("k", ExecutionResult) is None
    assert cache.store("k", REQUEST, result())
    cache.close()
    assert ResultCache(tmp_path).get("k", ExecutionResult) is not None
    assert [place.name for place in tmp_path.glob("*.sqlite")] == ["verdicts-1.sqlite"]


def test_a_file_is_damaged_while_two_have_it_open(tmp_path: Path) -> None:
    first, second = ResultCache(tmp_path), ResultCache(tmp_path)
    for number in range(2000):
        first.store(str(number), REQUEST, result())
    first._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = tmp_path / "verdicts.sqlite"
    size = file.stat().st_size
    with file.open("r+b") as stream:  # what a disk gives back that has lost its pages
        stream.seek(4096)
        stream.write(b"\xa5" * (size - 4096))
    for cache in (first, second):
        cache._file.execute("PRAGMA cache_size = 0")
        cache._file.execute("PRAGMA shrink_memory")
        for number in range(50):
            cache.get(str(number), ExecutionResult)
    assert first.store("new", REQUEST, result())
    assert second.get("new", ExecutionResult) is not None
    assert second.store("newer", REQUEST, result())
    first.close()
    second.close()
    third = ResultCache(tmp_path)
    assert third.get("new", ExecutionResult) is not None
    assert third.get("newer", ExecutionResult) is not None


@pytest.mark.parametrize("column", ["result", "used", "status"])
def test_flipped_bytes_of_a_row_count_as_absent_or_do_not_matter(cache: ResultCache, column: str) -> None:
    failed = result(Status.FAILED)
    cache.store("k", REQUEST, failed)
    [(stored,)] = cache._file.execute(f"SELECT CAST({column} AS BLOB) FROM verdicts")  # noqa: S608
    for place in range(len(stored)):
        damaged = bytearray(stored)
        damaged[place] ^= 0x81
        cache._file.execute(f"UPDATE verdicts SET {column} = ?", (bytes(damaged),))  # noqa: S608
        found = cache.get("k", ExecutionResult)
        assert found is None if column == "result" else found == failed.model_copy(update={"cached": True})
        assert cache.statistics().verdicts == 1
        cache.store("k", REQUEST, failed)


def test_a_row_under_another_key_counts_as_absent(cache: ResultCache) -> None:
    cache.store("k", REQUEST, result())
    cache._file.execute("UPDATE verdicts SET key = 'l'")
    assert cache.get("l", ExecutionResult) is None


def _built(cache: ResultCache, text: bytes = b"built") -> Path:
    with cache.artefact_staging_folder() as folder:
        (folder / "0" / "inner").mkdir(parents=True)
        (folder / "0" / "program").write_bytes(text)
        (folder / "0" / "inner" / "library").write_bytes(text)
        return cache.store_artefact("ab12", folder / "0")


def _longer(place: Path) -> None:
    with (place / "program").open("ab") as stream:
        stream.write(b"!")


_DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda place: os.truncate(place / "program", 2),
    "longer": _longer,
    "flipped": lambda place: (place / "inner" / "library").write_bytes(b"buimt"),
    "deleted": lambda place: (place / "inner" / "library").unlink(),
    "emptied": lambda place: shutil.rmtree(place / "inner"),
    "added": lambda place: (place / "more").touch(),
    "swapped": lambda place: (place / "program").unlink() or (place / "program").symlink_to("inner/library"),
    "not executable any more": lambda place: (place / "program").chmod(0o755),
    "a file": lambda place: shutil.rmtree(place) or place.write_bytes(b"built"),
    "a link": lambda place: place.rename(place.with_name("aside")) and place.symlink_to("aside"),
}


@pytest.mark.parametrize("damage", _DAMAGES)
def test_a_damaged_artefact_is_built_again(cache: ResultCache, damage: str) -> None:
    place = _built(cache)
    assert cache.artefact("ab12") == place
    _DAMAGES[damage](place)
    found = cache.artefact("ab12")
    if damage == "a link":
        assert found is None or folder_digest(found) == folder_digest(place)
        return
    assert found is None
    assert not os.path.lexists(place)
    assert _built(cache) == place
    assert cache.artefact("ab12") == place


def test_two_builds_of_one_program_may_differ(cache: ResultCache) -> None:
    _built(cache, b"one date")
    _built(cache, b"another")
    kept = cache.artefact("ab12")
    assert kept is not None
    assert (kept / "program").read_bytes() == b"one date"


def test_what_is_being_built_is_not_swept_whatever_the_clock_says(
    cache: ResultCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cache.artefact_staging_folder() as folder:
        monkeypatch.setattr(time, "time", lambda: 4e9)
        os.utime(folder, (0, 0))
        ResultCache(cache.folder)
        assert folder.is_dir()


def test_what_a_killed_process_was_building_is_swept(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom caretbench.execution.cache.result_cache import ResultCache\n"
        "with ResultCache(Path(sys.argv[1])).artefact_staging_folder() as folder:\n"
        "    (folder / 'half').touch()\n    print(folder, flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    ResultCache(tmp_path)
    assert folder.is_dir()
    process.kill()
    process.communicate()
    ResultCache(tmp_path)
    assert sorted(place.name for place in (tmp_path / "artefacts").iterdir()) == [".sweeping"]


def test_a_full_disk_is_said_in_words(cache: ResultCache) -> None:
    cache._file.execute("PRAGMA max_page_count = 1")
    long = result().model_copy(update={"diagnostics": "x" * 100_000})
    with pytest.raises(MachineError, match="is full"):
        cache.store("k", REQUEST, long)


@pytest.mark.parametrize(
    ("exit_code", "number", "kept"), [(1, None, True), (None, 11, True), (None, 9, False), (None, None, False)]
)
def test_what_the_machine_may_have_ended_is_not_kept(
    cache: ResultCache, exit_code: int | None, number: int | None, kept: bool
) -> None:
    ended = result(Status.RUNTIME_ERROR).model_copy(update={"exit_code": exit_code, "signal": number})
    assert cache.store("k", REQUEST, ended) is kept
