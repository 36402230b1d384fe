"""Programs in sandboxes that stand already: as apart from each other as in sandboxes of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status, WarmSettings
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox import launcher, warm_sandbox
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxResult, SandboxUnavailable
from caretbench.execution.sandbox.warm_sandbox import WarmWorker, WarmWorkerKey, WarmWorkerPool
from caretbench.execution.toolchains.python import ENVIRONMENT
from caretbench.problem import Profile

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

PYTHON = walls.launcher_interpreter()[0]
LIMITS = Limits(wall_s=30, cpu_s=10)


@pytest.fixture
def box() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


def run(box: Sandbox, program: str, **options: bool) -> SandboxResult:
    return box.run(Invocation([PYTHON, "-c", program], limits=LIMITS, warm=WarmSettings(), **options))  # type: ignore[arg-type]


def python(source: str, identity: str = "a") -> ExecutionRequest:
    return ExecutionRequest(id=identity, language="python", source=source, limits=LIMITS)


def workers(box: Sandbox) -> list[WarmWorker]:
    found: WarmWorkerPool = box._workers
    return list(found._workers.values())


TERMINALS = """
import os, sys, time
for name in os.listdir('/dev/pts'):
    if name != 'ptmx': print('REACHED', name)
master, slave = os.openpty()
os.write(slave, b'mine'); assert os.read(master, 4) == b'mine'
assert os.ttyname(slave) == '/dev/pts/0' and os.stat('/dev/pts/0').st_uid == os.getuid()
import pty
child, shell = pty.fork()
if child == 0: os.execv('/bin/sh', ['sh', '-c', 'test -t 0 && tty'])
assert b'/dev/pts/1' in os.read(shell, 100)
time.sleep(1)
taken = []
try:
    while len(taken) < 100: taken.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))
except OSError: pass
print(len(taken) + 2)
time.sleep(1)
"""


@pytest.mark.parametrize("way", ["cold", "warm"])
def test_each_program_has_terminals_of_its_own(box: Sandbox, way: str) -> None:
    """Two at a time: neither sees the other's, each has as many as it may, and neither leaves the other without."""
    argv = [PYTHON, "-I", "-c", TERMINALS]
    with ThreadPoolExecutor(2) as pool:
        kind = WarmSettings() if way == "warm" else None
        runs = [pool.submit(box.run, Invocation(argv, limits=LIMITS, warm=kind)) for _ in range(2)]
        results = [run.result() for run in runs]
    for result in results:
        assert result.ok, (result.error, result.stderr.text)
        assert result.stdout.text == f"{launcher.TERMINALS}\n"


def test_programs_find_nothing_of_each_other(box: Sandbox) -> None:
    leave = (
        "import os, subprocess\n"
        "for place in ('/tmp/left', '/dev/shm/left', '/tmp/work/left', '/tmp/home/left'): open(place, 'w').write('x')\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
    )
    assert run(box, leave).ok
    look = (
        "import os\n"
        "print([os.listdir(place) for place in ('/tmp', '/dev/shm', '/tmp/work', '/tmp/home', '/run/artefacts')])\n"
        "print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))\n"
    )
    seen = run(box, look).stdout.text.splitlines()
    assert sorted(seen[0]) == sorted("[['work', 'home'], [], [], [], []]") or seen[0] == (
        "[['home', 'work'], [], [], [], []]"
    )
    assert seen[1] == "[1, 2]"


def test_programs_at_the_same_time_have_a_network_and_processes_of_their_own(box: Sandbox) -> None:
    serve = (
        "import os, socket, time\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 8080)); s.listen(); time.sleep(0.5)\n"
        "c = socket.create_connection(('127.0.0.1', 8080)); print('connected', os.getpid())\n"
    )
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: run(box, serve), range(4)))
    assert [result.stdout.text for result in results] == ["connected 2\n"] * 4
    assert len(workers(box)) == 1


def test_a_worker_that_dies_takes_no_verdict_with_it(box: Sandbox, tmp_path: Path) -> None:
    executor = LocalExecutor(2, sandbox=box, cache=ResultCache(tmp_path))
    done = threading.Event()

    def kill_workers() -> None:
        for _ in range(2):  # a program is started three times at most
            while not workers(box) and not done.is_set():
                time.sleep(0.01)
            time.sleep(0.4)
            for worker in workers(box):
                worker._process.kill()

    killer = threading.Thread(target=kill_workers)
    killer.start()
    slow = [python(f"import time\ntime.sleep(0.3)\nassert {number} % 5\n", str(number)) for number in range(20)]
    results = list(executor.submit(slow))
    done.set()
    killer.join()
    wrong = {int(result.id): result for result in results if result.status is not Status.PASSED}
    assert set(wrong) == {0, 5, 10, 15}, wrong
    assert {result.status for result in results} == {Status.PASSED, Status.FAILED}


