"""Attacks on the Landlock walls, with real processes: as root's unprivileged users, and as an ordinary user."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution import landlock, walls
from caretbench.execution.confined_calls import NUMBERS, confined_filter
from caretbench.execution.landlock import LandlockUnavailable, LandlockWalls
from caretbench.execution.sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.supervisor import SandboxResult
from caretbench.execution.types import Limits, ProjectTree

pytestmark = pytest.mark.skipif(landlock.landlock_abi() < landlock.OLDEST_ABI, reason="no Landlock here")

PYTHON = walls.launcher_interpreter()[0]
SMALL = Limits(wall_s=30, cpu_s=5, memory_mb=200, pids=24, tmp_mb=16, fsize_mb=8)


PREFIX = f"caretbench-box-of-{os.getpid()}-"


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landlock, "_PREFIX", PREFIX)
        sandbox = Sandbox(level="landlock")
        try:
            sandbox.probe()
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        yield sandbox


def run(box: Sandbox, program: str, limits: Limits = SMALL) -> SandboxResult:
    return box.run([PYTHON, "-I", "attack.py"], limits=limits, files={"attack.py": program})


def left_over() -> list[str]:
    return [str(place) for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")]


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
    numbers = NUMBERS[os.uname().machine]
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
    with subprocess.Popen(["/bin/sleep", "60"]) as bystander:
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
            "    import time; time.sleep(60)\n"
            "os.kill(child, 9); print(os.wait()[1])",
        )
        alive = bystander.poll() is None
        bystander.kill()
    assert result.stdout.text == "9\n", result.stderr.text
    assert result.sentinel is False
    assert alive


def test_forks_are_bounded(box: Sandbox) -> None:
    result = run(
        box,
        "import os, time\n"
        "for _ in range(3000):\n"
        "    if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "print('UNBOUNDED'); time.sleep(5)",
    )
    assert "UNBOUNDED" not in result.stdout.text
    assert result.killed == "processes" or "BlockingIOError" in result.stderr.text
    assert not left_over()


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


def test_memory_is_bounded(box: Sandbox) -> None:
    result = run(box, "hoard = []\nwhile True: hoard.append(bytearray(1 << 20))")
    assert result.killed == "memory" or "MemoryError" in result.stderr.text
    shared = (
        "import mmap, os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        parts = [mmap.mmap(-1, 40 << 20) for _ in range(3)]\n"
        "        for part in parts:\n"
        "            for at in range(0, len(part), 4096): part[at] = 1\n"
        "        time.sleep(20)\n"
        "        os._exit(0)\n"
        "time.sleep(20)"
    )
    assert run(box, shared).killed == "memory"


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


def test_files_are_bounded_where_nothing_can_be_mounted(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = LandlockWalls._walls
    monkeypatch.setattr(LandlockWalls, "_walls", lambda *given: original(*given) | {"mount": False})
    assert run(box, FILL).killed == "disk"
    monkeypatch.setattr(landlock, "_MOST_ENTRIES", 500)
    many = "import time\nfor number in range(700): open(str(number), 'w')\ntime.sleep(20); print('UNBOUNDED')"
    assert run(box, many).killed == "disk"
    assert not left_over()


def test_a_flood_of_output_ends_the_program(box: Sandbox) -> None:
    limits = SMALL.model_copy(update={"output_kb": 8, "output_kill_mb": 1})
    result = run(box, "import os\nos.write(1, b'head')\nwhile True: os.write(1, b'x' * 65536)", limits)
    assert result.killed == "output"
    assert result.stdout.text.startswith("head")


def test_an_endless_loop_is_ended_by_its_cpu_time(box: Sandbox) -> None:
    result = run(box, "while True: pass", SMALL.model_copy(update={"cpu_s": 1}))
    assert result.signal == signal.SIGXCPU


def _running(marker: str) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        listing = subprocess.run(
            ["/bin/ps", "-eo", "args"], capture_output=True, text=True, check=True
        ).stdout
        if marker not in listing:
            return False
        time.sleep(0.1)
    return True


def daemons(marker: str, then: str) -> str:
    """Twice forked, deaf to signals, in sessions and groups of their own, with no one above them."""
    return (
        "import os, signal, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.setpgid(0, 0)\n"
        "        for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)\n"
        "        os.close(1); os.close(2)\n"
        f"        os.execv('/bin/sh', ['{marker}', '-c', 'trap \"\" TERM; sleep 60; :'])\n"
        f"{then}"
    )


@pytest.mark.parametrize(("then", "killed"), [("os._exit(0)", None), ("time.sleep(60)", "wall")])
def test_daemons_do_not_outlive_their_program(box: Sandbox, then: str, killed: str | None) -> None:
    marker = f"caretbench-{os.getpid()}-daemon"
    result = run(box, daemons(marker, then), SMALL.model_copy(update={"wall_s": 2}))
    assert result.killed == killed
    assert not _running(marker)
    assert not left_over()


def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    marker = f"caretbench-{os.getpid()}-bereft"
    supervisor = (
        "from caretbench.execution.sandbox import Sandbox\n"
        "from caretbench.execution.types import Limits\n"
        "Sandbox(level='landlock').run([{!r}, '-c', {!r}], limits=Limits())"
    ).format(PYTHON, daemons(marker, "time.sleep(60)"))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for parent in (tmp_path, *tmp_path.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", supervisor], env=environment) as killed:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            listing = subprocess.run(
                ["/bin/ps", "-eo", "args"], capture_output=True, text=True, check=True
            ).stdout
            if listing.count(f"{marker} -c") >= 4:
                break
            time.sleep(0.1)
        killed.kill()
    assert not _running(marker)
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


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
    result = run(box, "import os\nos.kill(-1, 9)\nos._exit(3)")
    assert result.error is None
    assert result.exit_code in (3, None)


def test_the_sentinel_needs_the_word(box: Sandbox) -> None:
    harness = (
        "import os\na, b = map(int, os.environ['CARETBENCH_SENTINEL'].split(':'))\nword = os.read(a, 64)\n"
        "os.write(b, {})"
    )
    for sent, reached in (("word", True), ("b'guess'", False), ("word + b'x'", False)):
        result = box.run([PYTHON, "-c", harness.format(sent)], limits=SMALL, sentinel=True)
        assert (result.exit_code, result.sentinel) == (0, reached)


def test_paths_inside_lie_in_the_private_folder(box: Sandbox, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "name").write_text("bound")
    folder = tmp_path / "out"
    folder.mkdir()
    result = box.run(
        [
            "/bin/sh",
            "-c",
            "cat /packages/name a/b.txt - > /out/0/file; echo $PLACE; cat ../link/name; ls /out",
        ],
        limits=SMALL,
        files={"a/b.txt": " text"},
        read_only={"/packages": str(packages), "/tmp/link": str(packages)},
        writable={"/out/0": folder},
        environment={"PLACE": "/packages:/tmp/home"},
        stdin=b" input",
    )
    assert result.ok, result.error or result.stderr.text
    assert (folder / "file").read_text() == "bound text input"
    assert result.stdout.text.endswith("bound0\n")
    assert "/.inside/packages:" in result.stdout.text
    nested = box.run(["/bin/true"], limits=SMALL, read_only={"/a": str(packages), "/a/b": str(folder)})
    assert nested.error is not None
    assert "needs namespaces" in nested.error


def test_what_a_project_leaves_is_read_out(box: Sandbox) -> None:
    result = box.run(
        ["/bin/sh", "-c", "sleep 60 & echo 1 > made; ln -s /etc/passwd link; ln -s ../.. deep"],
        limits=SMALL,
        files={"one": "x"},
        tree=ProjectTree(folders=("sub",), executable=("one",), results=("made", "link", "deep/*")),
    )
    assert result.ok, result.error or result.stderr.text
    found = {file.path: (file.data, file.problem) for file in result.files}
    assert found == {"made": (b"1\n", ""), "link": (b"", "it is a link")}


def test_interrupting_ends_what_runs() -> None:
    own = Sandbox(level="landlock")
    own.interrupt()
    assert own.run(["/bin/sleep", "20"], limits=SMALL).error == "interrupted"
    own.resume()
    assert own.run(["/bin/true"], limits=SMALL).ok


def test_what_is_not_given_is_refused(box: Sandbox) -> None:
    with pytest.raises(SandboxUnavailable, match="display"):
        box.run(["/bin/true"], limits=SMALL, display=True)


def test_an_old_kernel_or_an_unknown_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine in ("x86_64", "aarch64"):
        program = confined_filter(own_files=True, scoped=False, machine=machine)
        assert program is not None
        assert len(program) % 8 == 0
    assert confined_filter(own_files=True, scoped=True, machine="vax") is None
    for offered in (0, 2):
        monkeypatch.setattr(landlock, "landlock_abi", lambda offered=offered: offered)
        with pytest.raises(LandlockUnavailable, match=r"Linux 6\.2"):
            LandlockWalls()
