"""Warm starts of Python commands: real processes, compared with starts of an interpreter of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.execution.costs import CostMeter
from caretbench.execution.execution_types import Limits, Status, WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.warm.warm_python import PYTEST_MODULES, TABLE, WarmPython, _harness
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.files import read_packaged_toml
from tests.support.pytest_copy import copy_pytest

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

COMMAND = ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml")
UNITTEST = ("python3", "-m", "unittest", "-f")
SCRIPT = ("python3", "./test_facts.py", "word", "-x")
ENVIRONMENT = {"PYTHONPATH": "/tmp/work:/tmp/work/.deps"}
FACTS = """
    import json, os, signal, sys, threading
    def status(name):
        lines = open("/proc/self/status").read().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(name + ":"))
    def test_facts():
        main = sys.modules["__main__"]
        facts = {
            "path": sys.path, "argv": [sys.argv, sys.orig_argv, sys.executable],
            "main": [main.__name__, main.__file__, main.__spec__ and main.__spec__.name, sorted(vars(main))],
            "folder": os.getcwd(), "environment": dict(os.environ), "flags": list(sys.flags), "input": sys.stdin.read(),
            "threads": threading.active_count(), "dumped": sys.dont_write_bytecode, "prefix": sys.prefix,
            "signals": [repr(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE)],
            "user": os.getuid(), "status": {n: status(n) for n in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
            "descriptors": len(os.listdir("/proc/self/fd")),
            "processes": sorted(filter(str.isdigit, os.listdir("/proc"))),
            "hidden": os.listdir("/run/snapshot") if os.path.isdir("/run/snapshot") else [],
            "umask": os.umask(0o22), "encoding": sys.stdout.encoding,
            "package": "pluggy" in sys.modules and sys.modules["pluggy"].__file__,
        }
        json.dump(facts, open("/tmp/work/facts.json", "w"))
"""
CALLED = {
    COMMAND: "",
    UNITTEST: """
    import unittest
    class Facts(unittest.TestCase):
        def test_facts(self):
            test_facts()
    """,
    SCRIPT: "\n    test_facts()\n",
}

Make = Callable[[dict[str, str]], str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SnapshotStore:
    return SnapshotStore(tmp_path_factory.mktemp("cache") / "snapshots")


@pytest.fixture(scope="module")
def warm(store: SnapshotStore) -> Iterator[WorkspaceRunner]:
    runner = WorkspaceRunner(store=store)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def cold(store: SnapshotStore) -> Iterator[WorkspaceRunner]:
    runner = WorkspaceRunner(store=store, warm_python=False)
    yield runner
    runner.close()


@pytest.fixture
def project(store: SnapshotStore, tmp_path: Path) -> Make:
    """Return a function that stores a project with pytest in its packages."""

    def make(files: dict[str, str]) -> str:
        copy_pytest(tmp_path / ".deps")
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(textwrap.dedent(text))
        return store.add(tmp_path, ignore=()).id

    return make


def requested(snapshot: str, *more: str, **changes: object) -> WorkspaceRequest:
    request = WorkspaceRequest(
        id="tests", snapshot=snapshot, command=(*COMMAND, *more), environment=ENVIRONMENT, junit=("report.xml",)
    )
    return request.model_copy(update=changes)


def settings(runner: WorkspaceRunner, request: WorkspaceRequest) -> WarmSettings | None:
    """Return the warm settings that the runner finds for a request."""
    from caretbench.execution.workspaces.workspace_runner import _invocation

    return WarmPython().settings(request, _invocation(request, None), runner.snapshot(request.snapshot), None)


def preloaded(runner: WorkspaceRunner) -> bool:
    """Return whether a worker of this runner has imported modules."""
    return any(key.preloaded_modules for key in runner.sandbox._workers._workers)


def verdict(result: WorkspaceResult) -> tuple[object, ...]:
    return result.status, result.exit_code, [(test.name, test.outcome) for test in result.tests]


@pytest.mark.parametrize("command", CALLED, ids=["pytest", "unittest", "script"])
def test_a_program_sees_what_it_sees_after_a_start_of_its_own(
    command: tuple[str, ...], project: Make, warm: WorkspaceRunner, cold: WorkspaceRunner
) -> None:
    text = FACTS + CALLED[command]
    command = (*command, "-s") if command == COMMAND else command
    junit = ("report.xml",) if "pytest" in command else ()
    request = requested(
        project({"test_facts.py": text}), command=command, junit=junit, results=("facts.json",), stdin=b"typed"
    )
    assert settings(warm, request) is not None
    facts = []
    for runner in (warm, cold):
        result = runner.run(request)
        assert result.status is Status.PASSED, result.stdout.text + result.stderr.text
        facts.append(json.loads(result.file("facts.json") or b""))
    assert facts[0] == facts[1]
    assert facts[0]["hidden"] == []
    assert facts[0]["input"] == "typed"
    assert preloaded(warm)
    assert not preloaded(cold)


ENDS = {
    "passes": "def test_a():\n    pass\n",
    "fails": "def test_a():\n    assert 1 == 2\ndef test_b():\n    pass\n",
    "does not parse": "def test_a(:\n",
    "has no test": "x = 1\n",
    "lacks a module": "import nowhere_at_all\n",
    "leaves by sys.exit": "import sys\ndef test_a():\n    sys.exit(0)\n",
    "leaves at import": "import sys\nsys.exit(3)\n",
    "leaves by a word": "import pytest\ndef test_a():\n    pytest.exit('enough', 7)\n",
    "ends at once": "import os\ndef test_a():\n    os._exit(0)\n",
    "kills itself": "import os, signal\ndef test_a():\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "prints at its end": "import atexit\natexit.register(print, 'the end')\ndef test_a():\n    pass\n",
    "waits for a thread": """
        import threading, time
        def later():
            time.sleep(0.2)
            open("/tmp/work/report.xml", "w").write("<testsuite><testcase name='t'><failure/></testcase></testsuite>")
        def test_a():
            threading.Thread(target=later).start()
    """,
    "starts processes": """
        import multiprocessing, subprocess, sys
        def double(n):
            return 2 * n
        def test_a():
            for kind in ("fork", "spawn"):
                with multiprocessing.get_context(kind).Pool(1) as pool:
                    assert pool.map(double, [1, 2]) == [2, 4]
            assert subprocess.check_output([sys.executable, "-c", "print(1)"]) == b"1\\n"
    """,
    "catches a warning": """
        import warnings, pytest
        def test_a():
            with pytest.warns(DeprecationWarning):
                warnings.warn("old", DeprecationWarning)
    """,
}


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_verdicts_are_those_of_a_cold_start(
    text: str, project: Make, warm: WorkspaceRunner, cold: WorkspaceRunner
) -> None:
    request = requested(project({"test_a.py": text}))
    assert settings(warm, request) is not None
    results = [runner.run(request) for runner in (warm, cold)]
    assert verdict(results[0]) == verdict(results[1])
    assert ("the end" in results[0].stdout.text) is ("the end" in results[1].stdout.text)


PROGRAMS = {
    "prints": "print('out'); import sys; print('error', file=sys.stderr)",
    "raises": "def fail():\n    raise ValueError('a word')\nfail()",
    "does not parse": "print('out')\ndef f(:\n",
    "is no text": "\0",
    "leaves with a word": "import sys; print('out'); sys.exit('a word')",
    "leaves with a number": "raise SystemExit(300)",
    "leaves with nothing": "raise SystemExit",
    "ends at once": "import os; print('lost'); os._exit(0)",
    "is interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT)\nwhile True: pass",
    "is out of memory": "x = [0] * (1 << 40)",
    "leaves in an exit handler": "import atexit, sys; atexit.register(sys.exit, 0); raise ValueError",
    "ends in an exit handler": "import atexit, os; atexit.register(os._exit, 0); raise ValueError",
    "leaves in a thread's end": """
        import sys, threading
        threading._shutdown = lambda: sys.exit(0)
        raise ValueError
    """,
    "leaves in its output's end": """
        import sys
        class Stream:
            closed = False
            def write(self, text): pass
            def flush(self): sys.exit(0)
        sys.stdout = Stream()
        raise ValueError
    """,
    "turns an end into another": """
        import atexit, gc, os, sys
        os._exit = sys.exit = atexit._run_exitfuncs = gc.collect = os.kill = lambda *_: None
        sys.modules.clear()
        raise ValueError
    """,
    "kills its parents": "import os, signal; [os.kill(n, signal.SIGKILL) for n in (os.getppid(), 1, -1)]; print(1)",
    "writes to all it can": """
        import os
        for number in range(3, 1024):
            for text in (b'{"code": 0, "cpu_s": 0, "peak_kb": 1, "sentinel": true, "waits": false, "own_s": 0}\\n',):
                try: os.write(number, text)
                except OSError: pass
        raise ValueError
    """,
    "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "leaves a process": "import os, time\nif not os.fork():\n    os.setsid(); os.close(1); os.close(2); time.sleep(60)",
    "forks": "import os\nprint('both', flush=True)\nif os.fork(): os.wait()\nprint('each')",
    "waits for a thread": "import threading\nthreading.Timer(0.1, print, ['late']).start()",
    "releases objects": """
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): print('gone', self.name, text())
        def text(): return 'whole'
        thing = Thing('a'); thing.circle = Thing('b'); thing.circle.circle = thing
    """,
    "writes through another stream": "import os\nstream = os.fdopen(1, 'w', closefd=False)\nstream.write('late')",
    "puts its output aside": "import io, sys\nprint('before')\nsys.stdout = io.StringIO()\nprint('lost')",
    "closes its output": "import sys\nprint('out')\nsys.stdout.close()",
    "fills its output": "import sys; sys.stdout.write('x' * 100); open('/dev/full', 'w').write('y')",
    "is imported anew": "import __main__, sys; print(__main__.__dict__ is globals(), __name__, sys.argv, __doc__)",
    "goes deep": "def f(n): return n and f(n - 1)\nprint(f(900))\nf(2000)",
    "starts processes": """
        import multiprocessing, subprocess, sys
        def double(n):
            return 2 * n
        if __name__ == "__main__":
            for kind in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(kind).Pool(1) as pool:
                    print(pool.map(double, [1, 2]))
            print(subprocess.check_output([sys.executable, "-c", "print(1)"]))
    """,
    "runs its tests itself": """
        import unittest
        class Words(unittest.TestCase):
            def test_a(self): self.assertEqual(1, 2)
        if __name__ == "__main__": unittest.main()
    """,
}
TESTS = {
    **{name: text for name, text in PROGRAMS.items() if "itself" not in name and "process" not in name},
    "changes unittest": """
        import unittest
        unittest.TestCase.assertEqual = lambda *_: None
        class Words(unittest.TestCase):
            def test_a(self): self.assertEqual(1, 2)
            def test_b(self): self.assertTrue(False)
    """,
    "changes its result": """
        import unittest, unittest.result
        unittest.result.TestResult.wasSuccessful = lambda self: True
        class Words(unittest.TestCase):
            def test_a(self): self.fail()
    """,
    "passes": "import unittest\nclass Words(unittest.TestCase):\n    def test_a(self): print('out')\n",
    "has several kinds": """
        import unittest
        class Words(unittest.IsolatedAsyncioTestCase):
            async def test_a(self): self.assertEqual(1, 1)
            @unittest.skip("later")
            def test_b(self): pass
            @unittest.expectedFailure
            def test_c(self): self.fail()
    """,
}


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param(command, text, id=f"{command[-1]} {name}")
        for command, texts in ((("python3", "test_a.py"), PROGRAMS), (UNITTEST, TESTS))
        for name, text in texts.items()
    ],
)
def test_output_and_status_are_those_of_a_cold_start(
    command: tuple[str, ...],
    text: str,
    store: SnapshotStore,
    warm: WorkspaceRunner,
    cold: WorkspaceRunner,
    tmp_path: Path,
) -> None:
    (tmp_path / "test_a.py").write_text(textwrap.dedent(text))
    request = WorkspaceRequest(id="tests", snapshot=store.add(tmp_path).id, command=command, minimum_tests=0)
    assert settings(warm, request) is not None
    seen = []
    for runner in (warm, cold):
        found = runner.run(request)
        errors = re.sub(r"in \d\.\d+s|0x[0-9a-f]+|repeated \d+|(?s:Exception ignored.*)", "", found.stderr.text)
        seen.append((found.status, found.exit_code, found.signal, found.reason, found.stdout.text, errors))
    assert seen[0] == seen[1]


def test_programs_of_several_projects_share_a_worker_and_nothing_else(store: SnapshotStore, tmp_path: Path) -> None:
    runner = WorkspaceRunner(store=store)
    text = "import json, os\nassert not hasattr(json, 'left')\njson.left = os.listdir('/tmp/work')\nprint(json.left)"
    with CostMeter() as meter:
        for number in range(12):
            place = tmp_path / str(number % 3)
            place.mkdir(exist_ok=True)
            (place / f"run{number % 3}.py").write_text(text)
            snapshot = store.add(place).id
            found = runner.run(WorkspaceRequest(id="a", snapshot=snapshot, command=("python3", f"run{number % 3}.py")))
            assert (found.status, found.stdout.text) == (Status.PASSED, f"['run{number % 3}.py']\n"), found.stderr.text
        runner.close()
    assert meter.costs.workers == 1


def test_an_endless_test_ends_at_its_limit(project: Make, warm: WorkspaceRunner) -> None:
    snapshot = project({"test_a.py": "def test_a():\n    while True:\n        pass\n"})
    assert warm.run(requested(snapshot, limits=Limits(cpu_s=1, wall_s=20))).status is Status.TIMEOUT


def test_runs_share_no_state(project: Make, warm: WorkspaceRunner) -> None:
    state = """
        import random, _pytest.main
        def test_a():
            assert not hasattr(_pytest.main, "left")
            _pytest.main.left = True
            open("/tmp/work/number", "w").write(str(random.random()))
            open("/tmp/work/.deps/_pytest/main.py", "w").write("raise ValueError")
    """
    request = requested(project({"test_a.py": state}), results=("number",))
    results = [warm.run(request) for _ in range(2)]
    assert [result.status for result in results] == [Status.PASSED, Status.PASSED]
    assert results[0].file("number") != results[1].file("number")


def test_an_answer_decides_and_not_what_was_imported(project: Make, warm: WorkspaceRunner) -> None:
    snapshot = project(
        {"shop.py": "price = 1\n", "test_a.py": "import shop\ndef test_a():\n    assert shop.price == 1\n"}
    )
    assert warm.run(requested(snapshot)).status is Status.PASSED
    assert warm.run(requested(snapshot, patch={"shop.py": "price = 2\n"})).status is Status.FAILED
    assert warm.run(requested(snapshot)).status is Status.PASSED


COLD = {
    "a module of pytest's is the project's own": ({"packaging/__init__.py": "version = None\n"}, {}),
    "a module of the standard library is": ({"heapq.py": ""}, {}),
    "it may be put on the path": ({"tests/fakes/calendar.py": ""}, {}),
    "a package is named as one": ({".deps/string.py": ""}, {}),
    "a package changes pytest": ({".deps/_pytest/more.py": ""}, {}),
    "a package comes as another pluggy": ({".deps/pluggy/_hooks.py": ""}, {}),
    "compiled code comes before pytest": ({".deps/pytest.abi3.so": ""}, {}),
    "Python starts with a file of the project": ({"sitecustomize.py": ""}, {}),
    "Python starts with a file of a package": ({".deps/sitecustomize.py": ""}, {}),
    "an answer brings such a file": ({}, {"patch": {"tools/sitecustomize.py": ""}}),
    "an answer brings a module of pytest's": ({}, {"patch": {"pluggy.py": ""}}),
    "an answer changes a package": ({}, {"patch": {".deps/pluggy/__init__.py": ""}}),
    "the packages bring an interpreter": ({".deps/bin/python3": ""}, {}),
    "the run is a repetition": ({}, {"repeat": 1}),
    "a shell starts pytest": ({}, {"command": ("sh", "-c", "python3 -m pytest")}),
    "another interpreter comes first": ({}, {"environment": {**ENVIRONMENT, "PATH": "/nowhere"}}),
    "byte code lies next to a module of pytest's": ({".deps/__pycache__/py.cpython-311.pyc": ""}, {}),
    "Python finds another site": ({}, {"environment": {**ENVIRONMENT, "HOME": "/tmp/work"}}),
    "another library is loaded": ({}, {"environment": {**ENVIRONMENT, "LD_PRELOAD": "/tmp/work/a.so"}}),
    "byte code comes from elsewhere": ({}, {"environment": {**ENVIRONMENT, "PYTHONPYCACHEPREFIX": "/tmp/work"}}),
    "hashes have a seed": ({}, {"environment": {**ENVIRONMENT, "PYTHONHASHSEED": "1"}}),
    "the time zone is another": ({}, {"environment": {**ENVIRONMENT, "TZ": "Asia/Tokyo"}}),
    "the import path has a hole": ({}, {"environment": {"PYTHONPATH": "/tmp/work/.deps:"}}),
    "the project itself is a package": ({"__init__.py": "", "heapq.py": ""}, {}),
    "unittest may find a module of that name": ({"shop/__init__.py": "", "shop/heapq.py": ""}, {"command": UNITTEST}),
    "a script may": ({"shop/__init__.py": "", "shop/heapq.py": ""}, {"command": ("python3", "test_a.py")}),
    "a package of unittest's project is named as one": ({".deps/string.py": ""}, {"command": UNITTEST}),
    "the script is not here": ({}, {"command": ("python3", "other.py")}),
    "an answer deletes the script": ({}, {"command": ("python3", "test_a.py"), "patch": {"test_a.py": None}}),
    "the script lies elsewhere": ({}, {"command": ("python3", "/tmp/work/test_a.py")}),
    "Python gets options": ({}, {"command": ("python3", "-O", "test_a.py")}),
    "another module is run": ({}, {"command": ("python3", "-m", "test_a")}),
}


@pytest.mark.parametrize(("files", "changes"), COLD.values(), ids=COLD)
def test_an_interpreter_of_its_own_starts_where(
    files: dict[str, str], changes: dict[str, object], project: Make, warm: WorkspaceRunner
) -> None:
    snapshot = project({"test_a.py": "def test_a():\n    pass\n", **files})
    assert settings(warm, requested(snapshot, **changes)) is None


WARM = {
    "settings of pytest": {"pytest.ini": "[pytest]\n", "packaging/control": ""},
    "modules within packages": {"src/shop/__init__.py": "", "src/shop/types.py": "", "src/shop/json/__init__.py": ""},
    "usual folders": {"test/__init__.py": "", "docs/conf.py": "", "setup.py": ""},
    "other packages": {".deps/six.py": "", ".deps/numpy/random/__init__.py": "", ".deps/bin/pytest": ""},
}


@pytest.mark.parametrize("files", WARM.values(), ids=WARM)
def test_a_fork_suits(files: dict[str, str], project: Make, warm: WorkspaceRunner) -> None:
    request = requested(project({"test_a.py": "def test_a():\n    pass\n", **files}))
    found = settings(warm, request)
    assert found is not None
    assert found.module_folder == "/tmp/work/.deps"
    more = requested(request.snapshot, environment={**ENVIRONMENT, "SHOP_MODE": "test", "LANG": "C.UTF-8"})
    assert settings(warm, more) == found
    assert not {"PYTHONPATH", "SHOP_MODE"} & set(found.preload_environment or {})


def test_no_other_package_of_a_project_is_imported_beforehand(project: Make, warm: WorkspaceRunner) -> None:
    packages = {
        ".deps/exceptiongroup.py": "raise SystemExit",
        ".deps/plug.py": "import os\nopened = os.open('.', os.O_RDONLY)\n",
        ".deps/plug-1.dist-info/entry_points.txt": "[pytest11]\nplug = plug\n",
        ".deps/plug-1.dist-info/METADATA": "Name: plug\nVersion: 1\n",
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
    }
    tests = """
        import plug
        def test_a():
            import os
            assert os.listdir(f"/proc/self/fd/{plug.opened}")
    """
    request = requested(project({"test_a.py": tests, **packages}))
    assert [warm.run(request).status for _ in range(2)] == [Status.PASSED, Status.PASSED]


def test_a_worker_without_pytest_leaves_it_to_the_program(project: Make, store: SnapshotStore) -> None:
    runner = WorkspaceRunner(store=store)
    snapshot = project({"test_a.py": "def test_a():\n    pass\n"})
    found = settings(runner, requested(snapshot))
    assert found is not None
    runner._python = FixedSettings(found._replace(module_folder="/nowhere"))
    assert runner.run(requested(snapshot)).status is Status.PASSED
    runner.close()


def test_the_release_that_tests_use_is_known() -> None:
    """Run ``scripts/pytest_releases.py`` with the new version if this fails after an update."""
    table = read_packaged_toml("caretbench.execution.workspaces.warm", TABLE)
    assert pytest.__version__ in table["pytest"]
    assert set(table) == set(PYTEST_MODULES)


class FixedSettings(WarmPython):
    """Warm settings that are the same for every command."""

    def __init__(self, fixed: WarmSettings) -> None:
        super().__init__()
        self._fixed = fixed

    def settings(self, *_: object) -> WarmSettings | None:
        return self._fixed


def test_an_interpreter_of_the_project_on_the_path_is_started(project: Make, warm: WorkspaceRunner) -> None:
    snapshot = project({"test_facts.py": "print(1)\n", "tools/python3": "#!/bin/sh\nexit 3\n"})
    request = requested(snapshot, command=SCRIPT, junit=())
    assert settings(warm, request) is not None
    for path in ("/tmp/work/tools:/usr/bin:/bin", "tools:/usr/bin:/bin", "/usr/bin:/tmp/work/./tools:/bin"):
        assert settings(warm, request.model_copy(update={"environment": {**ENVIRONMENT, "PATH": path}})) is None
    named = {**ENVIRONMENT, "PATH": "/tmp/work/new:/usr/bin:/bin"}
    patched = request.model_copy(update={"environment": named, "patch": {"new/python3": "#!/bin/sh\n"}})
    assert settings(warm, patched) is None
    assert settings(warm, patched.model_copy(update={"patch": {}})) is not None


def test_folders_of_the_host_may_have_modules_of_any_name(project: Make, warm: WorkspaceRunner, tmp_path: Path) -> None:
    request = requested(project({"test_facts.py": "print(1)\n"}), command=SCRIPT, junit=())
    for inside, place, cold in (
        ("/opt/code", "/opt/code/lib", True), ("/opt/code", "/opt/code", True), ("/opt/code", "/opt/codes", False),
        ("/tmp/work/lib", "/tmp/work", True),
    ):  # fmt: skip
        bound = {"read_only": {inside: str(tmp_path)}, "environment": {"PYTHONPATH": place}}
        assert (settings(warm, request.model_copy(update=bound)) is None) is cold, (inside, place)


def test_a_fork_finds_the_library_of_an_interpreter_in_lib64(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('ran')\n")
    start = """
import sys
place = next(place for place in sys.path if place.endswith(".zip"))
sys.path[sys.path.index(place)] = place.replace(f"/{sys.platlibdir}/", "/lib64/")
sys.platlibdir = "lib64"
sys.argv[:] = ["-c", "script.py"]
exec(compile(sys.stdin.read(), "<harness>", "exec", dont_inherit=True), {"__name__": "harness"})
"""
    done = subprocess.run(
        [sys.executable, "-c", start], input=_harness(), capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.returncode) == ("ran\n", 0), done.stderr