def test_a_worker_is_replaced_in_time(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_sandbox, "PROGRAMS_PER_WORKER", 3)
    seen = set()
    for _ in range(7):
        assert run(box, "pass").ok
        seen |= {worker._process.pid for worker in workers(box)}
    assert len(seen) == 3


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_what_belongs_to_one_program_starts_no_worker(box: Sandbox, tmp_path: Path, profile: Profile) -> None:
    """The answer's lines differ from program to program: in a worker's key they cost each of them a worker."""
    requests = [
        ExecutionRequest(
            id=str(number), language="python", source=f"x = {number}\n", profile=profile,
            answer_lines=(1 + number, 2 + number), limits=LIMITS.model_copy(update={"tmp_mb": 20 + number}),
        )
        for number in range(8)
    ]  # fmt: skip
    results = list(LocalExecutor(4, sandbox=box, cache=ResultCache(tmp_path)).submit(requests))
    assert {result.status for result in results} == {Status.PASSED}
    [worker] = workers(box)
    assert worker.served == len(requests)


DRAWS = """
import random, secrets, sqlite3, tempfile, uuid
import numpy, pandas, scipy.stats
print(
    random.random(), secrets.token_hex(), uuid.uuid4(), tempfile.mktemp(),
    sqlite3.connect(":memory:").execute("select random()").fetchone()[0],
    numpy.random.rand(), numpy.random.default_rng().random(), scipy.stats.norm.rvs(),
    pandas.Series(range(10**6)).sample(1).item(),
)
"""
"""Numbers by each module of a warm interpreter that holds a random state: its programs must not share it."""


def test_under_paper_a_program_finds_what_its_header_imports_as_a_fresh_interpreter_has_it(
    box: Sandbox, tmp_path: Path
) -> None:
    """Names, module state and exit status are those of `python main.py`; only the import has happened before."""
    fresh = "import numpy, random, sys\nprint(sorted(globals()))\nprint(__loader__ is not None, __spec__, __file__)\n"
    source = f"{fresh}print(__annotations__, sys.path[0], 'numpy.random' in sys.modules)\nnumbers: int = 1\n"
    executor = LocalExecutor(2, sandbox=box, cache=ResultCache(tmp_path))

    def run(text: str, repeat: int = 0) -> ExecutionResult:
        [result] = executor.submit(
            [
                ExecutionRequest(
                    id="a", language="python", source=text, profile="paper", repeat=repeat, limits=LIMITS,
                    bundle="devbench/python",
                )
            ]
        )  # fmt: skip
        return result

    bundle = installed_bundle("devbench/python")
    if bundle is None:
        pytest.skip("the bundle devbench/python is not built")
    in_worker = run(source)
    environment = {**ENVIRONMENT, **bundle.environment}
    files = {"main.py": source}
    alone = box.run(
        Invocation([PYTHON, "main.py"], files=files, limits=LIMITS, environment=environment, read_only=bundle.read_only)
    )
    assert in_worker.stdout.text == alone.stdout.text
    both = zip(run(DRAWS).stdout.text.split(), run(DRAWS, repeat=1).stdout.text.split(), strict=True)
    assert [one == other for one, other in both] == [False] * 9
    exits = {"": 0, "raise SystemExit(3)": 3, "import os\nos._exit(4)": 4, "raise ValueError": 1, "exit(0)": 0}
    assert {text: run(text).exit_code for text in exits} == exits


def test_a_program_that_ends_its_walls_leaves_the_worker_alone(box: Sandbox) -> None:
    killed = run(box, "import os, signal\nos.kill(0, signal.SIGKILL)\n")
    assert (killed.error, killed.signal) == (None, 9)
    assert run(box, "print(1)").stdout.text == "1\n"
    assert len(workers(box)) == 1


def test_where_walls_cannot_be_built_in_walls_programs_get_walls_of_their_own(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WarmWorker, "start", lambda *_: None)
    built = []
    made = WarmWorker.__init__

    def counted(self: WarmWorker, key: WarmWorkerKey, binary: str, filter_program: bytes) -> None:
        built.append(key)
        made(self, key, binary, filter_program)

    monkeypatch.setattr(WarmWorker, "__init__", counted)
    for _ in range(5):
        assert run(box, "print(1)").stdout.text == "1\n"
    assert len(built) == warm_sandbox._MAX_FAILURES
    assert not workers(box)


