"""Many commands in projects: each gives one result, alike ones run once, and what the machine did wrong runs again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.build.projects.build_steps import BoundedExecutor
from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.cache.cache_keys import folder_fingerprint
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import CapturedOutput, Limits, ResultFile, Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import (
    WorkspaceExecutor,
    WorkspaceRequestKind,
    limits_from_cpu_time,
)
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

SHELL = ("/bin/sh", "-c")


@pytest.fixture(scope="module")
def project(place: Path, store: SnapshotStore) -> Snapshot:
    (place / "project").mkdir()
    (place / "project" / "number").write_text("1\n")
    (place / "project" / "test.py").write_text("assert int(open('number').read()) % 5\n")
    return store.add(place / "project")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox()
    try:
        box.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield box
    box.close()


class CountedSpaces(WorkspaceRunner):
    """Counts what really runs; ``answer`` may stand in for running."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.ran: list[str] = []
        self.at_a_time = self.most = 0
        self.answer: Callable[[WorkspaceRequest, int], WorkspaceResult | None] = lambda _request, _attempt: None
        self._counting = threading.Lock()

    def run(self, request: WorkspaceRequest, attempt: int = 1) -> WorkspaceResult:
        with self._counting:
            self.ran.append(request.id)
            self.at_a_time += 1
            self.most = max(self.most, self.at_a_time)
        try:
            return self.answer(request, attempt) or super().run(request, attempt)
        finally:
            with self._counting:
                self.at_a_time -= 1


@pytest.fixture
def workspace_runner(sandbox: Sandbox, store: SnapshotStore) -> CountedSpaces:
    return CountedSpaces(sandbox, store)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResultCache]:
    cache = ResultCache(tmp_path / "cache")
    yield cache
    cache.close()


def request(project: Snapshot, identity: str = "a", text: str = "true", **options: object) -> WorkspaceRequest:
    fields = {"id": identity, "snapshot": project.id, "command": (*SHELL, text), **options}
    return WorkspaceRequest.model_validate(fields)


def passed(request: WorkspaceRequest, attempt: int = 1) -> WorkspaceResult:
    return WorkspaceResult(id=request.id, status=Status.PASSED, exit_code=0, attempt=attempt)


# --- one result each ------------------------------------------------------------------------------------------


def test_every_patch_gives_its_verdict(workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache) -> None:
    python = walls.launcher_interpreter()[0]
    requests = [
        WorkspaceRequest(
            id=str(number), snapshot=project.id, command=(python, "test.py"), patch={"number": f"{number}\n"}
        )
        for number in range(20)
    ]
    executor = WorkspaceExecutor(3, workspace_runner=workspace_runner, cache=cache)
    results = {result.id: result for result in executor.submit(requests)}
    assert {int(name) for name, result in results.items() if result.status is Status.FAILED} == {0, 5, 10, 15}
    assert {result.status for result in results.values()} == {Status.PASSED, Status.FAILED}
    assert 2 <= workspace_runner.most <= 3
    again = list(executor.submit(requests))
    assert len(workspace_runner.ran) == 20
    assert all(result.cached for result in again)
    for result in again:
        assert result == results[result.id].model_copy(update={"cached": True})


def test_identical_requests_run_once(workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache) -> None:
    requests = [request(project, str(number), "sleep 0.2") for number in range(30)]
    results = list(WorkspaceExecutor(2, workspace_runner=workspace_runner, cache=cache).submit(requests))
    assert sorted(int(result.id) for result in results) == list(range(30))
    assert len(workspace_runner.ran) == 1
    assert sum(not result.cached for result in results) == 1


def test_repeats_and_a_forgetful_executor_run_again(workspace_runner: CountedSpaces, project: Snapshot) -> None:
    executor = WorkspaceExecutor(2, workspace_runner=workspace_runner, use_cache=False)
    for number in (0, 1, 1):
        list(executor.submit([request(project, repeat=number)]))
    assert len(workspace_runner.ran) == 3


