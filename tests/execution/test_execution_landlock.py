"""Attacks on the Landlock walls, with real processes: as root's unprivileged users, and as an ordinary user."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import ExecutionRequest, Limits, ProjectTree, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import isolation_levels
from caretbench.execution.sandbox import program_sandbox as sandbox_module
from caretbench.execution.sandbox.folder_removal import remove_folder
from caretbench.execution.sandbox.kernel import landlock_sandbox
from caretbench.execution.sandbox.kernel.landlock_sandbox import LandlockSandbox
from caretbench.execution.sandbox.kernel.seccomp import landlock_seccomp_filter, system_call_numbers
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchain_tables import toolchain_tables
from tests.support.sandbox_boxes import (
    ORDINARY_USER,
    PREFIX,
    PYTHON,
    OrdinaryBox,
    command_lines,
    daemons,
    give,
    left_over,
    open_to_all,
    opened,
    params,
    still_runs,
)

pytestmark = pytest.mark.skipif(landlock_sandbox.landlock_abi() < landlock_sandbox.MIN_ABI, reason="no Landlock here")

SMALL = Limits(wall_s=30, cpu_s=5, memory_mb=200, pids=24, tmp_mb=16, fsize_mb=8)


@pytest.fixture(scope="module", params=params("own-user", "caller", "abi-4"))
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param) as sandbox:
        yield sandbox


def only_itself(box: Sandbox) -> bool:
    """Return whether programs may signal only themselves."""
    return isinstance(box, OrdinaryBox) and box.abi is not None


def run(box: Sandbox, program: str, limits: Limits = SMALL) -> SandboxResult:
    return box.run(Invocation([PYTHON, "-I", "attack.py"], limits=limits, files={"attack.py": program}))


def test_probe_says_which_walls_stand(box: Sandbox) -> None:
    isolation = box.probe()
    assert (isolation.backend, isolation.level) == ("landlock", "landlock")
    assert isolation.network == "none, no loopback"
    assert isolation.seccomp
    assert isolation.user in ("unprivileged", "caller")


def test_nothing_of_the_host_environment_is_visible(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-secret")
    result = run(
        box,
        "import glob, os\n"
        "print(len(glob.glob('/proc/*')), dict(os.environ))\n"
        f"for pid in ('self', 1, os.getppid(), {os.getpid()}):\n"
        "    for name in ('environ', 'cmdline', 'maps', 'mem', 'fd', 'root/etc/shadow', 'cwd/pyproject.toml'):\n"
        "        place = f'/proc/{pid}/{name}'\n"
        "        try: print(place, os.listdir(place) if name == 'fd' else open(place, 'rb').read(100))\n"
        "        except OSError as error: pass\n",
    )
    assert result.ok, result.stderr.text
    assert result.stdout.text.startswith("0 ")
    assert "planted" not in result.stdout.text.lower()
    assert all(line.startswith("/proc/self/") for line in result.stdout.text.splitlines()[1:])


def test_files_of_the_host_cannot_be_read(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    home = Path.home()
    places = ["/", "/root", "/home", "/var", "/sys", "/tmp", "/etc", "/etc/shadow", "/etc/passwd", "/etc/ssl/private",
              "/proc", str(home), str(home / ".ssh"), str(tmp_path / "secret"), str(Path(__file__))]  # fmt: skip
    result = run(
        box,
        "import os\n"
        f"for place in {places!r}:\n"
        "    try: print('FOUND', place, os.listdir(place) if os.path.isdir(place) else open(place).read())\n"
        "    except OSError: pass\n",
    )
    assert result.ok
    assert result.stdout.text == ""


def test_only_the_private_folder_can_be_written(box: Sandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    kept = tmp_path / "kept"
    kept.write_text("kept")
    kept.chmod(0o666)
    result = run(
        box,
        "import os\n"
        f"for place in ('/x', '/usr/x', '/tmp/x', '/dev/x', '/run/x', '/var/tmp/x', {str(tmp_path)!r} + '/x'):\n"
        "    try: open(place, 'w'); print('WROTE', place)\n"
        "    except OSError: pass\n"
        f"kept = {str(kept)!r}\n"
        "for change in (lambda: os.truncate(kept, 0), lambda: os.unlink(kept), lambda: os.rename(kept, 'mine'),\n"
        "               lambda: os.link(kept, 'mine'), lambda: os.link('/usr/bin/env', 'hard'),\n"
        "               lambda: os.mkdir(kept + '2'), lambda: os.symlink('x', kept + '3'),\n"
        "               lambda: os.mkfifo(kept + '4'), lambda: os.mknod('device', 0o60644, os.makedev(254, 0)),\n"
        "               lambda: open('/proc/self/mem', 'r+b')):\n"
        "    try: change(); print('CHANGED')\n"
        "    except OSError: pass\n"
        "os.symlink(kept, 'link')\n"
        "try: open('link').read(); print('READ')\n"
        "except OSError: pass\n"
        "open('here', 'w').write('1'); os.rename('here', '../home/there'); print('done')",
    )
    assert result.stdout.text == "done\n", result.stderr.text
    assert kept.read_text() == "kept"
    assert sorted(place.name for place in tmp_path.iterdir()) == ["kept"]


def test_no_socket_can_be_made_but_connected_pairs(box: Sandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "door"))
        (tmp_path / "door").chmod(0o777)
        result = run(
            box,
            "import socket\n"
            "for family, kind in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (10, 1), (10, 2), (16, 3), (17, 3),\n"
            "                     (38, 5), (40, 1)):\n"
            "    try: socket.socket(family, kind); print('SOCKET', family, kind)\n"
            "    except OSError as error: assert error.errno == 97, error\n"
            "try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print('DATAGRAMS')\n"
            "except OSError: pass\n"
            "for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
            "    one, other = socket.socketpair(socket.AF_UNIX, kind)\n"
            f"    door = {str(tmp_path / 'door')!r}\n"
            "    for way in (lambda: one.connect(door), lambda: one.sendto(b'x', door)):\n"
            "        try: way()\n"
            "        except OSError: pass\n"
            "    one.send(b'x'); other.recv(1)\n"
            "print('done')",
        )
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.recv(1)
    assert result.stdout.text == "done\n", result.stderr.text


def test_dangerous_system_calls_are_refused(box: Sandbox) -> None:
    numbers = system_call_numbers()[os.uname().machine].calls
    calls = {name: numbers[name] for name in ("shmget", "semget", "msgget", "mq_open", "connect", "bind")}
    result = run(
        box,
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {calls!r}.items():\n"
        "    print(name, libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
        "print('unshare', libc.unshare(0x10000000), ctypes.get_errno())\n"
        "print('ptrace', libc.ptrace(16, 1, 0, 0), ctypes.get_errno())\n",
    )
    said = dict(line.split(" ", 1) for line in result.stdout.text.splitlines())
    assert len(said) == 8
    assert {said[name] for name in ("connect", "bind", "unshare", "ptrace")} == {"-1 1"}
    assert {said[name] for name in ("shmget", "semget", "msgget", "mq_open")} == {"-1 38"}


def test_others_can_be_neither_signalled_nor_bounded(box: Sandbox) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], user=ORDINARY_USER if os.geteuid() == 0 else None) as bystander:
        result = run(
            box,
            "import os, resource, signal\n"
            f"for pid in ({bystander.pid}, os.getppid(), {os.getpid()}, 1):\n"
            "    for way in (lambda: os.kill(pid, 9), lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 9),\n"
            "                lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))):\n"
            "        try: way(); print('REACHED', pid)\n"
            "        except OSError: pass\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    import time; time.sleep(20)\n"
            "os.kill(child, 9); print(os.wait()[1])",
        )
        alive = bystander.poll() is None
        bystander.kill()
    if only_itself(box):
        assert result.stdout.text == ""
        assert "PermissionError" in result.stderr.text
    else:
        assert result.stdout.text == "9\n", result.stderr.text
    assert alive


def test_others_keep_their_place_and_turn_on_the_processors(box: Sandbox) -> None:
    """A child has the same user as every program that an ordinary user runs: what it keeps, they keep."""
    result = run(
        box,
        "import ctypes, os, time\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(60)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"number = {system_call_numbers()[os.uname().machine].calls['sched_setattr']}\n"
        "kept = os.sched_getaffinity(0)\n"
        "idle = bytes([48, 0, 0, 0, 5]) + bytes(43)\n"
        "for call in (lambda: os.sched_setscheduler(child, os.SCHED_IDLE, os.sched_param(0)),\n"
        "             lambda: os.sched_setparam(child, os.sched_param(0)),\n"
        "             lambda: os.setpriority(os.PRIO_PROCESS, child, 19)):\n"
        "    try: call(); print('REACHED')\n"
        "    except PermissionError: print('held')\n"
        "print(libc.syscall(number, child, idle, 0), ctypes.get_errno())\n"
        "os.sched_setaffinity(child, {min(kept)})\n"
        "os.sched_setaffinity(0, {min(kept)}); os.sched_setaffinity(os.getpid(), kept)\n"
        "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
        "print(os.sched_getscheduler(child), os.sched_getaffinity(child) == kept, flush=True)\n"
        "os._exit(0)\n",
    )
    assert result.ok, result.stderr.text
    assert result.stdout.text.splitlines() == [*["held"] * 3, "-1 1", "0 True"]


def test_terminals_of_the_machine_are_closed(box: Sandbox) -> None:
    result = run(
        box,
        "import os\n"
        "for place in ('/dev/ptmx', '/dev/pts/ptmx', '/dev/pts/0', '/dev/tty'):\n"
        "    try: print('REACHED', os.open(place, os.O_RDWR | os.O_NOCTTY))\n"
        "    except OSError: pass\n",
    )
    assert result.ok, result.stderr.text
    assert result.stdout.text == ""


def test_a_fork_bomb_is_ended(box: Sandbox) -> None:
    begin = time.monotonic()
    result = run(
        box,
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        SMALL.model_copy(update={"cpu_s": 1}),
    )
    assert not result.ok
    assert time.monotonic() - begin < 40
    assert not left_over()


FILL = (
    "import time\n"
    "try:\n"
    "    for part in range(10): open(f'../{part}', 'wb').write(bytes(4 << 20))\n"
    "    time.sleep(20); print('UNBOUNDED')\n"
    "except OSError as error: print(error.errno)\n"
)


def test_files_are_bounded(box: Sandbox) -> None:
    result = run(box, FILL)
    assert result.stdout.text == "28\n" or result.killed == "disk"


def test_files_are_bounded_where_nothing_can_be_mounted(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Sandbox(level="landlock")
    monkeypatch.setattr(landlock_sandbox, "_PREFIX", PREFIX)
    original = LandlockSandbox._confinement
    monkeypatch.setattr(LandlockSandbox, "_confinement", lambda *given: original(*given) | {"mount": False})
    assert run(box, FILL).killed == "disk"
    monkeypatch.setattr(landlock_sandbox, "MAX_FILES", 500)
    many = "import time\nfor number in range(700): open(str(number), 'w')\ntime.sleep(20); print('UNBOUNDED')"
    assert run(box, many).killed == "disk"
    assert not left_over()


def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    marker = f"caretbench-{os.getpid()}-bereft"
    supervisor = (
        "from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox\n"
        "from caretbench.execution.execution_types import Limits\n"
        "Sandbox(level='landlock').run(Invocation([{!r}, '-c', {!r}], limits=Limits()))"
    ).format(PYTHON, daemons(marker, "time.sleep(60)"))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    open_to_all(tmp_path)
    with subprocess.Popen([sys.executable, "-c", supervisor], env=environment) as killed:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if command_lines().count(f"{marker} -c") >= 4:
                break
            time.sleep(0.1)
        killed.kill()
    assert not still_runs(marker)
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_what_others_give_such_a_name_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o750)
    (victim / "kept").write_text("kept")
    (tmp_path / f"{landlock_sandbox._PREFIX}link").symlink_to(victim)
    own = tmp_path / f"{landlock_sandbox._PREFIX}own"
    deep = own
    for _ in range(300):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (own / "link").symlink_to(victim)
    (own / "d" / ".removed-0").mkdir()
    (own / "closed" / "inside").mkdir(parents=True)
    (own / "closed" / "inside" / "file").write_text("x")
    (own / "closed").chmod(0)
    in_use = tmp_path / f"{landlock_sandbox._PREFIX}in-use"
    in_use.mkdir()
    held = os.open(in_use, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    others = tmp_path / f"{landlock_sandbox._PREFIX}others"
    others.mkdir(mode=0o500)
    if os.geteuid() == 0:
        os.chown(others, ORDINARY_USER, ORDINARY_USER)
    landlock_sandbox.remove_leftover_folders()
    os.close(held)
    assert not own.exists()
    assert in_use.exists()
    assert (victim / "kept").read_text() == "kept"
    assert victim.stat().st_mode & 0o777 == 0o750
    if os.geteuid() == 0:
        assert others.stat().st_mode & 0o777 == 0o500


def test_a_folder_that_is_swapped_while_it_is_removed_opens_nothing(tmp_path: Path) -> None:
    """Its name leads elsewhere by now: neither modes nor files there change."""
    place, victim = tmp_path / "place", tmp_path / "victim"
    (place / "inside").mkdir(parents=True)
    victim.mkdir(mode=0o500)
    (victim / "closed").mkdir(mode=0o000)
    held = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    place.rename(tmp_path / "moved")
    place.symlink_to(victim)
    remove_folder(str(place), held)
    os.close(held)
    assert (victim.stat().st_mode & 0o777, (victim / "closed").stat().st_mode & 0o777) == (0o500, 0)
    assert place.is_symlink()
    assert list((tmp_path / "moved").iterdir()) == []


def test_the_launcher_can_be_neither_killed_nor_written_to(box: Sandbox) -> None:
    result = run(
        box,
        "import os, signal\n"
        "above = os.getppid()\n"
        "for number in (9, 15):\n"
        "    try: os.kill(above, number)\n"
        "    except OSError: pass\n"
        "for number in range(3, 250):\n"
        '    try: os.write(number, b\'{"error": "forged"}\\n\')\n'
        "    except OSError: pass\n"
        "os._exit(7)",
    )
    assert result.error is None
    assert result.exit_code == 7


def test_a_program_may_signal_all_it_reaches(box: Sandbox) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], user=ORDINARY_USER if os.geteuid() == 0 else None) as bystander:
        result = run(box, "import os\ntry: os.kill(-1, 9)\nexcept OSError: pass\nos._exit(3)", SMALL)
        alive = bystander.poll() is None
        bystander.kill()
    assert result.error is None
    assert result.exit_code in (3, None)
    assert alive


def test_paths_inside_lie_in_the_private_folder(box: Sandbox, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "name").write_text("bound")
    folder = tmp_path / "out"
    folder.mkdir()
    give(box, packages, folder)
    result = box.run(
        Invocation(
            ["/bin/sh", "-c", "cat /packages/name a/b.txt - > /out/0/file; echo $PLACE; cat ../link/name; ls /out"],
            limits=SMALL,
            files={"a/b.txt": " text"},
            read_only={"/packages": str(packages), "/tmp/link": str(packages)},
            writable={"/out/0": folder},
            environment={"PLACE": "/packages:/tmp/home"},
            stdin=b" input",
        )
    )
    assert result.ok, result.error or result.stderr.text
    assert (folder / "file").read_text() == "bound text input"
    assert result.stdout.text.endswith("bound0\n")
    assert "/.inside/packages:" in result.stdout.text
    nested = box.run(Invocation(["/bin/true"], limits=SMALL, read_only={"/a": str(packages), "/a/b": str(folder)}))
    assert nested.error is not None
    assert "needs namespaces" in nested.error


def test_what_a_project_leaves_is_read_out(box: Sandbox) -> None:
    result = box.run(
        Invocation(
            ["/bin/sh", "-c", "sleep 60 & echo 1 > made; ln -s /etc/passwd link; ln -s ../.. deep"],
            limits=SMALL,
            files={"one": "x"},
            tree=ProjectTree(folders=("sub",), executable=("one",), results=("made", "link", "deep/*")),
        )
    )
    assert result.ok, result.error or result.stderr.text
    found = {file.path: (file.data, file.problem) for file in result.files}
    assert found == {"made": (b"1\n", ""), "link": (b"", "it is a link")}


def test_interrupting_ends_what_runs() -> None:
    own = Sandbox(level="landlock")
    own.interrupt()
    assert own.run(Invocation(["/bin/sleep", "20"], limits=SMALL)).error == "interrupted"
    own.resume()
    assert own.run(Invocation(["/bin/true"], limits=SMALL)).ok


def test_what_is_not_given_is_refused(box: Sandbox) -> None:
    with pytest.raises(SandboxUnavailable, match="display"):
        box.run(Invocation(["/bin/true"], limits=SMALL, display=True))


def test_an_old_kernel_or_an_unknown_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine in ("x86_64", "aarch64"):
        program = landlock_seccomp_filter(owns_other_files=True, signals_scoped=False, machine=machine)
        assert program is not None
        assert len(program) % 8 == 0
    assert landlock_seccomp_filter(owns_other_files=True, signals_scoped=True, machine="vax") is None
    for offered in (0, 2):
        monkeypatch.setattr(landlock_sandbox, "landlock_abi", lambda offered=offered: offered)
        with pytest.raises(SandboxUnavailable, match=r"Linux 6\.2"):
            LandlockSandbox()


def test_modes_and_times_of_the_callers_files_are_kept(box: Sandbox, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    give(box, kept)
    kept.chmod(0o600)
    before = kept.stat()
    result = run(
        box,
        "import os\n"
        f"kept = {str(kept)!r}\n"
        "for change in (lambda: os.chmod(kept, 0o777), lambda: os.utime(kept, (1, 1)), \n"
        "               lambda: os.setxattr(kept, 'user.a', b''), lambda: os.chown(kept, -1, os.getgid())):\n"
        "    try: change()\n"
        "    except OSError: pass\n"
        "open('mine', 'w').close(); os.chmod('mine', 0o755); os.chmod('mine', 0o600)\n"
        "import shutil; shutil.copy('mine', 'copy')",
    )
    assert result.ok, result.stderr.text
    after = kept.stat()
    assert (after.st_mode, after.st_mtime, after.st_ctime) == (before.st_mode, before.st_mtime, before.st_ctime)


LOOK = """
import sys
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.execution_types import Limits
try: Sandbox(level="namespaces").probe()
except SandboxUnavailable as error: print("refused:", error)
box = Sandbox()
walls = box.probe()
print(walls.level, box.level, walls.network)
print(box.fallback_reason != "", box.run(Invocation(["/bin/sh", "-c", "echo here; exit 3"], limits=Limits())).exit_code)
"""
FORBID = """
import ctypes, os, struct, sys
def step(code, value, yes=0, no=0): return struct.pack("=HBBI", code, yes, no, value)
numbers = {"x86_64": (272, 165, 435, 56), "aarch64": (97, 40, 435, 220)}[os.uname().machine]
no = step(6, 0x50000 | 1)
program = step(32, 0) + b"".join(step(21, number, 0, 1) + no for number in numbers[:2])
program += step(21, numbers[2], 0, 1) + step(6, 0x50000 | 38)
program += step(21, numbers[3], 0, 3) + step(32, 16) + step(0x45, 0x7E020000, 0, 1) + no + step(6, 0x7FFF0000)
code = ctypes.create_string_buffer(program, len(program))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("way", ["setting", "filter"])
@pytest.mark.parametrize("ordinary", [False, True], ids=["caller", "ordinary"])
def test_where_namespaces_are_forbidden_programs_run_behind_landlock(way: str, ordinary: bool) -> None:
    """A setting of the kernel, and a filter like that of containers, really forbid them."""
    if ordinary and os.geteuid() != 0:
        pytest.skip("not started by root")
    places = [place for place in sys.path if place.endswith(("site-packages", "src"))]
    command = [PYTHON, "-c", LOOK]
    if way == "filter":
        command = [PYTHON, "-c", FORBID, *command]
    else:
        script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        command = ["/usr/bin/unshare", "-Ur", "/bin/sh", "-c", script, "sh", *command]
    user = ORDINARY_USER if ordinary else None
    done = subprocess.run(
        command, capture_output=True, text=True, cwd="/", check=False, user=user, group=user,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(places), "PYTHONDONTWRITEBYTECODE": "1"},
        extra_groups=() if ordinary else None,
    )  # fmt: skip
    if way == "setting" and "unshare failed" in done.stderr:
        pytest.skip("namespaces are forbidden here already")
    said = done.stdout.splitlines()
    if way == "setting" and os.geteuid() == 0 and not ordinary:
        remedy = "CaretBench as an ordinary user"  # there is root, and nobody else to run programs as
        assert remedy in said[0]
        assert done.stderr.splitlines()[-1].count(remedy) == 1
        assert len(said) == 1
        return
    assert said[0].startswith("refused: no sandbox can be built here"), done.stderr
    assert "max_user_namespaces" in said[0]
    assert said[1:] == ["landlock landlock none, no loopback", "True 3"], done.stderr
    assert done.stderr.count("weaker level landlock") == 1


