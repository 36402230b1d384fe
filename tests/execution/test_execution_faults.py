"""Faults: processes that are killed, disks that are full, files that are damaged, clocks that jump.

The programs' verdicts are known. Whatever happens, a verdict is the known one or there is none, and in the end every
row stands in its file exactly once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from caretbench import execution
from caretbench.errors import MachineError
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.files import cache_folder
from caretbench.problem import Score
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.score import REFERENCE
from caretbench.runs.verdict import EXECUTION_SCORER
from tests.support import fault_programs
from tests.support.fault_programs import completions, languages, problems, requests, score, wanted
from tests.support.project_files import open_folder

KILLS = 20
COPIES = 4


@pytest.fixture(scope="module", autouse=True)
def _walls() -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody can reach, as the cache is."""
    with open_folder() as folder:
        yield folder


def run_all(
    asked: Sequence[ExecutionRequest], cache: ResultCache, sandbox: Sandbox | None = None
) -> list[ExecutionResult]:
    """Results of all; every one is as it must be."""
    box = sandbox or Sandbox()
    try:
        results = list(LocalExecutor(8, cache=cache, sandbox=box).submit(asked))
    finally:
        if sandbox is None:
            box.close()
    check(asked, results)
    return results


def check(asked: Sequence[ExecutionRequest], results: Sequence[ExecutionResult]) -> None:
    assert Counter(result.id for result in results) == Counter(request.id for request in asked)
    wrong = [result for result in results if result.status.value != wanted(result.id)]
    assert not wrong, wrong[:3]


def check_rows(folder: Path, copies: int = COPIES) -> None:
    """Every answer of the run has exactly one row, with the verdict that its model is named after."""
    rows = [row for row in RunFolder(folder).scores() if row.scorer.startswith(EXECUTION_SCORER)]
    assert set(Counter(row.key for row in RunFolder(folder).scores()).values()) == {1}
    assert {row.completion_key for row in rows} == {row.key for row in RunFolder(folder).completions()}
    assert len(rows) == len(list(completions(copies))) + len(problems())
    assert not [row for row in rows if not row.counted]
    assert not [row for row in rows if row.outcome != known(row)]


def known(row: Score) -> str:
    return "passed" if row.model == REFERENCE else row.model.removeprefix("says ")


# --- processes that are killed --------------------------------------------------------------------------------


def command(folder: Path, *words: str, copies: int = COPIES) -> list[str]:
    program = Path(fault_programs.__file__)
    return [sys.executable, str(program), str(folder), str(copies), *words]


