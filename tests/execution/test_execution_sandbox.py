"""Attacks on the walls, with real processes."""

from __future__ import annotations

import ast
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Limits, WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox import invocation as invocation_module
from caretbench.execution.sandbox import program_sandbox as sandbox_module
from caretbench.execution.sandbox.host.program_users import NoProgramUsers
from caretbench.execution.sandbox.invocation import MAX_FILES
from caretbench.execution.sandbox.kernel.seccomp import (
    landlock_seccomp_filter,
    seccomp_filter,
    system_call_numbers,
    system_calls_of,
)
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable, display_server
from caretbench.execution.sandbox.supervisor import SandboxResult
from tests.support.sandbox_boxes import PYTHON, opened, params

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

SMALL = Limits(wall_s=20, cpu_s=5, memory_mb=200, pids=24, tmp_mb=16, fsize_mb=8)


@pytest.fixture(scope="module", params=params("cold", "warm"))
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param) as sandbox:
        yield sandbox


def run(
    box: Sandbox, program: str, limits: Limits = SMALL, environment: Mapping[str, str] | None = None
) -> SandboxResult:
    return box.run(Invocation([PYTHON, "-I", "-c", program], limits=limits, environment=environment))


def test_probe_says_which_walls_stand(box: Sandbox) -> None:
    isolation = box.probe()
    assert (isolation.backend, isolation.level, isolation.network) == ("bubblewrap", "namespaces", "none")
    assert isolation.seccomp
    assert isolation.user == ("unprivileged" if os.geteuid() == 0 else "caller")


