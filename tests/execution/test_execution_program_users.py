"""Whom programs run as on the host: never root, whatever root has bound from wherever."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from caretbench.build.package_index.index_policy import index_policy
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.execution.execution_types import ExecutionRequest, Limits, Status, WarmSettings
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bind_access
from caretbench.execution.sandbox import bind_access as host_mounts
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox import warm_sandbox as warm_sandboxes
from caretbench.execution.sandbox.bind_access import reachable_binds
from caretbench.execution.sandbox.host import program_users as host_users
from caretbench.execution.sandbox.host.program_users import leased_user, program_users
from caretbench.execution.sandbox.isolation_levels import accepted_levels
from caretbench.execution.sandbox.kernel.seccomp import seccomp_filter
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="whom root starts programs as"),
    pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

PYTHON = walls.launcher_interpreter()[0]
SMALL = Limits(wall_s=20, cpu_s=5, memory_mb=200, pids=24, tmp_mb=16, fsize_mb=8)
LOOK = """
import os, time
print(os.getuid(), flush=True)
for name in ("core_pattern", "modprobe", "hostname"):
    try:
        os.close(os.open("/proc/sys/kernel/" + name, os.O_WRONLY))
        print("REACHED", name, flush=True)
    except OSError:
        pass
try:
    print(open("/packages/closed").read(), flush=True)
except OSError as error:
    print(error, flush=True)
time.sleep(1.5)
"""
"""A program that lives for long enough to be looked at."""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder that root alone may enter, with a file that root alone may read."""
    folder = tmp_path / "closed" / "packages"
    folder.mkdir(parents=True)
    (folder / "closed").write_text("read me")
    (folder / "closed").chmod(0o600)
    folder.parent.chmod(0o700)
    return folder


@pytest.fixture(params=["cold", "warm", "landlock"])
def box(request: pytest.FixtureRequest) -> Iterator[Callable[..., SandboxResult]]:
    level = "landlock" if request.param == "landlock" else "namespaces"
    sandbox = Sandbox(level=level)
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))

    def run(*argv: str, **options: object) -> SandboxResult:
        warm = WarmSettings() if request.param == "warm" else None
        return sandbox.run(Invocation(argv, limits=SMALL, warm=warm, **options))  # type: ignore[arg-type]

    yield run
    sandbox.close()


def _uids(marker: str) -> set[tuple[int, ...]]:
    """Real, effective, saved and file system user of every process of ours whose command has the marker."""
    found = set()
    for pid in descendants(os.getpid()):
        try:
            if marker in Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace"):
                rows = Path(f"/proc/{pid}/status").read_text().splitlines()
                uids = next(row for row in rows if row.startswith("Uid:")).split()[1:]
                found.add(tuple(map(int, uids)))
        except (OSError, StopIteration):
            continue
    return found


def _seen_while(call: Callable[[], object], marker: str, every_s: float = 0.02) -> set[int]:
    """Users of the host that processes with the marker had while ``call`` ran."""
    seen: set[tuple[int, ...]] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.update(_uids(marker))
            time.sleep(every_s)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        call()
    finally:
        done.set()
        watcher.join()
    return {user for found in seen for user in found}


def _program(marker: str) -> list[str]:
    return [PYTHON, "-I", "-c", f"{LOOK}# {marker}\n"]


def test_a_program_is_nobody_however_closed_what_it_reads_is(box: Callable[..., SandboxResult], packages: Path) -> None:
    results: list[SandboxResult] = []
    read_only = {"/packages": str(packages)}
    marker = "look-at-me-1"
    seen = _seen_while(lambda: results.append(box(*_program(marker), read_only=read_only)), marker)
    [result] = results
    assert result.error is None
    assert result.ok, result.stderr.text
    assert "REACHED" not in result.stdout.text
    assert "read me" in result.stdout.text
    assert result.isolation is not None
    assert result.isolation.user.startswith("unprivileged")
    given = program_users()
    assert given is not None
    assert seen
    assert all(user in given for user in seen)
    assert oct((packages / "closed").stat().st_mode & 0o777) == "0o600"
    assert (packages / "closed").stat().st_uid == 0


