"""Kinds of files in the cache, their removal, and the automatic limit; with other processes at work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cache.stored_kinds import (
    KINDS,
    LIMITED,
    StoredFiles,
    cache_limit_bytes,
    chosen_kinds,
    keep_cache_limit,
)
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status
from caretbench.execution.submission import CachedExecutor, Submission
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from tests.support.command_run import in_this_process as caretbench

DAY = 86_400


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResultCache]:
    found = ResultCache(tmp_path / "cache")
    yield found
    found.close()


def program(cache: ResultCache, key: str, size: int, age_days: float) -> Path:
    with cache.artefact_staging_folder() as folder:
        (folder / "0").mkdir()
        (folder / "0" / "program").write_bytes(os.urandom(size))
        place = cache.store_artefact(key, folder / "0")
    os.utime(place, (time.time() - age_days * DAY,) * 2)
    return place


def project(cache: ResultCache, source: Path, size: int, age_days: float, shared: bytes = b"") -> str:
    source.mkdir()
    (source / "own").write_bytes(os.urandom(size))
    if shared:
        (source / "shared").write_bytes(shared)
    store = SnapshotStore(cache.folder / "snapshots")
    name = store.add(source).id
    age(cache, name, age_days)
    return name


def age(cache: ResultCache, name: str, days: float) -> None:
    os.utime(cache.folder / "snapshots" / "trees" / name[:2] / name / "manifest.json", (time.time() - days * DAY,) * 2)


def names(cache: ResultCache) -> set[str]:
    programs = {path.name for _, _, path in cache.programs()}
    return programs | {use.id for use in SnapshotStore(cache.folder / "snapshots").list()}


def test_every_kind_has_place_number_size_and_last_use(cache: ResultCache, tmp_path: Path) -> None:
    request = ExecutionRequest(id="a", language="python", source="pass")
    cache.store("k", request, ExecutionResult(id="a", status=Status.PASSED, stage="run"))
    program(cache, "00ff", 1000, 2)
    project(cache, tmp_path / "p", 3000, 4)
    weights = cache.folder / "models" / "tiny" / "weights.gguf"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(bytes(500))
    found = {kind.kind: kind for kind in StoredFiles(cache).kinds()}
    assert tuple(found) == KINDS
    assert {kind: state.entries for kind, state in found.items() if state.entries} == {
        "verdicts": 1, "programs": 1, "snapshots": 1, "models": 1,
    }  # fmt: skip
    assert (found["programs"].size_bytes, found["snapshots"].size_bytes, found["models"].size_bytes) == (
        1000,
        3000,
        500,
    )
    assert found["snapshots"].last_used == pytest.approx(time.time() - 4 * DAY, abs=60)
    assert found["data"].last_used is None
    assert {kind for kind, state in found.items() if state.limited} == set(LIMITED)
    assert Path(found["snapshots"].place) == cache.folder / "snapshots"


def test_the_longest_unused_of_all_kinds_go_first(cache: ResultCache, tmp_path: Path) -> None:
    program(cache, "00aa", 1000, 9)
    old = project(cache, tmp_path / "old", 2000, 8)
    program(cache, "00bb", 1000, 7)
    new = project(cache, tmp_path / "new", 2000, 1)
    freed = StoredFiles(cache).free(keep_bytes=3000)
    assert names(cache) == {"00bb", new}
    assert (freed.removed, freed.freed_bytes, freed.in_use) == ({"programs": 1, "snapshots": 1}, 3000, 0)
    assert old not in names(cache)
    assert StoredFiles(cache).free(unused_days=3).removed == {"programs": 1}
    assert StoredFiles(cache).free(["snapshots"]).removed == {"snapshots": 1}
    assert names(cache) == set()
    assert not list((cache.folder / "snapshots" / "objects").glob("*/*"))


def test_contents_that_another_snapshot_has_stay(cache: ResultCache, tmp_path: Path) -> None:
    shared = os.urandom(5000)
    project(cache, tmp_path / "a", 1000, 9, shared)
    kept = project(cache, tmp_path / "b", 1000, 1, shared)
    assert StoredFiles(cache).free(["snapshots"], keep_bytes=6000).freed_bytes == 1000
    assert names(cache) == {kept}
    assert SnapshotStore(cache.folder / "snapshots").verify(kept) == []


def test_other_kinds_are_removed_on_request_alone(cache: ResultCache) -> None:
    for path in ("data/set/rows.jsonl", "bundles/devbench/python/0123/lib.py", "validity/a.jsonl", "tools/x/x"):
        (cache.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (cache.folder / path).write_bytes(bytes(100))
    assert StoredFiles(cache).free().removed == {}
    freed = StoredFiles(cache).free(chosen_kinds(["data", "bundles", "validity", "tools"]))
    assert freed.removed == {"bundles": 1, "tools": 1, "data": 1, "validity": 1}
    assert freed.freed_bytes == 400
    with pytest.raises(ValueError, match="--kind 'bundle'"):
        chosen_kinds(["bundle"])


# --- other processes ---------------------------------------------------------------------------------------------

_HOLDER = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
cache = ResultCache(Path(sys.argv[1]))
store = SnapshotStore(cache.folder / "snapshots")
with store.lock_snapshot(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_what_a_running_build_uses_is_kept(cache: ResultCache, tmp_path: Path) -> None:
    used, unused = project(cache, tmp_path / "used", 1000, 9), project(cache, tmp_path / "unused", 1000, 9)
    program(cache, "00aa", 1000, 0)
    program(cache, "00bb", 1000, 2)
    bundle = cache.folder / "bundles" / "devbench" / "python" / "0123"
    bundle.mkdir(parents=True)
    (bundle / "lib.py").write_text("x = 1\n")
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(cache.folder), used],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    freed = StoredFiles(cache).free([*LIMITED, "bundles"])
    assert freed.removed == {"programs": 1, "snapshots": 1}
    assert freed.in_use == 3, "a locked snapshot, a program of the last hour, a bundle"
    assert names(cache) == {used, "00aa"}
    assert unused not in names(cache)
    assert (bundle / "lib.py").exists()
    holder.communicate("\n")
    assert StoredFiles(cache).free([*LIMITED, "bundles"]).removed == {"programs": 1, "snapshots": 1, "bundles": 1}


_WRITER = """
import os, sys, time
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
folder, source, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
cache = ResultCache(folder)
runner = WorkspaceRunner(store=SnapshotStore(folder / "snapshots"))
source.mkdir()
for number in range(count):
    (source / "own").write_bytes(os.urandom(2000))
    name = runner.store.add(source).id
    runner.snapshot(name)  # damaged or missing: an error
    old = time.time() - 9 * 86400
    os.utime(folder / "snapshots" / "trees" / name[:2] / name / "manifest.json", (old, old))
    with cache.artefact_staging_folder() as place:
        (place / "0").mkdir()
        (place / "0" / "program").write_text("whole")
        cache.store_artefact(f"{os.getpid():x}{number:04x}", place / "0")
    if number == 10:
        runner.close()
        runner = WorkspaceRunner(store=runner.store)