def test_a_worker_that_once_builds_no_walls_is_replaced_and_not_given_up(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(box, "pass").ok
    [first] = workers(box)
    for _ in range(warm_sandbox._MAX_FAILURES + 1):
        with monkeypatch.context() as moment:
            moment.setattr(WarmWorker, "start", lambda *_: None)
            assert run(box, "print(1)").stdout.text == "1\n"
        assert not workers(box)
        assert run(box, "print(1)").stdout.text == "1\n"
    [last] = workers(box)
    assert first.ended
    assert not last.ended


_TAKE_ALL = (
    "import ctypes, time\n"
    "library, taken = ctypes.CDLL(None), 0\n"
    "while taken < 128 and library.inotify_init() >= 0: taken += 1\n"
    "print(taken, flush=True)\n"
    "time.sleep(1)\n"
)


def test_no_program_takes_what_the_kernel_counts_for_all_of_a_user(box: Sandbox) -> None:
    with ThreadPoolExecutor(4) as pool:
        taken = [int(result.stdout.text) for result in pool.map(lambda _: run(box, _TAKE_ALL), range(4))]
    if max(taken) > 8:
        pytest.skip("this kernel does not bound watches by user namespace")
    assert min(taken) > 0
    seen = run(box, "import resource; print(resource.getrlimit(resource.RLIMIT_SIGPENDING)[1])")
    assert 0 < int(seen.stdout.text) <= 2048


def test_a_forked_program_holds_nothing_but_its_two_ends(box: Sandbox, tmp_path: Path) -> None:
    source = (
        "import os, stat\n"
        "held = [int(name) for name in os.listdir('/proc/self/fd') if int(name) > 2]\n"
        "held = [one for one in held if os.path.exists(f'/proc/self/fd/{one}')]\n"
        "assert len(held) == 1, [os.readlink(f'/proc/self/fd/{one}') for one in held]\n"
    )
    [result] = LocalExecutor(1, sandbox=box, cache=ResultCache(tmp_path)).submit([python(source)])
    assert result.status is Status.PASSED, result.stderr


def test_forked_interpreters_draw_other_random_numbers_and_start_at_zero(box: Sandbox, tmp_path: Path) -> None:
    executor = LocalExecutor(2, sandbox=box, cache=ResultCache(tmp_path))
    source = (
        "import os, random, sys, time, uuid\n"
        "print(random.random(), uuid.uuid4())\n"
        "assert time.process_time() < 1\n"
        "assert sys.argv == [os.path.abspath('main.py')] and __name__ == '__main__'\n"
        "assert 'caretbench' not in ' '.join(sys.modules) and not hasattr(__builtins__, 'left')\n"
        "import builtins; builtins.left = True\n"
        "# {}\n"
    )
    results = list(executor.submit(python(source.format(number), str(number)) for number in range(3)))
    assert [result.status for result in results] == [Status.PASSED] * 3, results[0].stderr
    assert len({result.stdout.text for result in results}) == 3


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("import atexit, os\natexit.register(lambda: os._exit(0))\nassert False\n", Status.INCOMPLETE),
        ("import sys\nsys.exit(0)\n", Status.INCOMPLETE),
        ("import sys\nsys.exit(3)\n", Status.RUNTIME_ERROR),
        ("import os\nos._exit(0)\n", Status.INCOMPLETE),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", Status.RUNTIME_ERROR),
        ("assert False\n", Status.FAILED),
        ("import no_such_module\n", Status.UNRESOLVED_IMPORT),
        ("def broken(:\n", Status.COMPILE_ERROR),
        ("import threading\nthreading.Thread(target=lambda: print('later')).start()\n", Status.PASSED),
        ("import threading, os\nthreading.Thread(target=lambda: os._exit(1)).start()\n", Status.RUNTIME_ERROR),
        ("import multiprocessing as m\np = m.Process(target=print); p.start(); p.join()\n"
         "assert p.exitcode == 0\n", Status.PASSED),
        ("x = bytearray(3 << 30)\n", Status.OUT_OF_MEMORY),
    ],
)  # fmt: skip
def test_forked_interpreters_end_as_fresh_ones_do(box: Sandbox, tmp_path: Path, source: str, status: Status) -> None:
    [result] = LocalExecutor(1, sandbox=box, cache=ResultCache(tmp_path)).submit([python(source)])
    assert result.status is status, result.stderr
