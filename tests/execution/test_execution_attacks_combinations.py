"""Attacks in every combination: who starts them, which kind of sandbox, and how closed lies what it needs.

By default the fast attacks of Python and C++; ``CARETBENCH_ATTACKS=all`` runs those of all languages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.host.program_users import program_users
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.files import cache_folder
from tests.support.attack_table import NO_VERDICT, tables
from tests.support.other_user import PYTHON, attack_home

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

ALL = os.environ.get("CARETBENCH_ATTACKS") == "all"
LANGUAGES = tuple(tables()) if ALL else ("python", "cpp")
CHILD = """
import json, sys
from attack_table import run, tables
from caretbench.execution.execution_types import ExecutionRequest, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.warm_sandbox import WarmWorkerPool
kind, languages, places, rest = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
if kind == "unnested":
    WarmWorkerPool._take = lambda *_: None
try:
    Sandbox().probe()
except SandboxUnavailable as error:
    print(json.dumps({"refused": str(error)}))
    sys.exit()
slow = {Status.TIMEOUT, Status.OUT_OF_MEMORY}
said = {}
for language in languages:
    table = tables()[language]
    chosen = [a for a in table.attacks if a.leaves_its_process and "giant" not in a.name and not slow & set(a.statuses)]
    for name, result in run(table, places, workers=4, attacks=chosen).items():
        why = result.reason + result.stderr.text[-300:] + result.diagnostics[:300]
        walls = result.isolation and (result.isolation.level, result.isolation.user)
        said[f"{language}/{name}"] = (result.status, result.stdout.text[:2000], why, walls)
for name, source in rest.items():
    language, _, _ = name.partition("/")
    [result] = LocalExecutor(1, use_cache=False).submit(
        [ExecutionRequest(id=name, language=language, source=source, limits=Limits(compile_wall_s=120))]
    )
    said[name] = (result.status, result.stdout.text[:2000], result.reason + result.stderr.text[-300:], None)
together = [
    ExecutionRequest(id=name, language="python", source=source, limits=Limits(wall_s=30))
    for name, source in json.loads(sys.argv[5]).items()
]
for result in LocalExecutor(len(together), use_cache=False).submit(together):
    why = result.reason + result.stderr.text[-300:]
    said[result.id] = (result.status, result.stdout.text[:2000], why, result.attempt)
print(json.dumps(said))
"""
TOGETHER = {
    "takes descriptors": """
import socket, time
one, other = socket.socketpair()
taken = 0
try:
    while taken < 5000:
        socket.send_fds(one, [b"x"], [0] * 250)
        taken += 250
        print("under way", taken, flush=True)
except OSError as error:
    print(error, flush=True)
time.sleep(4)
""",
    "needs descriptors": """
import socket, time
end = time.monotonic() + 3
one, other = socket.socketpair()
while time.monotonic() < end:
    socket.send_fds(one, [b"x"], [0])
    assert len(socket.recv_fds(other, 1, 1)[1]) == 1
    time.sleep(0.02)
""",
    "takes watches": """
import ctypes, time
library, taken = ctypes.CDLL(None), 0
while taken < 200 and library.inotify_init() >= 0:
    taken += 1
print("watching", taken, flush=True)
time.sleep(4)
""",
    "needs watches": """
import ctypes, time
end = time.monotonic() + 3
library = ctypes.CDLL(None)
import os
while time.monotonic() < end:
    descriptor = library.inotify_init()
    assert descriptor >= 0, "inotify"
    os.close(descriptor)
    time.sleep(0.02)
""",
    "queues and contexts": """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": (240, 206), "aarch64": (180, 0)}[__import__("os").uname().machine]
assert library.syscall(number[0], b"queue", 0o102, 0o600, None) < 0
context = ctypes.c_ulong()
assert library.syscall(number[1], 60000, ctypes.byref(context)) < 0
import socket
one, other = socket.socketpair()
try:
    one.setsockopt(socket.SOL_SOCKET, 60, 1)
    raise SystemExit("it sends without a copy")
except OSError:
    pass