runner.close()
"""


def test_concurrent_builds_and_removals_leave_whole_entries(cache: ResultCache, tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(cache.folder), str(tmp_path / f"w{n}"), "25"], text=True)
        for n in range(2)
    ]
    removed = 0
    while any(writer.poll() is None for writer in writers):
        removed += StoredFiles(cache).free(["snapshots"]).removed.get("snapshots", 0)
    assert [writer.returncode for writer in writers] == [0, 0]
    store = SnapshotStore(cache.folder / "snapshots")
    left = [use.id for use in store.list()]
    assert removed > 0, "those that the first runner has released"
    assert removed + len(left) == 50
    assert [store.verify(name) for name in left] == [[]] * len(left)
    assert len(list(cache.programs())) == 50


# --- the limit ---------------------------------------------------------------------------------------------------


def test_the_limit_is_kept_once_an_hour_and_spares_the_last_hour(
    cache: ResultCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE_GB", "0.000002")
    old = project(cache, tmp_path / "old", 3000, 1)
    new = project(cache, tmp_path / "new", 3000, 0)
    freed = keep_cache_limit(cache.folder)
    assert freed is not None
    assert freed.removed == {"snapshots": 1}
    assert names(cache) == {new}
    assert old not in names(cache)
    age(cache, new, 2)
    assert keep_cache_limit(cache.folder) is None
    os.utime(cache.folder / ".limit-checked", (time.time() - 4000,) * 2)
    assert keep_cache_limit(cache.folder) is not None
    assert names(cache) == set()


def test_the_limit_has_a_default_and_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CARETBENCH_CACHE_GB", raising=False)
    assert cache_limit_bytes() == 20 * 10**9
    monkeypatch.setenv("CARETBENCH_CACHE_GB", "0")
    assert cache_limit_bytes() is None
    assert keep_cache_limit(tmp_path) is None
    monkeypatch.setenv("CARETBENCH_CACHE_GB", "lots")
    with pytest.raises(ValueError, match="CARETBENCH_CACHE_GB='lots'"):
        cache_limit_bytes()


def test_the_verb_shows_and_frees(cache: ResultCache, tmp_path: Path) -> None:
    project(cache, tmp_path / "old", 3_000_000, 40)
    project(cache, tmp_path / "new", 1_000_000, 0)
    own = {"CARETBENCH_CACHE": str(cache.folder)}
    shown = caretbench("cache", **own).stdout
    assert "take 4.0 MB, at most 20 GB (CARETBENCH_CACHE_GB)" in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("snapshots")]
    assert row.split()[:4] == ["snapshots", "2", "4.0", "MB"]
    cache.close()
    freed = caretbench("cache", "prune", "--kind", "snapshots", "--unused-days", "30", **own)
    assert freed.stdout == "removed 1 snapshots; freed 3.0 MB\n"
    assert "removed 1 snapshots; freed 1.0 MB" in caretbench("cache", "prune", "--keep-mb", "0.5", **own).stdout
    assert "removed nothing" in caretbench("cache", "prune", "--all", **own).stdout
    for wrong, message in (
        (("--kind", "snapshot", "--all"), "--kind 'snapshot': expected verdicts"),
        ((), "say what to prune"),
        (("--all", "--keep-mb", "1"), "--all removes all entries"),
        (("--language", "java", "--kind", "data"), "--language is about verdicts alone"),
    ):
        assert message in caretbench("cache", "prune", *wrong, **own).stderr


def test_the_limit_is_kept_after_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing(CachedExecutor[ExecutionRequest, ExecutionResult]):
        def _submission(self, cache: ResultCache) -> Submission[ExecutionRequest, ExecutionResult]:
            del cache
            nothing = SimpleNamespace(results=lambda _requests: iter(()))
            return cast("Submission[ExecutionRequest, ExecutionResult]", nothing)

        def isolation(self) -> Isolation:
            return Isolation(level="none")

    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CARETBENCH_CACHE_GB", "0.000001")
    made = ResultCache()
    project(made, tmp_path / "old", 3000, 1)
    made.close()
    assert list(Nothing().submit([])) == []
    assert SnapshotStore().list() == []
    monkeypatch.setenv("CARETBENCH_CACHE_GB", "much")
    with pytest.raises(ValueError, match="CARETBENCH_CACHE_GB"):
        list(Nothing().submit([]))