def test_ten_thousand_requests_stream_through_a_bounded_window(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache
) -> None:
    workspace_runner.answer = passed
    asked = 0

    def requests() -> Iterator[WorkspaceRequest]:
        nonlocal asked
        for number in range(10_000):
            asked += 1
            yield request(project, str(number), patch={"number": str(number // 2)})

    most = count = 0
    for result in WorkspaceExecutor(4, workspace_runner=workspace_runner, cache=cache).submit(requests()):
        count += 1
        most = max(most, asked - count)
        assert result.status is Status.PASSED
    assert count == 10_000
    assert len(workspace_runner.ran) == 5_000
    assert most <= 4 * 4 + 1


def test_what_cannot_be_run_is_skipped_with_the_reason(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache, sandbox: Sandbox, store: SnapshotStore
) -> None:
    requests = [
        request(project, "out", patch={"../out": ""}),
        request(project, "gone", patch={"nothing": None}),
        request(project, "good"),
    ]
    executor = WorkspaceExecutor(2, workspace_runner=workspace_runner, cache=cache)
    results = {result.id: result for result in executor.submit(requests)}
    assert results["good"].status is Status.PASSED
    assert {results[name].status for name in ("out", "gone")} == {Status.SKIPPED}
    assert results["gone"].reason == "patch deletes 'nothing', which is not there"
    bare = WorkspaceRunner(sandbox, store, bundles=lambda _name: None)
    [lacking] = WorkspaceExecutor(1, workspace_runner=bare, cache=cache).submit(
        [request(project, bundle="devbench/python")]
    )
    assert lacking.status is Status.SKIPPED
    assert lacking.reason == "the bundle devbench/python is not built: caretbench deps build devbench/python"


def test_without_its_snapshot_nothing_is_asked(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache
) -> None:
    lost = WorkspaceRequest(id="a", snapshot="0" * 64, command=("true",))
    with pytest.raises(DataError, match="no snapshot 0000"):
        list(WorkspaceExecutor(2, workspace_runner=workspace_runner, cache=cache).submit([lost]))


def test_a_bundle_is_bound_and_found(
    sandbox: Sandbox, store: SnapshotStore, project: Snapshot, cache: ResultCache, tmp_path: Path
) -> None:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        (folder / "told.py").write_text("WORD = 'found'\n")
        bundle = Bundle(
            name="a/b", language="python", lock_hash="1", root=folder, read_only={"/bundle": str(folder)},
            environment={"PYTHONPATH": "/bundle"},
        )  # fmt: skip
        workspace_runner = WorkspaceRunner(sandbox, store, bundles={"a/b": bundle}.get)
        python = walls.launcher_interpreter()[0]
        command = (python, "-c", "import told; print(told.WORD)")
        asked = WorkspaceRequest(id="a", snapshot=project.id, command=command, bundle="a/b")
        [result] = WorkspaceExecutor(1, workspace_runner=workspace_runner, cache=cache).submit([asked])
        assert result.stdout.text == "found\n", result
        other = WorkspaceRunner(sandbox, store, bundles={"a/b": bundle.model_copy(update={"lock_hash": "2"})}.get)
        assert WorkspaceRequestKind(workspace_runner, cache).key(asked) != WorkspaceRequestKind(other, cache).key(asked)
    finally:
        shutil.rmtree(folder)


# --- what is ours ---------------------------------------------------------------------------------------------


def test_a_fault_of_the_sandbox_is_tried_again(
    store: SnapshotStore, project: Snapshot, cache: ResultCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Sandbox()
    box.probe()
    real, faults = box.run, iter([True, True, False])

    def run(*arguments: object, **options: object) -> object:
        result = real(*arguments, **options)  # type: ignore[arg-type]
        return result.model_copy(update={"error": "lost"}) if next(faults) else result

    monkeypatch.setattr(box, "run", run)
    [result] = WorkspaceExecutor(1, workspace_runner=WorkspaceRunner(box, store), cache=cache).submit(
        [request(project)]
    )
    assert (result.status, result.attempt) == (Status.PASSED, 3)
    box.close()


def test_what_was_held_up_runs_again_alone(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache
) -> None:
    alone: dict[str, int] = {}

    def answer(asked: WorkspaceRequest, attempt: int) -> WorkspaceResult:
        if asked.id.startswith("held") and attempt == 1:
            return WorkspaceResult(
                id=asked.id, status=Status.TIMEOUT, reason="it ran for longer than 300 s", cpu_s=20.0
            )
        if attempt > 1:
            alone[asked.id] = workspace_runner.at_a_time
        return passed(asked, attempt)

    workspace_runner.answer = answer
    requests = [
        request(project, f"{'held' if number % 3 == 0 else 'free'}{number}", patch={"number": str(number)})
        for number in range(30)
    ]
    results = list(WorkspaceExecutor(4, workspace_runner=workspace_runner, cache=cache).submit(requests))
    assert len(results) == len({result.id for result in results}) == 30
    assert {result.status for result in results} == {Status.PASSED}
    assert len(alone) == 10
    assert set(alone.values()) == {1}


def test_what_only_waited_does_not_run_again(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache
) -> None:
    workspace_runner.answer = lambda asked, _attempt: WorkspaceResult(
        id=asked.id, status=Status.TIMEOUT, reason="it ran for longer than 300 s", cpu_s=0.5, wall_s=300.0
    )
    for known in (False, True):
        [result] = WorkspaceExecutor(1, workspace_runner=workspace_runner, cache=cache).submit([request(project)])
        assert (result.status, result.cached) == (Status.TIMEOUT, known)
    assert len(workspace_runner.ran) == 1


def test_closing_the_results_early_ends_what_runs(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache
) -> None:
    slow = [request(project, str(number), f"sleep {50 + number}") for number in range(20)]
    results = WorkspaceExecutor(3, workspace_runner=workspace_runner, cache=cache).submit(
        [request(project, "quick"), *slow]
    )
    assert next(results).id == "quick"
    begin = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("workspace")]
    [after] = WorkspaceExecutor(1, workspace_runner=workspace_runner, cache=cache).submit(
        [request(project, text="exit 0")]
    )
    assert after.status is Status.PASSED


_ENGINE = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
folder, snapshot = Path(sys.argv[1]), sys.argv[2]
spaces = WorkspaceRunner(store=SnapshotStore(Path(sys.argv[3])))
done = {line.split()[0] for line in (folder / "rows").read_text().splitlines()}
requests = (
    WorkspaceRequest(id=str(n), snapshot=snapshot, command=("/bin/sh", "-c", "sleep 0.1; exit $(($(cat number) % 3))"),
                     patch={"number": str(n)})
    for n in range(40) if str(n) not in done
)
with (folder / "rows").open("a", buffering=1) as rows:
    for result in WorkspaceExecutor(2, workspace_runner=spaces, cache=ResultCache(folder / "cache")).submit(requests):
        rows.write(f"{result.id} {result.status.value}\\n")
spaces.close()
"""


def test_a_killed_caller_goes_on_where_it_was(
    tmp_path: Path, project: Snapshot, store: SnapshotStore, workspace_runner: CountedSpaces
) -> None:
    workspace_runner.sandbox.probe()
    rows = tmp_path / "rows"
    rows.touch()
    command = [sys.executable, "-c", _ENGINE, str(tmp_path), project.id, str(store.folder)]
    for wanted in (5, 15):
        process = subprocess.Popen(command)
        while len(rows.read_text().splitlines()) < wanted:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    found = [line.split() for line in rows.read_text().splitlines()]
    assert sorted(int(number) for number, _ in found) == list(range(40))
    status = {0: "passed", 1: "failed", 2: "runtime_error"}
    assert all(word == status[int(number) % 3] for number, word in found)


# --- the cache ------------------------------------------------------------------------------------------------


def test_the_key_holds_all_that_decides_and_not_the_id(
    workspace_runner: CountedSpaces, project: Snapshot, cache: ResultCache, place: Path
) -> None:
    keys = WorkspaceRequestKind(workspace_runner, cache)
    folder = place / "packages"
    folder.mkdir()
    plain = request(project, patch={"number": "2"}, read_only={"/packages": str(folder)})
    changed = [
        {"patch": {"number": "3"}}, {"patch": {"number": None}}, {"patch": {}}, {"command": (*SHELL, "false")},
        {"environment": {"A": "1"}}, {"directory": "data"}, {"stdin": b""}, {"read_only": {}}, {"tools": "x"},
        {"repeat": 1}, {"results": ("a",)}, {"junit": ("a",)}, {"network": "none"}, {"limits": Limits()},
        {"snapshot": "0" * 64}, {"bundle": None, "minimum_tests": 2}, {"address_space_limit": True},
    ]  # fmt: skip
    found = {keys.key(plain.model_copy(update=change)) for change in changed}
    assert len(found | {keys.key(plain)}) == len(changed) + 1
    assert keys.key(plain.model_copy(update={"id": "z", "patch": {"number": b"2"}})) == keys.key(plain)
    before = keys.key(plain)
    (folder / "module.py").write_text("x = 1\n")
    assert WorkspaceRequestKind(workspace_runner, cache).key(plain) != before


def test_a_folders_mark_sees_names_sizes_and_dates(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("1")
    marks = [folder_fingerprint(tmp_path)]
    os.utime(tmp_path / "a" / "b" / "file", (1, 1))
    marks.append(folder_fingerprint(tmp_path))
    (tmp_path / "a" / "b" / "file").rename(tmp_path / "a" / "b" / "else")
    marks.append(folder_fingerprint(tmp_path))
    assert len(set(marks)) == 3
    assert folder_fingerprint(tmp_path) == marks[-1]


def test_results_with_any_bytes_come_back_as_they_were(project: Snapshot, cache: ResultCache) -> None:
    asked = request(project)
    files = (ResultFile(path="a", pattern="*", data=bytes(range(256))), ResultFile(path="b", pattern="*"))
    full = WorkspaceResult(
        id="a", status=Status.FAILED, exit_code=1, files=files, stdout=CapturedOutput(text="é\0", bytes_total=7)
    )
    assert cache.store("k", asked, full)
    assert cache.get("k", WorkspaceResult) == full.model_copy(update={"cached": True})
    large = ResultFile(path="a", pattern="*", data=bytes(3 << 20))
    assert not cache.store("l", asked, full.model_copy(update={"files": (large,)}))


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"status": "passed", "exit_code": 0}, True),
        ({"status": "failed", "exit_code": 1}, True),
        ({"status": "runtime_error", "exit_code": None, "signal": 11}, False),
        ({"status": "runtime_error", "exit_code": 139}, True),
        ({"status": "runtime_error", "exit_code": 137}, False),  # as a shell says of what was killed
        ({"status": "timeout"}, False),
        ({"status": "oom"}, False),
        ({"status": "unresolved_import", "exit_code": 1}, False),
        ({"status": "sandbox_error"}, False),
        ({"status": "skipped"}, False),
    ],
)
def test_only_what_would_come_out_the_same_is_kept(
    project: Snapshot, cache: ResultCache, fields: dict[str, object], kept: bool
) -> None:
    result = WorkspaceResult.model_validate({"id": "a", **fields})
    assert cache.store("k", request(project), result) is kept
    assert not cache.store("k", request(project, network="index"), result)


# --- bounds by the reference ----------------------------------------------------------------------------------


def test_limits_follow_the_reference() -> None:
    def bounds(cpu_s: float, factor: float = 5.0) -> tuple[float, float]:
        limits = limits_from_cpu_time(cpu_s, factor=factor, min_limits=Limits(wall_s=20, cpu_s=10, memory_mb=99))
        assert limits.memory_mb == 99
        return limits.wall_s, limits.cpu_s

    assert bounds(1) == (60, 10)
    assert bounds(2.1) == bounds(2.9) == (90, 15)
    assert bounds(50, factor=2) == (720, 120)
    assert bounds(10_000) == (21_600, 3600)


# --- snapshots that are in use or damaged ---------------------------------------------------------------------


def test_a_snapshot_in_use_is_not_removed(place: Path, sandbox: Sandbox, cache: ResultCache) -> None:
    store = SnapshotStore(place / "pruned")
    kept = store.add(place / "project")
    workspace_runner = WorkspaceRunner(sandbox, store)
    executor = WorkspaceExecutor(1, workspace_runner=workspace_runner, cache=cache)
    results = executor.submit(request(kept, str(number), repeat=number) for number in range(3))
    next(results)
    assert store.remove(kept.id) is None
    assert [result.status for result in results] == [Status.PASSED] * 2
    workspace_runner.close()
    assert store.remove(kept.id)
    assert store.list() == []


def test_a_damaged_snapshot_is_found_out_and_taken_again(place: Path, sandbox: Sandbox, cache: ResultCache) -> None:
    store = SnapshotStore(place / "damaged")
    kept = store.add(place / "project")
    (kept.tree / "number").write_text("5\n")  # the object below is the same file
    executor = WorkspaceExecutor(1, workspace_runner=WorkspaceRunner(sandbox, store), cache=cache)
    with pytest.raises(DataError, match=r"damaged \(number: differs\)"):
        list(executor.submit([request(kept)]))
    assert store.add(place / "project").id == kept.id
    assert store.verify(kept.id) == []
    [result] = executor.submit([request(kept, text="cat number")])
    assert result.stdout.text == "1\n"


def test_requests_end_at_the_bound_and_the_executor_goes_on(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "store")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/file").write_text("1\n")
    snapshot = store.add(tmp_path / "project")
    left = 3

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise DataError("over")

    runner = WorkspaceRunner(store=store)
    engine = BoundedExecutor(1, workspace_runner=runner, check=check)
    requests = [
        WorkspaceRequest(id=str(number), snapshot=snapshot.id, command=("/bin/sh", "-c", f"exit {number % 2}"))
        for number in range(5)
    ]
    found = []
    try:
        with pytest.raises(DataError, match="over"):
            found.extend(result.id for result in engine.submit(requests))
        assert len(found) <= 3
        left = 0
        with pytest.raises(DataError, match="over"):
            next(iter(engine.submit(requests)))
        left = 100
        assert {one.id: one.status for one in engine.submit(requests)}["2"] == Status.PASSED
    finally:
        engine.close()