def test_without_bubblewrap_programs_run_behind_landlock(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    isolation_levels.warn_weaker_level.cache_clear()
    monkeypatch.setattr(sandbox_module, "find_bubblewrap", lambda: None)
    monkeypatch.setenv("CARETBENCH_SANDBOX", "auto")
    assert Sandbox().probe().level == "landlock"
    assert "install bubblewrap" in capfd.readouterr().err
    monkeypatch.setenv("CARETBENCH_SANDBOX", "namespaces")
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        Sandbox().probe()
    monkeypatch.setenv("CARETBENCH_SANDBOX", "none")
    with pytest.raises(ValueError, match="expected auto"):
        Sandbox()
    monkeypatch.delenv("CARETBENCH_SANDBOX")
    monkeypatch.setattr(landlock_sandbox, "landlock_abi", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="no Landlock"):
        Sandbox(level="landlock").probe()
    with pytest.raises(SandboxUnavailable, match=r"apt-get install bubblewrap.*Landlock cannot stand in"):
        Sandbox().probe()


@pytest.mark.long
@pytest.mark.parametrize("name", list(toolchain_tables()))
def test_every_language_compiles_and_runs(name: str) -> None:
    good, bad = PROGRAMS[name]
    requests = [
        ExecutionRequest(id=f"{profile}-{kind}", language=name, source=text, profile=profile)
        for profile in ("default", "paper")
        for kind, text in (("good", good), ("bad", bad))
    ]
    executor = LocalExecutor(workers=2, use_cache=False, sandbox=Sandbox(level="landlock"))
    results = {result.id: result for result in executor.submit(requests)}
    if any(result.status is Status.SKIPPED for result in results.values()):
        pytest.skip(results["default-good"].reason)
    for profile in ("default", "paper"):
        assert results[f"{profile}-good"].status is Status.PASSED, results[f"{profile}-good"]
        assert results[f"{profile}-bad"].status is Status.FAILED, results[f"{profile}-bad"]
        isolation = results[f"{profile}-good"].isolation
        assert isolation is not None
        assert isolation.level == "landlock"


PROGRAMS = {
    "python": ("import tempfile\ntempfile.mkdtemp()\nassert 1 + 1 == 2", "assert 1 == 2"),
    "javascript": (
        "const f = require('fs'); f.mkdtempSync(require('os').tmpdir() + '/a'); require('assert').equal(1, 1)",
        "require('assert').equal(1, 2)",
    ),
    "typescript": ("const x: number = 1; if (x !== 1) throw new Error('a');",
                   "import * as assert from 'assert'; assert.equal(1, 2);"),
    "java": (
        "public class T { public static void main(String[] a) throws Exception {"
        " java.io.File.createTempFile(\"abc\", \"b\"); assert 1 == 1; } }",
        "public class T { public static void main(String[] a) { assert 1 == 2; } }",
    ),
    "cpp": ("#include <cassert>\nint main() { assert(1 == 1); }", "#include <cassert>\nint main() { assert(1 == 2); }"),
    "csharp": (
        "using System.Diagnostics; class P { static void Main() {"
        " System.IO.Path.GetTempFileName(); Debug.Assert(1 == 1); } }",
        "using System.Diagnostics; class P { static void Main() { Debug.Assert(1 == 2); } }",
    ),
    "go": (
        'package main\nimport "os"\nfunc main() { if _, e := os.MkdirTemp("", "a"); e != nil { panic(e) } }',
        'package main\nfunc main() { panic("assertion failed") }',
    ),
    "rust": (
        'fn main() { std::fs::write(std::env::temp_dir().join("a"), "a").unwrap(); assert!(true); }',
        "fn main() { assert_eq!(1, 2); }",
    ),
    "ruby": (
        "require 'minitest/autorun'\nrequire 'tmpdir'\nDir.mktmpdir\n"
        "class T < Minitest::Test; def test_a = assert(true); end",
        "require 'minitest/autorun'\nclass T < Minitest::Test; def test_a = assert_equal(1, 2); end",
    ),
}  # fmt: skip