def test_programs_at_a_time_are_different_users(box: Callable[..., SandboxResult], packages: Path) -> None:
    marker = "look-at-me-2"

    def both() -> None:
        threads = [
            threading.Thread(target=box, args=_program(marker), kwargs={"read_only": {"/packages": str(packages)}})
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(_seen_while(both, marker)) == 3


def test_bubblewrap_in_a_closed_folder(packages: Path) -> None:
    binary = packages / "bwrap"
    shutil.copy(walls.find_bubblewrap() or "", binary)
    binary.chmod(0o700)
    sandbox = Sandbox(str(binary), level="namespaces")
    try:
        for warm in (None, WarmSettings()):
            result = sandbox.run(Invocation(["/bin/cat", "/proc/self/uid_map"], limits=SMALL, warm=warm))
            assert result.ok, (result.error, result.stderr.text)
        marker = "look-at-me-3"
        seen = _seen_while(lambda: sandbox.run(Invocation(_program(marker), limits=SMALL)), marker)
        assert seen
        assert 0 not in seen
    finally:
        sandbox.close()


def test_commands_of_workspaces_are_nobody(packages: Path, tmp_path: Path) -> None:
    marker = "look-at-me-4"
    project = tmp_path / "project"
    project.mkdir()
    (project / "file").write_text("a project\n")
    closed = tmp_path / "store"
    closed.mkdir(mode=0o700)
    workspace_runner = WorkspaceRunner(Sandbox(level="namespaces"), SnapshotStore(closed))
    try:
        request = WorkspaceRequest(
            id="one", snapshot=workspace_runner.store.add(project).id, command=tuple(_program(marker)),
            prepare=("/bin/sh", "-c", "echo prepared > made"), read_only={"/packages": str(packages)},
        )  # fmt: skip
        seen = _seen_while(lambda: workspace_runner.run(request), marker)
        assert seen
        assert 0 not in seen
        changed = request.model_copy(update={"command": ("/bin/sh", "-c", "echo more >> file && cat file made")})
        result = workspace_runner.run(changed)
        assert result.stdout.text == "a project\nmore\nprepared\n", (result.stderr.text, result.reason)
        assert result.placed in ("overlay", "copy")
    finally:
        workspace_runner.close()


def test_what_sets_an_environment_up_is_nobody(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    environment = closed / "environment"
    environment.mkdir(parents=True)
    closed.chmod(0o700)
    marker = "look-at-me-5"
    program = f"open('/environment/made', 'w').write('x')\n{LOOK}# {marker}\n"
    results = []

    def set_up() -> None:
        with IndexProxy(index_policy({})) as proxy:
            results.append(
                Sandbox(level="namespaces").run(
                    Invocation(
                        [PYTHON, "-I", "-c", program], limits=SMALL, writable={"/environment": environment}, index=proxy
                    )
                )
            )

    seen = _seen_while(set_up, marker)
    assert results[0].ok, (results[0].error, results[0].stderr.text)
    assert (environment / "made").read_text() == "x"
    assert seen
    assert 0 not in seen


def test_what_cannot_be_opened_for_one_user_is_refused_with_the_remedy(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without such mounts: what others may read below is bound, what they may not is refused."""

    def none(*_: object) -> int:
        raise OSError("no such mounts")

    monkeypatch.setattr(host_mounts, "_id_map", none)
    host_mounts._obstacle.cache_clear()
    for warm in (None, WarmSettings()):
        sandbox = Sandbox(level="namespaces")
        with pytest.raises(SandboxUnavailable, match=r"not read.*chmod") as refusal:
            sandbox.run(Invocation(["/bin/true"], limits=SMALL, read_only={"/packages": str(packages)}, warm=warm))
        sandbox.close()
        assert str(refusal.value).count("is closed") == str(refusal.value).count("go+rX") == 1
    (packages / "closed").chmod(0o644)
    host_mounts._obstacle.cache_clear()
    for warm in (None, WarmSettings()):
        sandbox = Sandbox(level="namespaces")
        result = sandbox.run(
            Invocation(
                ["/bin/cat", "/packages/closed"], limits=SMALL, read_only={"/packages": str(packages)}, warm=warm
            )
        )
        assert result.stdout.text == "read me", result.error
        sandbox.close()


def test_where_root_may_not_mount_it_is_refused(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> int:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(bind_access, "open_mount", none)
    with pytest.raises(SandboxUnavailable, match="CARETBENCH_CACHE"):
        Sandbox(level="namespaces").run(Invocation(["/bin/true"], limits=SMALL, read_only={"/packages": str(packages)}))


def test_an_error_of_who_reaches_it_comes_through_unchanged(packages: Path) -> None:
    """An error of the caller's own says nothing of the paths: it is neither renamed nor blamed on one of them."""
    given = program_users()
    assert given is not None
    ours = BlockingIOError("Resource temporarily unavailable")
    ground = reachable_binds(walls.find_bubblewrap() or "", {"/packages": str(packages)}, {}, given[1])

    def fail() -> None:
        with ground as places:
            assert places.read_only["/packages"] != str(packages)
            raise ours

    with pytest.raises(BlockingIOError) as found:
        fail()
    assert found.value is ours


def test_the_path_that_cannot_be_mounted_is_the_one_named(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "closed" / "other"
    other.mkdir()
    really = bind_access.open_mount

    def refuse(path: str, *arguments: Any, **options: Any) -> int:
        if path == str(other):
            raise PermissionError("Operation not permitted")
        return really(path, *arguments, **options)

    monkeypatch.setattr(bind_access, "open_mount", refuse)
    binds = {"/packages": str(packages), "/other": str(other)}
    with pytest.raises(SandboxUnavailable, match=f"^{other} is closed"):
        Sandbox(level="namespaces").run(Invocation(["/bin/true"], limits=SMALL, read_only=binds))


LAID_OVER = """
from pathlib import Path
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.execution_types import Limits, ProjectTree, WarmSettings
tree = ProjectTree(snapshot=Path("/usr/share"))
print(Sandbox(level="namespaces").run(Invocation(["/bin/true"], limits=Limits(), warm=WarmSettings(), tree=tree)).error)
"""


@pytest.mark.parametrize("capability", ["sys_admin", "dac_override"])
def test_root_that_cannot_map_users_says_which_capability_it_lacks(capability: str, tmp_path: Path) -> None:
    ran = _without(capability, LAID_OVER, tmp_path)
    assert ran.stdout.startswith("no overlay: root cannot map the users"), ran
    assert f"without CAP_{capability.upper()};" in ran.stdout
    assert f"`--cap-add {capability.upper()}`" in ran.stdout


@pytest.mark.parametrize("capability", ["setuid", "setgid", "kill"])
def test_root_that_cannot_start_or_end_programs_of_others_is_refused_once(capability: str, tmp_path: Path) -> None:
    program = "from caretbench.execution.sandbox.program_sandbox import Sandbox; Sandbox().probe()"
    ran = _without(capability, program, tmp_path)
    said = ran.stderr.splitlines()[-1]
    assert said.count(f"lacks CAP_{capability.upper()}") == 1, ran
    assert said.count("start CaretBench as an ordinary user") == 1


def _without(capability: str, program: str, cache: Path) -> subprocess.CompletedProcess[str]:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed")
    command = [setpriv, f"--bounding-set=-{capability}", f"--inh-caps=-{capability}", sys.executable, "-c"]
    environment = {**os.environ, "CARETBENCH_CACHE": str(cache)}
    return subprocess.run([*command, program], env=environment, capture_output=True, text=True, check=False)


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("module", [warm_sandboxes, host_mounts])
def test_where_root_may_not_say_who_programs_are_nothing_is_left(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the child of bubblewrap that waits to be told, nor a descriptor."""
    waiting: list[int] = []

    def refuse(process: int, *_: str) -> None:
        waiting.append(os.pidfd_open(process))
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    def attempt() -> None:
        if module is warm_sandboxes:
            key = warm_sandboxes.WarmWorkerKey((), (), (), "system", host_users.unprivileged_user())
            warm_sandboxes.WarmWorker(key, binary, seccomp_filter() or b"")
        else:
            host_mounts.open_mount(str(tmp_path), 12345, binary)

    binary = walls.find_bubblewrap() or ""
    host_mounts.close_id_maps()
    tmp_path.chmod(0o700)
    monkeypatch.setattr(module, "write_user_maps", refuse)
    gc.collect()  # sandboxes of other tests close theirs when they go
    before = _open_descriptors()
    with pytest.raises(PermissionError):
        attempt()
    assert len(waiting) == 1
    ended, _, _ = select.select(waiting, [], [], 5)
    if not ended:
        signal.pidfd_send_signal(waiting[0], signal.SIGKILL)
    os.close(waiting[0])
    assert ended
    assert _open_descriptors() == before


def test_a_folder_too_large_to_look_through_is_called_so(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (packages / "closed").chmod(0o644)
    monkeypatch.setattr(host_mounts, "_MAX_ENTRIES", 0)
    host_mounts._obstacle.cache_clear()
    try:
        assert host_mounts._obstacle(str(packages)) == (
            f"{packages} has more than 0 entries, so it was not looked through"
        )
    finally:
        host_mounts._obstacle.cache_clear()


def test_only_a_lock_in_use_is_a_taken_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(OSError, match="No locks"), leased_user():
        pass
    monkeypatch.undo()
    monkeypatch.setattr(host_users, "program_users", lambda: None)
    with pytest.raises(host_users.NoProgramUsers, match="ordinary user"), leased_user():
        pass


def test_users_are_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts, subordinates = tmp_path / "passwd", tmp_path / "subuid"
    accounts.write_text("root:x:0:0::/root:/bin/sh\nsomebody:x:64700:64700::/:/bin/sh\n")
    subordinates.write_text("somebody:60000:1000\n")
    monkeypatch.setattr(host_users, "_ACCOUNTS", ((str(accounts), 2),))
    monkeypatch.setattr(host_users, "_SUBORDINATES", (str(subordinates),))
    program_users.cache_clear()
    try:
        found = program_users()
        assert found is not None
        assert 64_700 not in found
        assert not set(found) & set(range(60_000, 61_000))
        subordinates.write_text("somebody:60000:100000\n")
        program_users.cache_clear()
        with pytest.raises(host_users.NoProgramUsers, match="ordinary user"):
            program_users()
        for level in accepted_levels("auto"):
            with pytest.raises(host_users.NoProgramUsers):
                Sandbox(level=level).run(Invocation(["/bin/true"], limits=SMALL))
    finally:
        monkeypatch.undo()
        program_users.cache_clear()


def test_the_root_of_a_container_that_is_an_ordinary_user_outside_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program_users.cache_clear()
    try:
        monkeypatch.setattr(host_users, "_map", lambda _: [(0, 1000, 1)])
        assert program_users() is None
        program_users.cache_clear()
        monkeypatch.setattr(host_users, "_map", lambda _: [(0, 0, 1)])
        with pytest.raises(host_users.NoProgramUsers):
            program_users()
    finally:
        monkeypatch.undo()
        program_users.cache_clear()


def test_a_user_is_given_to_one_program_at_a_time() -> None:
    with leased_user() as (first, _), leased_user() as (second, _):
        assert first != second
    with leased_user() as (again, _):
        assert again in (first, second)


def test_no_other_user_can_take_the_users_of_programs() -> None:
    """Names that anybody may bind are no leases, and nobody but root reaches the files that are."""
    squat = (
        "import contextlib, socket, sys\n"
        "taken = [socket.socket(socket.AF_UNIX) for _ in range(513)]\n"
        "for number, one in enumerate(taken):\n"
        "    with contextlib.suppress(OSError):\n"
        f"        one.bind('\\0caretbench-user-%d' % ({program_users()[0]} + number))\n"  # type: ignore[index]
        "print('taken', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [PYTHON, "-I", "-c", squat], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=65_301, group=65_301
    ) as squatter:
        assert squatter.stdout is not None
        assert squatter.stdout.readline() == b"taken\n"
        with leased_user() as (user, held):
            assert user in (program_users() or ())
            place = Path(f"/proc/self/fd/{held}").readlink()
            for closed in (place, place.parent):
                assert (closed.stat().st_uid, closed.stat().st_mode & 0o077) == (0, 0)
        squatter.communicate(b"")


def test_where_leases_cannot_lie_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, others = tmp_path / "link", tmp_path / "others"
    link.symlink_to(tmp_path)
    others.mkdir()
    os.chown(others, 65_301, 65_301)
    monkeypatch.setattr(host_users, "FOLDERS", (str(link), str(others)))
    with pytest.raises(host_users.NoProgramUsers, match="user 65301"), leased_user():
        pass
    open_one = tmp_path / "open"
    open_one.mkdir(mode=0o755)
    monkeypatch.setattr(host_users, "FOLDERS", (str(link), str(open_one)))
    with leased_user():
        assert open_one.stat().st_mode & 0o077 == 0
    assert tmp_path.stat().st_uid == 0


def test_a_row_that_finds_no_user_is_a_fault_of_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again, and the rows after it run."""
    project = tmp_path / "project"
    project.mkdir()
    tries: list[int] = []
    real = host_users.lease_free_user

    def taken(given: range) -> tuple[int, int] | None:
        tries.append(1)
        return None if len(tries) <= 3 else real(given)

    rows = [ExecutionRequest(id=name, language="python", source=f"assert '{name}'") for name in "ab"]
    executor = LocalExecutor(workers=1, use_cache=False)
    assert executor.isolation().user == "unprivileged"
    monkeypatch.setattr(host_users, "lease_free_user", taken)
    first, second = executor.submit(rows)
    assert first.status is Status.SANDBOX_ERROR
    assert "leased" in first.reason
    assert second.status is Status.PASSED
    assert len(tries) == 4
    tries.clear()
    workspace_runner = WorkspaceRunner(Sandbox(level="namespaces"), SnapshotStore(tmp_path / "store"))
    try:
        request = WorkspaceRequest(id="one", snapshot=workspace_runner.store.add(project).id, command=("/bin/true",))
        result = workspace_runner.run(request)
        assert result.status is Status.SANDBOX_ERROR
        assert "leased" in result.reason
        assert workspace_runner.run(request).status is Status.PASSED
    finally:
        workspace_runner.close()
