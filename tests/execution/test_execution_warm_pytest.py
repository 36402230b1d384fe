"""Warm starts of pytest: real processes, compared with starts of an interpreter of their own."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Limits, Status, WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox import warm_sandbox
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.warm.warm_pytest import WarmPytest
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from tests.support.pytest_copy import copy_pytest

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

COMMAND = ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml")
ENVIRONMENT = {"PYTHONPATH": "/tmp/work:/tmp/work/.deps"}
FACTS = """
    import json, os, signal, sys, threading
    def status(name):
        lines = open("/proc/self/status").read().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(name + ":"))
    def test_facts():
        main = sys.modules["__main__"]
        facts = {
            "path": sys.path, "argv": sys.argv, "main": [main.__name__, main.__file__, main.__spec__.name],
            "folder": os.getcwd(), "environment": dict(os.environ), "flags": list(sys.flags), "input": sys.stdin.read(),
            "threads": threading.active_count(), "dumped": sys.dont_write_bytecode, "prefix": sys.prefix,
            "signals": [repr(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE)],
            "user": os.getuid(), "status": {n: status(n) for n in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
            "descriptors": len(os.listdir("/proc/self/fd")),
            "processes": sorted(filter(str.isdigit, os.listdir("/proc"))),
            "hidden": os.listdir("/run/snapshot") if os.path.isdir("/run/snapshot") else [],
            "umask": os.umask(0o22), "package": sys.modules["pluggy"].__file__, "encoding": sys.stdout.encoding,
        }
        json.dump(facts, open("/tmp/work/facts.json", "w"))
"""

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
    runner = WorkspaceRunner(store=store, warm_pytest=False)
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
        return store.add(tmp_path).id

    return make


def requested(snapshot: str, *more: str, **changes: object) -> WorkspaceRequest:
    request = WorkspaceRequest(
        id="tests", snapshot=snapshot, command=(*COMMAND, *more), environment=ENVIRONMENT, junit=("report.xml",)
    )
    return request.model_copy(update=changes)


def settings(runner: WorkspaceRunner, request: WorkspaceRequest) -> WarmSettings | None:
    """Return the warm settings that the runner finds for a request."""
    from caretbench.execution.workspaces.workspace_runner import _invocation

    return WarmPytest().settings(request, _invocation(request, None), runner.snapshot(request.snapshot), None)


def was_warm(runner: WorkspaceRunner) -> bool:
    """Return whether a worker of this runner has imported packages of a project."""
    return any(key.package_source == "project" for key in runner.sandbox._workers._workers)


def verdict(result: WorkspaceResult) -> tuple[object, ...]:
    return result.status, result.exit_code, [(test.name, test.outcome) for test in result.tests]


def test_a_program_sees_what_it_sees_after_a_start_of_its_own(
    project: Make, warm: WorkspaceRunner, cold: WorkspaceRunner
) -> None:
    request = requested(project({"test_facts.py": FACTS}), "-s", results=("facts.json",), stdin=b"typed")
    facts = []
    for runner in (warm, cold):
        result = runner.run(request)
        assert result.status is Status.PASSED, result.stdout.text + result.stderr.text
        facts.append(json.loads(result.file("facts.json") or b""))
    assert facts[0] == facts[1]
    assert facts[0]["hidden"] == []
    assert facts[0]["input"] == "typed"
    assert was_warm(warm)
    assert not was_warm(cold)


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


def test_an_endless_test_ends_at_its_limit(project: Make, warm: WorkspaceRunner) -> None:
    snapshot = project({"test_a.py": "def test_a():\n    while True:\n        pass\n"})
    assert warm.run(requested(snapshot, limits=Limits(cpu_s=1, wall_s=20))).status is Status.TIMEOUT


def test_runs_share_no_state(project: Make, warm: WorkspaceRunner) -> None:
    state = """
        import json, random
        import helper_package
        def test_a():
            helper_package.calls.append(1)
            assert helper_package.calls == [1]
            open("/tmp/work/number", "w").write(str(random.random()))
            open("/tmp/work/.deps/helper_package.py", "w").write("calls = [0]")
    """
    snapshot = project({"test_a.py": state, ".deps/helper_package.py": "calls = []\n"})
    request = requested(snapshot, results=("number",))
    found = settings(warm, request)
    assert found is not None
    assert "helper_package" in found.preloaded_modules
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
    "Python starts with a file of the project": ({"sitecustomize.py": ""}, {}),
    "an answer brings such a file": ({}, {"patch": {"tools/sitecustomize.py": ""}}),
    "an answer brings a module of pytest's": ({}, {"patch": {"pluggy.py": ""}}),
    "an answer changes a package": ({}, {"patch": {".deps/pluggy/__init__.py": ""}}),
    "the packages bring an interpreter": ({".deps/bin/python3": ""}, {}),
    "the run is a repetition": ({}, {"repeat": 1}),
    "a shell starts pytest": ({}, {"command": ("sh", "-c", "python3 -m pytest")}),
    "another interpreter comes first": ({}, {"environment": {**ENVIRONMENT, "PATH": "/nowhere"}}),
    "the import path has a hole": ({}, {"environment": {"PYTHONPATH": "/tmp/work/.deps:"}}),
}


@pytest.mark.parametrize(("files", "changes"), COLD.values(), ids=COLD)
def test_an_interpreter_of_its_own_starts_where(
    files: dict[str, str], changes: dict[str, object], project: Make, warm: WorkspaceRunner
) -> None:
    snapshot = project({"test_a.py": "def test_a():\n    pass\n", **files})
    assert settings(warm, requested(snapshot)) is None or not files
    assert settings(warm, requested(snapshot, **changes)) is None


def test_names_of_the_project_are_not_imported_beforehand(project: Make, warm: WorkspaceRunner) -> None:
    files = {
        "tests/string.py": "",
        "tests/test_a.py": """
            import string, json, helper_package, plugin_package
            from xml import (sax, dom as d)
            from . import html
            if True:
                from email.mime import text, nowhere
        """,
        ".deps/helper_package.py": "",
        ".deps/plugin_package/__init__.py": "",
        ".deps/plugin_package-1.dist-info/entry_points.txt": "[pytest11]\nx = plugin_package\n",
        ".deps/plugin_package-1.dist-info/RECORD": "plugin_package/__init__.py,,\n",
    }
    found = settings(warm, requested(project(files)))
    assert found is not None
    wanted = {"json", "helper_package", "_pytest.main", "xml.sax", "xml.dom", "email.mime.text", "email.mime.nowhere"}
    assert wanted <= set(found.preloaded_modules)
    assert not {"html", "string", "plugin_package", "tests"} & set(found.preloaded_modules)
    assert dict(found.preload_environment or {})["PYTHONPATH"] == "/tmp/work/.deps"


def test_a_package_that_warns_is_imported_by_the_tests_themselves(project: Make, warm: WorkspaceRunner) -> None:
    tests = """
        import pytest, sys
        def test_a():
            assert "old_package" not in sys.modules
            with pytest.warns(DeprecationWarning):
                import old_package
    """
    old = "import warnings\nwarnings.warn('old', DeprecationWarning)\n"
    assert warm.run(requested(project({"test_a.py": tests, ".deps/old_package.py": old}))).status is Status.PASSED
    assert was_warm(warm)


HOSTILE = {
    "leaves": "import os\nos._exit(0)\n",
    "raises SystemExit": "import sys\nsys.exit(0)\n",
    "starts a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n",
    "never ends": "while True:\n    pass\n",
    "takes all memory": "held = []\nwhile True:\n    held.append(bytearray(1 << 28))\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_package_that_cannot_be_shared_costs_only_the_warm_start(
    text: str, project: Make, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_sandbox, "_UNTRUSTED_START_S", 4.0)
    mentioned = "def test_a():\n    pass\nif False:\n    import hostile\n"
    runner = WorkspaceRunner(store=store)
    result = runner.run(requested(project({"test_a.py": mentioned, ".deps/hostile.py": text})))
    assert result.status is Status.PASSED
    assert result.placed == "overlay"
    runner.close()


def test_packages_are_imported_behind_the_filter(project: Make, warm: WorkspaceRunner) -> None:
    refused = """
        import ctypes, os, socket
        libc = ctypes.CDLL(None, use_errno=True)
        errors = {}
        for name, number in {"keyctl": 250, "bpf": 321, "ptrace": 101, "setns": 308, "io_uring_setup": 425}.items():
            libc.syscall(number, 0, 0, 0, 0, 0)
            errors[name] = ctypes.get_errno()
        try:
            socket.create_connection(("192.0.2.1", 80), timeout=1)
        except OSError as error:
            reached = False
        else:
            reached = True
        try:
            open("/tmp/work/left", "w")
        except OSError:
            wrote = False
        else:
            wrote = True
    """
    tests = """
        import platform, sys
        was_there = "refused" in sys.modules
        import refused
        def test_a():
            assert was_there
            assert not refused.reached and not refused.wrote
            assert platform.machine() != "x86_64" or set(refused.errors.values()) == {1}
    """
    result = warm.run(requested(project({"test_a.py": tests, ".deps/refused.py": refused})))
    assert result.status is Status.PASSED, result.stdout.text