""",
}
"""Programs that run at a time: some take what the kernel counts for a user, others need a little of it."""
KINDS = ("namespaces", "unnested", "landlock")
CSHARP = "using System;\nclass Program { static void Main() { Console.WriteLine(1); } }\n"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with attack_home() as folder:
        yield folder


@pytest.fixture
def lie(home: Path) -> Iterator[Callable[[int, bool], tuple[Path, Path]]]:
    """Place the cache and bubblewrap in folders that all users, or only the starting user, may enter."""
    with tempfile.TemporaryDirectory(prefix="combination-") as name:
        Path(name).chmod(0o755)

        def lay(user: int, closed: bool) -> tuple[Path, Path]:
            top = Path(name) / "top"
            cache, tools = top / "cache", top / "tools"
            shutil.copytree(
                home / "cache", cache, symlinks=True, ignore=shutil.ignore_patterns("verdicts*", "bundles", "dotnet")
            )
            tools.mkdir()
            shutil.copy(walls.find_bubblewrap() or "", tools / "bwrap")
            # Toolchains that lie where the cache lies, though they are another user's.
            linked = ["dotnet"] * (closed or ALL) + ["bundles/tools/typescript"] * ALL
            for toolchain in (name for name in linked if (cache_folder() / name).is_dir()):
                (cache / toolchain).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["/bin/cp", "-al", cache_folder() / toolchain, cache / toolchain], check=True)
            for place in (
                top,
                tools,
                tools / "bwrap",
                cache,
                *(p for p in cache.rglob("*") if not {"dotnet", "typescript"} & set(p.parts)),
            ):
                os.lchown(place, user, user)
            if closed:
                for place in (top, cache, tools, tools / "bwrap"):
                    place.chmod(0o700)
            return cache, tools

        yield lay


class _Watch:
    """Looks at every process of a sandbox that appears below this one, and remembers those that are root."""

    def __init__(self) -> None:
        own = Path("/proc/self/status").read_text()
        self._usual = own.partition("Seccomp:\t")[2].split()[0]
        self.root: set[str] = set()
        self.users: set[int] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.is_set():
            for pid in descendants(os.getpid()):
                try:
                    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
                    facts = dict(row.split(":\t", 1) for row in rows if ":\t" in row)
                    if len(facts["NSpid"].split()) > 1 or facts["Seccomp"] != self._usual:
                        found = set(map(int, facts["Uid"].split()))
                        self.users |= found
                        if 0 in found:
                            self.root.add(f"{facts['Name']} {Path(f'/proc/{pid}/cmdline').read_text()[:200]}")
                except (OSError, KeyError):
                    continue
            time.sleep(0.05)


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("starter", ["root", "ordinary"])
def test_attacks_in_every_combination(
    starter: str, kind: str, closed: bool, lie: Callable[[int, bool], tuple[Path, Path]], home: Path
) -> None:
    # One for each combination, as these run at a time: what the kernel counts for a user is shared by all of a user's.
    caller = 0 if starter == "root" else 64_130 + 2 * KINDS.index(kind) + closed
    cache, tools = lie(caller, closed)
    secret = cache / "secret"
    secret.write_text("planted")
    places = {
        "@PLANTED@": "planted-word", "@SECRET_FILE@": str(secret), "@HOST_HOME@": str(home), "@CACHE@": str(cache),
        "@PORT@": "9", "@ABSTRACT@": "absent", "@PID@": str(os.getpid()), "@MARKER@": "left", "@UNIQUE@": "left",
        "@NESTED@": "(" * 20_000 + ")" * 20_000, "@NESTED_LESS@": "((()))", "@GIANT@": "x", "@WIDE@": "x",
    }  # fmt: skip
    rest = {"csharp/toolchain": CSHARP} if closed and (cache / "dotnet").is_dir() else {}
    user = caller or None
    core_pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    with _Watch() as watch:
        done = subprocess.run(
            [PYTHON, "-I", "-c", f"import sys; sys.path.insert(0, {str(home)!r})\n{CHILD}", kind, json.dumps(LANGUAGES),
             json.dumps(places), json.dumps(rest), json.dumps(TOGETHER)],
            env={
                "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(cache), "CARETBENCH_CACHE": str(cache),
                "TMPDIR": tempfile.gettempdir(), "PLANTED_API_KEY": "planted-word",
                "CARETBENCH_SANDBOX": "landlock" if kind == "landlock" else "namespaces",
            },
            cwd="/", user=user, group=user, extra_groups=None if user is None else [], capture_output=True, text=True,
            check=False, timeout=900,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    if "refused" in results:
        assert not closed, f"refused, though nothing but closed folders is against it: {results['refused']}"
        pytest.skip(results["refused"])
    assert not watch.root
    given = program_users()
    assert given is not None
    assert watch.users
    assert watch.users <= ({caller} if caller else set(given)) or kind == "landlock"
    assert Path("/proc/sys/kernel/core_pattern").read_text() == core_pattern
    for name in TOGETHER:
        status, printed, said, attempt = results.pop(name)
        assert status == Status.PASSED, (name, printed, said)
        assert attempt == 1 or starter == "ordinary", (name, "a user of its own is not held up by others")
    wrong = {}
    for name, (status, printed, said, where) in results.items():
        language, _, attack_name = name.partition("/")
        attack = next((attack for attack in tables()[language].attacks if attack.name == attack_name), None)
        right = attack.statuses if attack is not None else (Status.PASSED, Status.SKIPPED)
        if kind == "landlock":  # the literal /tmp is closed to it, and sockets
            right = (*right, Status.FAILED, Status.RUNTIME_ERROR)
        if status not in right or (status in NO_VERDICT and attack is not None) or "REACHED" in printed:
            wrong[name] = (status, printed[:300], said)
        if where is not None:
            level = "landlock" if kind == "landlock" else "namespaces"
            assert where[0] == level
            assert where[1].startswith("caller" if starter == "ordinary" else "unprivileged")
    assert not wrong
