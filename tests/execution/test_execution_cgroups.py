"""Control groups: looked for in trees of files; where root may make groups of the first version, they really bound."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Limits, WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.kernel import cgroups
from caretbench.execution.sandbox.kernel.cgroups import MemoryGroup, MemoryGroups, delegated_groups
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable

PYTHON = walls.launcher_interpreter()[0]
SMALL = Limits(wall_s=40, cpu_s=10, memory_mb=100, tmp_mb=8)
LEAP = (
    "import mmap, time\n"
    "part = mmap.mmap(-1, 400 << 20)\n"
    "for at in range(0, len(part), 4096): part[at] = 1\n"
    "time.sleep(1)"
)


def version_1_group(
    mount_point: Path = Path("/sys/fs/cgroup/memory"), proc_cgroup_text: str | None = None
) -> Path | None:
    """Return this process's group of the version-1 memory controller, if it may create groups in it."""
    if proc_cgroup_text is None:
        proc_cgroup_text = Path("/proc/self/cgroup").read_text()
    rows = (line.split(":", 2) for line in proc_cgroup_text.splitlines())
    own = next((row[2] for row in rows if len(row) == 3 and "memory" in row[1].split(",")), None)
    if own is None:
        return None
    place = mount_point / own.strip("/")
    return place if os.access(place, os.W_OK) and (place / "memory.limit_in_bytes").exists() else None


def make_tree(root: Path, *groups: str, without: str = "") -> None:
    """A tree as systemd makes it, the memory controller handed down."""
    for group in groups:
        (root / group).mkdir(parents=True, exist_ok=True)
        controllers = "cpu pids" if group == without else "cpu memory pids"
        (root / group / "cgroup.subtree_control").write_text(controllers)
        (root / group / "cgroup.procs").write_text("")


def test_the_nearest_group_that_hands_memory_down_is_found(tmp_path: Path) -> None:
    make_tree(tmp_path, "user.slice/app.slice/term.scope", "user.slice/app.slice", "user.slice",
              without="user.slice/app.slice/term.scope")  # fmt: skip
    found = list(delegated_groups(tmp_path, "1:cpu:/x\n0::/user.slice/app.slice/term.scope\n"))
    assert found == [tmp_path / "user.slice/app.slice", tmp_path / "user.slice"]


def test_without_control_groups_of_the_second_version_nothing_is_found(tmp_path: Path) -> None:
    assert list(delegated_groups(tmp_path, "4:memory:/x\n")) == []
    assert list(delegated_groups(tmp_path, "0::/\n")) == []  # mounted, and empty
    make_tree(tmp_path, "a")
    assert list(delegated_groups(tmp_path, "0::/../outside\n")) == []
    if os.geteuid() != 0:
        (tmp_path / "a" / "cgroup.procs").chmod(0o444)
        assert list(delegated_groups(tmp_path, "0::/a\n")) == []


def test_a_group_of_the_second_version_gets_its_bound_and_tells_of_kills(tmp_path: Path) -> None:
    place = tmp_path / "one"
    place.mkdir()
    (place / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 1\n")
    group = MemoryGroup(place, "cgroup-v2")
    group.prepare(1 << 20)
    assert (place / "memory.max").read_text() == "1048576"
    assert (place / "memory.swap.max").read_text() == "0"
    assert (place / "memory.oom.group").read_text() == "1"
    assert not group.limit_exceeded()
    (place / "memory.events").write_text("low 0\noom 4\noom_kill 3\n")
    assert group.limit_exceeded()


def test_a_tree_that_bounds_nothing_is_not_taken(tmp_path: Path) -> None:
    make_tree(tmp_path, "a")
    groups = MemoryGroups(tmp_path / "a", "cgroup-v2")
    assert not groups.works()  # files that are no control groups move no process
    os.close(groups._held)


def test_groups_of_a_killed_owner_are_removed_and_those_in_use_are_not(tmp_path: Path) -> None:
    for name in ("caretbench-1-left", "caretbench-2-used", "other"):
        (tmp_path / name / "1").mkdir(parents=True)
    with (tmp_path / "lock").open("w"):
        held = os.open(tmp_path / "caretbench-2-used", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        cgroups._remove_leftovers(tmp_path)
        os.close(held)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["caretbench-2-used", "lock", "other"]


def test_first_version_is_found_by_membership(tmp_path: Path) -> None:
    assert version_1_group(tmp_path, "0::/\n") is None
    (tmp_path / "own").mkdir()
    assert version_1_group(tmp_path, "4:cpu,memory:/own\n") is None
    (tmp_path / "own" / "memory.limit_in_bytes").write_text("")
    assert version_1_group(tmp_path, "4:cpu,memory:/own\n") == tmp_path / "own"


# --- really ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def groups() -> Iterator[MemoryGroups]:
    parent = version_1_group()
    if parent is None:
        pytest.skip("no control groups of the first version")
    try:
        made = MemoryGroups(parent, "cgroup-v1")
    except OSError as error:
        pytest.skip(str(error))
    yield made
    root = made._root
    made.close()
    assert not root.exists()


@pytest.mark.parametrize(("level", "warm"), [("namespaces", None), ("namespaces", WarmSettings()), ("landlock", None)])
def test_the_kernel_ends_what_takes_too_much(
    groups: MemoryGroups, monkeypatch: pytest.MonkeyPatch, level: str, warm: WarmSettings | None
) -> None:
    """The watchdog is put to sleep, so that it is the kernel that ends the program."""
    monkeypatch.setattr("caretbench.execution.sandbox.supervisor.POLL_S", 1000.0)
    sandbox = Sandbox(level=level, groups=groups)
    try:
        assert sandbox.probe().memory == "cgroup-v1"
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    result = sandbox.run(Invocation([PYTHON, "-c", LEAP], limits=SMALL, warm=warm, address_space_limit=False))
    assert result.killed == "memory"
    assert sandbox.run(Invocation([PYTHON, "-c", "print(1)"], limits=SMALL, warm=warm)).ok  # the group serves again
    sandbox.close()
    assert len(list(groups._root.glob("*/"))) <= 2


def test_groups_hold_and_cost_little(groups: MemoryGroups) -> None:
    assert groups.works()
    with groups.group(64 << 20):
        pass
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(50):
        with groups.group(64 << 20) as group:
            assert group is not None
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent / 50 < 0.005


def test_nothing_is_left_of_an_owner_that_was_killed(groups: MemoryGroups) -> None:
    parent = version_1_group()
    owner = (
        "import sys, time\nfrom pathlib import Path\n"
        "from caretbench.execution.sandbox.kernel.cgroups import MemoryGroups\n"
        f"groups = MemoryGroups(Path({str(parent)!r}), 'cgroup-v1')\n"
        "with groups.group(64 << 20) as group:\n"
        "    import subprocess\n"
        "    group.add_process(subprocess.Popen(['/bin/sleep', '300'], start_new_session=True).pid)\n"
        "    print(groups._root, flush=True)\n"
        "    time.sleep(300)"
    )
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        root = Path(process.stdout.readline().strip())
        process.kill()
    assert (root / "1" / "cgroup.procs").read_text().strip()
    assert parent is not None
    MemoryGroups(parent, "cgroup-v1").close()
    deadline = time.monotonic() + 10
    while root.exists() and time.monotonic() < deadline:
        cgroups._remove_leftovers(parent)
        time.sleep(0.1)
    assert not root.exists()