def cache_at(folder: Path) -> Path:
    """An empty cache that knows the bundles and tools of this machine."""
    ours = cache_folder()
    folder.mkdir(exist_ok=True, mode=0o755)
    for name in ("bundles", "dotnet", "tools"):
        if (ours / name).is_dir() and not (folder / name).exists():
            (folder / name).symlink_to(ours / name)
    return folder


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "CARETBENCH_CACHE": str(cache)}


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.long
def test_a_scoring_run_is_killed_twenty_times(place: Path) -> None:
    moments = random.Random(11)  # noqa: S311 - moments, no secrets
    killed = finished = 0
    is_whole = False  # the last run was not killed, so that its cache has no remains
    while killed < KILLS or not is_whole:
        folder, cache = place / f"run{finished}", cache_at(place / f"cache{finished}")
        process = subprocess.Popen(
            command(folder), env=environment(cache), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        before = size(RunFolder(folder).scores_path)
        # Most moments fall into the scoring, some into the start.
        while killed % 4 and killed < KILLS and process.poll() is None:
            if size(RunFolder(folder).scores_path) != before:
                break
            time.sleep(0.02)
        try:
            _, said = process.communicate(timeout=moments.uniform(0.1, 0.8) if killed < KILLS else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed, is_whole = killed + 1, False
            rows = list(RunFolder(folder).scores())
            assert max(Counter(row.key for row in rows).values(), default=1) == 1
            assert not [row for row in rows if row.scorer.startswith(EXECUTION_SCORER) and row.outcome != known(row)]
            continue
        assert process.returncode == 0, said.decode()
        check_rows(folder)
        finished, is_whole = finished + 1, True
    assert not list(place.glob("cache*/artefacts/.building-*"))


class Killer:
    """Kills what ``victims`` names, so many times at random moments, while the block runs."""

    def __init__(self, times: int, victims: Callable[[], Sequence[int]], pause_s: tuple[float, float]) -> None:
        self.kills = 0
        self._times = times
        self._victims = victims
        self._pause_s = pause_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def _kill(self) -> None:
        moments = random.Random(5)  # noqa: S311 - moments, no secrets
        while self.kills < self._times and not self._ended.wait(moments.uniform(*self._pause_s)):
            victims = self._victims()
            if victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(moments.choice(victims), signal.SIGKILL)
                    self.kills += 1

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def until_killed(killer: Killer, times: int, cache: ResultCache, sandbox: Sandbox, chosen: str) -> None:
    """Rounds of new programs until there were so many kills."""
    for number in itertools.count(1):
        if killer.kills >= times:
            return
        assert number < 40
        asked = [
            request.model_copy(update={"source": f"{request.source}{_note(request)} round {number}\n"})
            for request in requests(2, shuffled=number)
            if re.match(chosen, request.id)
        ]
        while asked:
            results = list(LocalExecutor(8, cache=cache, sandbox=sandbox).submit(asked))
            # A program that lost its sandbox three times has no verdict, and is asked for again.
            lost = {result.id for result in results if result.status is Status.SANDBOX_ERROR}
            again = [request for request in asked if request.id in lost]
            check(
                [request for request in asked if request.id not in lost],
                [result for result in results if result.id not in lost],
            )
            assert len(again) < len(asked) or killer.kills < times
            asked = again


def _note(request: ExecutionRequest) -> str:
    return "#" if request.language == "python" else "//"


@pytest.mark.long
def test_warm_sandboxes_are_killed_five_times(place: Path) -> None:
    sandbox = Sandbox()

    def warm() -> list[int]:
        return [worker._process.pid for worker in list(sandbox._workers._workers.values())]

    with Killer(5, warm, (0.3, 1.2)) as killer:
        until_killed(killer, 5, ResultCache(place), sandbox, "python|javascript")
    sandbox.close()


@pytest.mark.long
def test_compile_servers_are_killed_five_times(place: Path) -> None:
    if not {"typescript", "java", "csharp"} & set(languages()):
        pytest.skip("no language here has a compile server")
    sandbox = Sandbox()

    def compilers() -> list[int]:
        """Return the compilers outside of warm sandboxes: servers, and single compilers."""
        warm = {worker._process.pid for worker in list(sandbox._workers._workers.values())}
        inside = {pid for keeper in warm for pid in (keeper, *descendants(keeper))}
        return [pid for pid in descendants(os.getpid()) if pid not in inside]

    with Killer(5, compilers, (0.8, 2.0)) as killer:
        until_killed(killer, 5, ResultCache(place), sandbox, "typescript|java |csharp")
    sandbox.close()


# --- a disk that is full --------------------------------------------------------------------------------------


class SmallDisk:
    """A file system of its own that can be filled up to so many bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / ".filler"

    def leave(self, kilobytes: int) -> None:
        """Fill it but for so much."""
        known = os.statvfs(self.folder)
        wanted = known.f_bavail * known.f_frsize - (kilobytes << 10)
        with self._filler.open("ab") as stream:
            os.posix_fallocate(stream.fileno(), 0, max(wanted, 1))

    def free(self) -> None:
        """Give the space back."""
        self._filler.unlink(missing_ok=True)


@pytest.fixture
def disk(place: Path) -> Iterator[SmallDisk]:
    folder = place / "disk"
    folder.mkdir(mode=0o755)
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("needs root, to mount a small disk")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=48m,mode=755", "none", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no disk can be mounted: {done.stderr.strip()}")
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607


@pytest.mark.long
def test_the_caches_disk_is_full(disk: SmallDisk) -> None:
    folder = disk.folder / "cache"
    folder.mkdir(mode=0o755)
    asked = requests(1)
    full = 0
    for kilobytes in (0, 40, 400):
        disk.leave(kilobytes)
        sandbox = Sandbox()
        given: list[ExecutionResult] = []
        try:
            cache = ResultCache(folder)
            given.extend(LocalExecutor(8, cache=cache, sandbox=sandbox).submit(asked))
        except MachineError as error:
            full += 1
            said = str(error)
            assert str(folder) in said
            assert re.search(r"no space left|disk is full|disk I/O|unable to open", said, re.IGNORECASE), said
        finally:
            sandbox.close()
        wrong = [result for result in given if result.status.value not in (wanted(result.id), "sandbox_error")]
        assert not wrong, (kilobytes, wrong[:2])
        disk.free()
        shutil.rmtree(folder / "artefacts", ignore_errors=True)
    assert full >= 2
    cache = ResultCache(folder)
    run_all(asked, cache)
    run_all([request.model_copy(update={"repeat": 1}) for request in asked], cache)
    assert not list(folder.glob("artefacts/.building-*"))


@pytest.mark.long
def test_the_runs_disk_is_full(disk: SmallDisk, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(cache_at(place / "cache")))
    folder = disk.folder / "run"
    full = 0
    for kilobytes in (0, 8, 20):
        disk.leave(kilobytes)
        try:
            score(folder, 2)
        except OSError as error:
            full += 1
            assert error.strerror == "No space left on device"  # noqa: PT017
            assert Path(error.filename).parent.is_relative_to(disk.folder)  # noqa: PT017
        for path in (RunFolder(folder).scores_path, RunFolder(folder).completions_path):
            assert not path.exists() or path.read_bytes()[-1:] in (b"", b"\n")
        disk.free()
    assert full >= 2
    score(folder, 2)
    check_rows(folder, 2)


# --- files that are damaged -----------------------------------------------------------------------------------


def _verdicts(folder: Path) -> Path:
    [file] = folder.glob("verdicts*.sqlite")
    return file


def _flip_rows(folder: Path) -> None:
    """A byte in each verdict's text."""
    with contextlib.closing(sqlite3.connect(_verdicts(folder), isolation_level=None)) as connection:
        for key, data in connection.execute("SELECT key, CAST(result AS BLOB) FROM verdicts").fetchall():
            changed = bytes(data).replace(b"passed", b"failed") if b"passed" in bytes(data) else b"!" + bytes(data)[1:]
            connection.execute("UPDATE verdicts SET result = ? WHERE key = ?", (changed, key))


def _flip_pages(folder: Path) -> None:
    """Bytes all over the file."""
    file = _verdicts(folder)
    data = bytearray(file.read_bytes())
    for place in range(200, len(data), 997):
        data[place] ^= 0xFF
    file.write_bytes(data)


def _halve(folder: Path) -> None:
    file = _verdicts(folder)
    os.truncate(file, file.stat().st_size // 2)


def _of_artefacts(folder: Path) -> list[Path]:
    """Their files; the verdicts are forgotten, so that they are needed."""
    with contextlib.closing(sqlite3.connect(_verdicts(folder), isolation_level=None)) as connection:
        connection.execute("DELETE FROM verdicts")
    return [place for place in folder.glob("artefacts/??/*/**/*") if place.is_file()]


def _truncate_artefacts(folder: Path) -> None:
    for file in _of_artefacts(folder):
        os.truncate(file, file.stat().st_size // 2)


def _delete_artefacts(folder: Path) -> None:
    for file in _of_artefacts(folder):
        file.unlink()


def _exchange_artefacts(folder: Path) -> None:
    """Each holds another's files of the same names: what failed may pass now."""
    by_name: dict[str, list[Path]] = {}
    for file in _of_artefacts(folder):
        by_name.setdefault(file.name, []).append(file)
    for files in by_name.values():
        contents = [file.read_bytes() for file in files]
        for file, content in zip(files, [*contents[1:], contents[0]], strict=True):
            file.unlink()
            file.write_bytes(content)
            file.chmod(0o755)


@pytest.mark.long
@pytest.mark.parametrize(
    "damages",
    [
        (_flip_rows, _flip_pages, _halve, lambda folder: _verdicts(folder).write_bytes(b"")),
        (_truncate_artefacts, _delete_artefacts, _exchange_artefacts),
    ],
    ids=["verdicts", "artefacts"],
)
def test_a_damaged_cache_is_found_out(place: Path, damages: Sequence[Callable[[Path], object]]) -> None:
    asked = [request for request in requests(1) if wanted(request.id) != Status.TIMEOUT]
    sandbox = Sandbox()
    cache = ResultCache(place)
    run_all(asked, cache, sandbox)
    for damage in damages:
        cache.close()
        damage(place)
        cache = ResultCache(place)
        run_all(asked, cache, sandbox)
        again = run_all(asked, cache, sandbox)
        assert sum(result.cached for result in again) >= 0.9 * len(again)
    sandbox.close()
    cache.close()


# --- a clock that jumps ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_clock_of_the_day_jumps(place: Path) -> None:
    cache = cache_at(place / "cache")
    folder = place / "run"
    for run in (folder, folder, place / "another"):  # new, gone on with, and from the cache
        subprocess.run(command(run, "jump", copies=1), env=environment(cache), check=True)
        check_rows(run, 1)


def test_no_bound_of_time_looks_at_the_clock_of_the_day() -> None:
    """The clock of the day only decides which cache entries are unused."""
    known = {"result_cache.py", "snapshot_store.py", "stored_kinds.py"}
    room = Path(execution.__file__).parent
    clocks = re.compile(
        r"\btime\.time\(|\bdatetime\.now\(|\bDate\.now\(|currentTimeMillis|DateTime\.(?:Utc)?Now|CLOCK_REALTIME"
    )
    found = {
        path.name
        for path in room.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".toml") and clocks.search(path.read_text("utf-8", "replace"))
    }
    assert found <= known, found - known
