"""Many attacks in one run leave nothing behind. ``CARETBENCH_ATTACKS=1000`` runs as many as it says."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice, zip_longest
from pathlib import Path

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.host.program_users import program_users
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains import load_runtime
from tests.support.attack_table import GOOD, NO_VERDICT, Attack, Table, requests, tables

ATTACKS = int(os.environ.get("CARETBENCH_ATTACKS", "120"))
SLOW = {Status.TIMEOUT, Status.OUT_OF_MEMORY}
PLACES = {
    "@PLANTED@": "planted-word", "@SECRET_FILE@": "/absent/secret", "@HOST_HOME@": "/absent",
    "@CACHE@": "/absent/cache", "@PORT@": "9", "@ABSTRACT@": "absent", "@PID@": str(os.getpid()),
    "@MARKER@": "left-behind", "@UNIQUE@": "left",
    "@NESTED@": "(" * 5_000 + ")" * 5_000, "@NESTED_LESS@": "()", "@GIANT@": "x" * 4_100_000,
    "@WIDE@": "\U0001f600" * 1_100_000,
}  # fmt: skip


def _fast(attack: Attack) -> bool:
    return not SLOW & set(attack.statuses)


def _attacks() -> Iterator[ExecutionRequest]:
    chosen = [table for table in tables().values() if load_runtime(table.language).toolchain().available]
    for repeat in count():
        for row in zip_longest(*(_of(table, repeat) for table in chosen)):
            yield from filter(None, row)


def _of(table: Table, repeat: int) -> Iterator[ExecutionRequest]:
    fast = [attack for attack in table.attacks if _fast(attack)]
    for request in requests(table, PLACES, attacks=fast, repeat=repeat):
        yield request.model_copy(update={"id": f"{table.language}/{request.id}/{repeat}"})


def _here(temporary: Path) -> dict[str, set[str]]:
    """Return what a program could leave in places that this process sees."""
    own = program_users() or ()
    shared = [path for path in Path("/dev/shm").iterdir() if path.lstat().st_uid in own]
    groups = Path("/sys/fs/cgroup")
    return {
        "processes": {str(pid) for pid in descendants(os.getpid())},
        "descriptors": _descriptors(),
        "mounts": set(Path("/proc/self/mountinfo").read_text().splitlines()),
        "shared": {str(path) for path in shared},
        "temporary": {str(path) for path in temporary.rglob("*")},
        "groups": {
            f"{path} {pid}"
            for path in groups.glob(f"**/caretbench-{os.getpid()}-*/**/cgroup.procs")
            for pid in path.read_text().split()
        },
        "segments": set(Path("/proc/sysvipc/shm").read_text().splitlines()[1:]),
        # The thread with root's private mounts lives as long as the process.
        "threads": {thread.name for thread in threading.enumerate()} - {"stage_0"},
    }


def _descriptors() -> set[str]:
    """Number and target of every open file; a process keeps its one folder of control groups until it ends."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(f"{path.name} {path.readlink()}")
    return {name for name in found if "/sys/fs/cgroup/" not in name and not name.endswith(f"/{os.getpid()}/fd")}


@pytest.mark.long
def test_nothing_is_left_of_many_attacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    wanted = list(islice(_attacks(), ATTACKS))
    before = _here(temporary)
    begin = time.monotonic()
    cache = ResultCache(tmp_path / "cache")
    executor = LocalExecutor(workers=8, cache=cache, sandbox=sandbox)
    results = list(executor.submit(wanted))
    seconds = time.monotonic() - begin
    cache.close()
    sandbox.close()
    deadline = time.monotonic() + 10
    left = _left(before, temporary)
    while any(left.values()) and time.monotonic() < deadline:
        time.sleep(0.2)
        left = _left(before, temporary)
    statuses = Counter(str(result.status) for result in results)
    sys.stdout.write(f"\n{len(results)} attacks in {seconds:.1f} s: {dict(statuses)}\n")
    assert sorted(result.id for result in results) == sorted(request.id for request in wanted)
    assert not [result.id for result in results if result.status in NO_VERDICT]
    assert {result.status for result in results if GOOD in result.id} == {Status.PASSED}
    assert not any(left.values()), left
    assert not list((tmp_path / "cache").rglob("*building*/*"))


def _left(before: dict[str, set[str]], temporary: Path) -> dict[str, set[str]]:
    return {kind: found - before[kind] for kind, found in _here(temporary).items()}