def test_nothing_of_the_host_environment_is_visible(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-secret")
    result = run(
        box,
        "import glob\n"
        "for name in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try: print(name, open(name, 'rb').read())\n"
        "    except OSError as error: print(name, error)\n"
        "import os; print(dict(os.environ))",
    )
    assert result.ok
    assert "PLANTED" not in result.stdout.text
    assert "sk-planted" not in result.stdout.text
    assert str(Path.home()) not in result.stdout.text.replace(walls.HOME, "")
    assert str(Path(sandbox_module.__file__).parent) not in result.stdout.text


def test_files_of_the_host_are_not_there(box: Sandbox) -> None:
    places = ["/root", "/home", "/var", "/sys", "/etc/shadow", "/etc/ssl/private", "/proc/1/root"]
    result = run(
        box,
        "import os\n"
        f"for place in {places!r}:\n"
        "    try: print('FOUND', place, os.listdir(place) if os.path.isdir(place) else open(place).read())\n"
        "    except OSError: pass\n"
        "print(open('/etc/passwd').read())",
    )
    assert "FOUND" not in result.stdout.text
    assert result.stdout.text.strip().splitlines() == [walls.ETC_FILES["/etc/passwd"].strip()]


def test_only_the_work_folder_and_tmp_can_be_written(box: Sandbox) -> None:
    result = run(
        box,
        "for place in ('/x', '/usr/x', '/etc/x', '/dev/x', '/run/x', '/proc/sys/kernel/hostname'):\n"
        "    try: open(place, 'w'); print('WROTE', place)\n"
        "    except OSError: pass\n"
        "open('here', 'w').write('1'); open('/tmp/there', 'w').write('1'); print('done')",
    )
    assert result.stdout.text == "done\n"


def test_loopback_is_up_and_nothing_else(box: Sandbox) -> None:
    result = run(
        box,
        "import socket\n"
        "server = socket.create_server(('localhost', 0))\n"
        "socket.create_connection(server.getsockname()[:2]); print('loopback')\n"
        "for place in (('1.1.1.1', 53), ('169.254.169.254', 80)):\n"
        "    try: socket.create_connection(place, timeout=2); print('REACHED', place)\n"
        "    except OSError: pass\n"
        "try: socket.getaddrinfo('example.com', 80); print('RESOLVED')\n"
        "except OSError: pass\n"
        "try: socket.socket(40, socket.SOCK_STREAM); print('VSOCK')\n"
        "except OSError as error: print(error.errno)",
    )
    assert result.stdout.text.split() == ["loopback", "97"]


def test_dangerous_system_calls_are_refused(box: Sandbox) -> None:
    machine = system_calls_of(None)
    assert machine is not None
    clone, clone3 = machine.calls["clone"], machine.calls["clone3"]
    calls = {name: machine.refused[name] for name in ("ptrace", "mount", "unshare", "bpf", "io_uring_setup")}
    result = run(
        box,
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {calls!r}.items():\n"
        "    print(name, libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
        f"print('clone', libc.syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())\n"
        f"print('clone3', libc.syscall({clone3}, 0, 0), ctypes.get_errno())",
    )
    said = dict(line.split(" ", 1) for line in result.stdout.text.splitlines())
    assert said.pop("clone3") == "-1 38"
    assert set(said.values()) == {"-1 1"}, said


def test_a_filter_is_made_for_known_machines_only() -> None:
    for machine in ("x86_64", "aarch64"):
        program = seccomp_filter(machine)
        assert program is not None
        assert len(program) % 8 == 0
    assert seccomp_filter("vax") is None


@pytest.mark.parametrize(
    ("machine", "usual", "confined"),
    [("x86_64", "8029873dbe79c337", "60efa9a206df9f71"), ("arm64", "d14198755824a5ca", "e35338bf9f4756be")],
)
def test_filters_stay_as_they_are(machine: str, usual: str, confined: str) -> None:
    """Numbers of system calls come from a data file: what is refused changes only on purpose."""
    filters = (
        seccomp_filter(machine),
        landlock_seccomp_filter(owns_other_files=False, signals_scoped=False, machine=machine),
    )
    assert [hashlib.sha256(program or b"").hexdigest()[:16] for program in filters] == [usual, confined]


def test_numbers_of_system_calls_are_complete() -> None:
    x86, arm = system_call_numbers()["x86_64"], system_call_numbers()["aarch64"]
    assert {"socket", "setsockopt", "clone", "clone3", "ioctl", *x86.refused} <= x86.calls.keys()
    assert x86.refused.keys() - arm.refused.keys() == {"ustat", "sysfs", "modify_ldt", "iopl", "ioperm"}
    for one in (x86, arm):
        assert len({*one.calls.values()}) == len(one.calls), "two calls with one number"


def test_disk_in_memory_is_bounded(box: Sandbox) -> None:
    result = run(
        box,
        "for place in ('/tmp', '/dev/shm'):\n"
        "    try:\n"
        "        for part in range(10): open(f'{place}/{part}', 'wb').write(bytes(4 << 20))\n"
        "        print('UNBOUNDED')\n"
        "    except OSError as error: print(error.errno)\n",
    )
    assert result.stdout.text.split() == ["28", "28"]


FILES_UNTIL_FULL = """
import os
for place in ('/tmp', '/dev/shm'):
    os.mkdir(place + '/many')
    made = 0
    try:
        while made < 100_000:
            os.close(os.open(f'{place}/many/{made}', os.O_CREAT | os.O_WRONLY))
            made += 1
        print('UNBOUNDED')
    except OSError as error: print(error.errno, made)
"""


def test_the_number_of_files_in_memory_is_bounded(box: Sandbox) -> None:
    result = run(box, FILES_UNTIL_FULL)
    assert result.ok, (result.error, result.stderr.text)
    for line in result.stdout.text.splitlines():
        number, made = map(int, line.split())
        assert number == errno.ENOSPC
        assert MAX_FILES - 10 < made < MAX_FILES


def test_what_is_bound_below_tmp_is_there_under_the_bound(tmp_path: Path) -> None:
    """Folders, files, one in another, one that may be written, and names that the kernel escapes."""
    for name in ("folder", "inner", "written"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    (tmp_path / "folder" / "deep").mkdir()
    (tmp_path / "written").chmod(0o777)
    (tmp_path / "file").write_text("file")
    result = Sandbox(level="namespaces").run(Invocation(
        ["/bin/sh", "-c", "cat '/tmp/ö b/name' '/tmp/ö b/deep/name' /tmp/a/file written/name && echo x > written/new;"
         " echo y > '/tmp/ö b/new'; pwd; ls -A /tmp/work"],
        limits=SMALL,
        read_only={
            "/tmp/ö b": str(tmp_path / "folder"),
            "/tmp/ö b/deep": str(tmp_path / "inner"),
            "/tmp/a/file": str(tmp_path / "file"),
        },
        writable={"/tmp/work/written": tmp_path / "written"},
    ))  # fmt: skip
    assert result.stdout.text == "folderinnerfilewritten/tmp/work\nwritten\n", result
    assert (tmp_path / "written" / "new").read_text() == "x\n"
    assert not (tmp_path / "folder" / "new").exists()


def test_cpu_time_of_all_processes_counts(box: Sandbox) -> None:
    program = "import os\nfor _ in range(4): os.fork()\nwhile True: pass"
    result = run(box, program, SMALL.model_copy(update={"cpu_s": 1, "wall_s": 40}))
    assert result.killed == "cpu" or result.signal is not None


def test_the_launcher_can_be_neither_killed_nor_written_to(box: Sandbox) -> None:
    result = run(
        box,
        "import os, signal\n"
        "os.kill(1, signal.SIGKILL); os.kill(1, signal.SIGTERM)\n"
        "for name in ('mem', 'fd', 'environ'):\n"
        "    try:\n"
        "        os.listdir('/proc/1/fd') if name == 'fd' else open(f'/proc/1/{name}', 'rb').read(1)\n"
        "        print('OPEN', name)\n"
        "    except OSError: pass\n"
        "os.kill(-1, signal.SIGKILL)",
    )
    assert "OPEN" not in result.stdout.text
    assert result.error is None
    assert result.exit_code is not None or result.signal is not None


def test_a_program_cannot_choose_to_be_our_fault(box: Sandbox) -> None:
    for program in (
        "import sys; sys.stderr.write('bwrap: No space left on device'); sys.exit(1)",
        "import os\nfor number in range(3, 250):\n"
        '    try: os.write(number, b\'{"error": "forged"}\\n\')\n'
        "    except OSError: pass\n"
        "os._exit(127)",
        "import os; os.abort()",
    ):
        assert run(box, program).error is None


def test_links_lead_nowhere(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    result = run(
        box,
        "import os\n"
        f"os.symlink({str(secret)!r}, 'link')\n"
        "try: print('READ', open('link').read())\n"
        "except OSError: print('closed')\n"
        "try: os.link('/usr/bin/env', 'hard'); print('LINKED')\n"
        "except OSError: print('closed')\n"
        "try: os.mknod('device', 0o60644, os.makedev(254, 0)); print('MADE')\n"
        "except OSError: print('closed')",
    )
    assert result.stdout.text.split() == ["closed"] * 3


def test_nothing_is_left_for_the_next_program(box: Sandbox) -> None:
    run(box, "open('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w').write('x')")
    result = run(box, "import os; print(os.path.exists('/tmp/left'), os.path.exists('/dev/shm/left'))")
    assert result.stdout.text.split() == ["False", "False"]


def test_files_input_and_the_work_folder(box: Sandbox) -> None:
    result = box.run(
        Invocation(
            [PYTHON, "-c", "import sys, os; print(os.getcwd(), open('a/b.txt').read(), sys.stdin.read())"],
            limits=SMALL,
            files={"a/b.txt": "text \ud800".encode("utf-8", "replace")},
            stdin=b"input",
        )
    )
    assert result.stdout.text == f"{walls.WORK} text ? input\n"
    with pytest.raises(ValueError, match="outside"):
        box.run(Invocation(["/bin/true"], limits=SMALL, files={"../../etc/passwd": ""}))


def test_a_compiler_can_leave_files_in_a_writable_folder(box: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    result = box.run(Invocation(["/bin/sh", "-c", "echo made > /out/file"], limits=SMALL, writable={"/out": folder}))
    assert result.ok, result.stderr.text
    assert (folder / "file").read_text() == "made\n"


def test_interrupting_ends_what_runs(box: Sandbox) -> None:
    own = Sandbox()
    own.interrupt()
    assert own.run(Invocation(["/bin/sleep", "20"], limits=SMALL)).error == "interrupted"
    own.resume()
    assert own.run(Invocation(["/bin/true"], limits=SMALL)).ok


def test_without_bubblewrap_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "find_bubblewrap", lambda: None)
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        Sandbox(level="namespaces").probe()


def test_where_namespaces_are_forbidden_the_remedy_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new user namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="apparmor_restrict_unprivileged_userns"):
        Sandbox(str(broken), level="namespaces").probe()


def test_namespaces_that_run_out_after_the_probe_are_no_verdict_and_name_the_remedy(tmp_path: Path) -> None:
    bwrap, closed = tmp_path / "bwrap", tmp_path / "closed"
    closed.mkdir(mode=0o700)
    works = f'#!/bin/sh\nexec {walls.find_bubblewrap()} "$@"\n'
    ended = (
        "#!/bin/sh\necho 'bwrap: Creating new namespace failed: /proc/sys/user/max_*_namespaces exceeded' >&2\nexit 1\n"
    )
    bwrap.write_text(works)
    bwrap.chmod(0o755)
    box = Sandbox(str(bwrap), level="namespaces")
    box.probe()
    for warm in (None, WarmSettings()):
        for binds in ({}, {"/opt/bundle": str(closed)}):
            program = Invocation(["/bin/true"], limits=SMALL, read_only=binds, warm=warm)
            box.close()
            bwrap.write_text(ended)
            assert "sysctl -w user.max_user_namespaces" in (box.run(program).error or "")
            bwrap.write_text(works)
            assert box.run(program).ok
    box.close()


def test_a_reason_that_both_levels_share_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> range:
        raise NoProgramUsers("root has no users to give")

    for module in ("program_sandbox", "kernel.landlock_sandbox", "warm_sandbox"):
        monkeypatch.setattr(f"caretbench.execution.sandbox.{module}.program_users", nobody)
    with pytest.raises(SandboxUnavailable, match=r"^root has no users to give$"):
        Sandbox().probe()


@pytest.mark.skipif(display_server() is None, reason="Xvfb is not installed")
def test_a_display_is_there_on_demand(box: Sandbox) -> None:
    program = (
        "import os, socket\ns = socket.socket(socket.AF_UNIX)\n"
        "s.connect('/tmp/.X11-unix/X' + os.environ['DISPLAY'][1:]); print('connected')"
    )
    result = box.run(Invocation([PYTHON, "-c", program], limits=Limits(), display=True))
    assert result.stdout.text == "connected\n"


def test_the_drawn_descriptors_never_meet_the_launchers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher's channel has the number that it has out here, where many files may be open."""
    cold = Sandbox()
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(50)]
    try:
        for number in range(held[-1] + 1, held[-1] + 16, 2):
            drawn = [number, number + 1]
            monkeypatch.setattr(invocation_module, "_random_descriptors", lambda _nofile, drawn=drawn: drawn)
            assert cold.run(Invocation(["/bin/true"], limits=SMALL, sentinel=True)).error is None
    finally:
        for descriptor in held:
            os.close(descriptor)


# 37: F_OFD_SETLK, a lock that the next close of the file does not end.
HOLDS = """
import fcntl, os, struct, time
open_files = [open(path, 'a+' if path.startswith('/tmp') else 'r') for path in (os.__file__, '/tmp/own')]
for each in open_files: fcntl.flock(each, fcntl.LOCK_EX)
fcntl.fcntl(open_files[0], 37, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 0, 0, 0))
print('holds', flush=True)
for _ in range(60): open(os.__file__).close(); open('/tmp/own').close(); time.sleep(.05)
"""
SEEKS = """
import ctypes, fcntl, os, struct, time
library, seen = ctypes.CDLL(None), set()
paths = {'shared': os.__file__, 'own': '/tmp/own'}
open('/tmp/own', 'w').close()
files = {name: open(path) for name, path in paths.items()}
watch = {name: library.inotify_init1(os.O_NONBLOCK) for name in paths}
for name, path in paths.items(): assert library.inotify_add_watch(watch[name], path.encode(), 0x20) >= 0
end = time.monotonic() + 3
while time.monotonic() < end:
    for name, file in files.items():
        try: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB); fcntl.flock(file, fcntl.LOCK_UN)
        except OSError: seen.add(f'lock of {name}')
        asked = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))
        if struct.unpack('hhqqi', asked)[0] != fcntl.F_UNLCK: seen.add(f'record of {name}')
        try: seen.add(f'event of {name}' if os.read(watch[name], 4096) else '')
        except OSError: pass
    time.sleep(.05)
print(sorted(seen))
"""


def test_programs_at_a_time_find_each_other_by_files_that_all_read_and_by_no_other(box: Sandbox) -> None:
    """What the page says of locks and watches: a bit passes by a shared file, which no program's own folder has."""
    with ThreadPoolExecutor(2) as both:
        holds, seeks = both.map(lambda program: run(box, program), (HOLDS, SEEKS))
    assert (holds.ok, seeks.ok) == (True, True), (holds.stderr.text, seeks.stderr.text)
    found = {*ast.literal_eval(seeks.stdout.text)}
    assert found == {"lock of shared", "record of shared", "event of shared"}
    page = (Path(__file__).parents[2] / "docs/explanation/sandbox.md").read_text("utf-8")
    assert "Programs find each other by `flock`, record locks and inotify on files that all read" in page
