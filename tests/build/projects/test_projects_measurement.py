"""Measured reach of Python's files: lines are traced, in every process, and sources stay as they are."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.build.projects.reach import measurement
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from caretbench.problem import TestsCheck
from caretbench.projects.answer_requests import check_request
from caretbench.syntax.source import SourceFile
from tests.support.pytest_copy import copy_pytest

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

Measure = Callable[..., StatementReach]
PYTEST = ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider")

SHOP = """\
import threading

RATE = 2


def total(prices):
    global LAST
    note: str
    if not prices: return 0
    LAST = sum(
        price
        for price in prices
    )
    return LAST


def doubled(price):
    return price * RATE


def halved(price):
    half = price / 2
    return half


def deep(n):
    return deep(n + 1)


def never():
    return None
"""


@pytest.fixture
def measure(workspace_runner: WorkspaceRunner, tmp_path: Path) -> Measure:
    root = tmp_path / "project"

    def measured(files: dict[str, str], command: tuple[str, ...], *paths: str) -> StatementReach:
        if not root.exists():
            root.mkdir()
            if command == PYTEST:
                copy_pytest(root / ".deps")
        for path, text in files.items():
            (root / path).write_text(textwrap.dedent(text))
        snapshot = workspace_runner.store.add(root).id
        engine = WorkspaceExecutor(1, workspace_runner=workspace_runner, use_cache=False)
        environment = {"PYTHONPATH": ".deps"}
        request = WorkspaceRequest(id="r", snapshot=snapshot, command=command, environment=environment)
        return measurement.measure_reach(engine, request, paths, store=workspace_runner.store)

    return measured


def hits(reach: StatementReach, path: str, text: str) -> dict[str, bool]:
    """The first lines of a file's statements, each with whether it is executed."""
    source = SourceFile(path, text)
    return {source.text(span).split("\n")[0]: hit for span, hit in reach.statements[path]}


def reaching(reach: StatementReach, text: str, statement: str) -> tuple[str, ...]:
    start = text.index(statement)
    return reach.tests_reaching(next(iter(reach.statements)), start, start + len(statement))


def test_executed_statements_are_told_by_lines(measure: Measure) -> None:
    test = "import shop\nassert shop.total([1, 2]) == 3\n"
    reach = measure({"shop.py": SHOP, "t.py": test}, ("python3", "t.py"), "shop.py")
    assert hits(reach, "shop.py", SHOP) == {
        "import threading": True,
        "RATE = 2": True,
        "def total(prices):": True,
        "global LAST": True,  # no tracer sees it: a later statement of its list runs
        "note: str": True,
        "if not prices: return 0": True,
        "return 0": True,  # on the line of its condition
        "LAST = sum(": True,
        "return LAST": True,
        "def doubled(price):": True,
        "return price * RATE": False,
        "def halved(price):": True,
        "half = price / 2": False,
        "return half": False,
        "def deep(n):": True,
        "return deep(n + 1)": False,
        "def never():": True,
        "return None": False,
    }
    assert (reach.run_count, dict(reach.unknown_files)) == (1, {})


def test_a_file_that_reads_itself_is_measured(measure: Measure) -> None:
    test = "import inspect, shop\nassert len(inspect.getsource(shop.halved)) == 56\nassert shop.halved(4) == 2\n"
    reach = measure({"shop.py": SHOP, "t.py": test}, ("python3", "t.py"), "shop.py")
    found = hits(reach, "shop.py", SHOP)
    assert (found["half = price / 2"], found["return price * RATE"]) == (True, False)
    assert (reach.run_count, dict(reach.unknown_files)) == (1, {})


@pytest.mark.parametrize(
    "start",
    [
        "threading.Thread(target=shop.halved, args=(4,)).start()",
        "subprocess.run([sys.executable, '-c', 'import shop; shop.halved(4)'], check=True)",
        "multiprocessing.get_context('fork').Process(target=shop.halved, args=(4,)).start()",
        "multiprocessing.get_context('spawn').Process(target=shop.halved, args=(4,)).start()",
        "pid = os.fork()\n    if pid == 0: shop.halved(4); os._exit(0)\n    os.waitpid(pid, 0)",
        "pid = os.fork()\n    if pid == 0: shop.halved(4); os.kill(os.getpid(), 9)\n    os.waitpid(pid, 0)",
        "os.chdir('/tmp'); subprocess.run([sys.executable, '-c', 'import shop; shop.halved(4)'], check=True, "
        "env={**os.environ, 'PYTHONPATH': os.environ['PYTHONPATH'] + ':' + home})",
    ],
)
def test_threads_and_processes_are_traced(measure: Measure, start: str) -> None:
    test = f"""\
import multiprocessing, os, subprocess, sys, threading
import shop
if __name__ == '__main__':
    home = os.path.dirname(os.path.abspath(__file__))
    {start}
"""
    reach = measure({"shop.py": SHOP, "t.py": test}, ("python3", "t.py"), "shop.py")
    found = hits(reach, "shop.py", SHOP)
    assert (found["return half"], found["return price * RATE"]) == (True, False)
    assert reach.run_count == 1


def test_tests_are_told_apart(measure: Measure) -> None:
    test = """
        import pytest, shop
        @pytest.fixture
        def two(): return shop.doubled(1)
        @pytest.fixture(scope="module")
        def half(): return shop.halved(4)
        def test_total(two): assert shop.total([two]) == 2
        def test_nothing(): assert shop.total([]) == 0
        def test_half(half): assert half == 2
    """
    reach = measure({"shop.py": SHOP, "test_shop.py": test}, PYTEST, "shop.py")
    assert reach.all_tests == ("test_shop.py::test_total", "test_shop.py::test_nothing", "test_shop.py::test_half")
    assert reaching(reach, SHOP, "return price * RATE") == ("test_shop.py::test_total",)
    assert reaching(reach, SHOP, "return LAST") == ("test_shop.py::test_total",)
    assert reaching(reach, SHOP, "global LAST") == ("test_shop.py::test_total", "test_shop.py::test_nothing")
    assert reaching(reach, SHOP, "return half") == ()  # a fixture of several tests runs it
    assert reach.run_count == 1


@pytest.mark.parametrize("ending", ["sys.settrace(None)", "with pytest.raises(RecursionError): shop.deep(0)"])
def test_files_are_instrumented_where_a_test_ends_the_tracer(measure: Measure, ending: str) -> None:
    test = f"""
        import pytest, shop, sys
        def test_ending():
            {ending}
            assert shop.halved(4) == 2
        def test_other(): assert shop.doubled(1) == 2
    """
    reach = measure({"shop.py": SHOP, "test_shop.py": test}, PYTEST, "shop.py")
    found = hits(reach, "shop.py", SHOP)
    assert (found["return half"], found["return price * RATE"], found["return LAST"]) == (True, True, False)
    assert reaching(reach, SHOP, "return half") == ("test_shop.py::test_ending",)
    assert reach.run_count == 2


def test_lines_seen_before_the_end_count_where_instrumentation_fails(measure: Measure) -> None:
    test = """
        import inspect, shop, sys
        def test_half(): assert shop.halved(4) == 2
        def test_ending(): sys.settrace(None)
        def test_source(): assert len(inspect.getsource(shop.halved)) == 56
    """
    reach = measure({"shop.py": SHOP, "test_shop.py": test}, PYTEST, "shop.py")
    found = hits(reach, "shop.py", SHOP)
    assert (found["return half"], found["return price * RATE"]) == (True, False)
    assert dict(reach.unknown_files) == {}
    assert reaching(reach, SHOP, "return half") == ()


def test_tests_of_unittest_are_traced_together(measure: Measure) -> None:
    test = """
        import unittest, shop
        class Shop(unittest.TestCase):
            def test_half(self): self.assertEqual(shop.halved(4), 2)
    """
    reach = measure({"shop.py": SHOP, "test_shop.py": test}, ("python3", "-m", "unittest"), "shop.py")
    found = hits(reach, "shop.py", SHOP)
    assert (found["return half"], found["return price * RATE"]) == (True, False)
    assert (reach.run_count, reach.all_tests) == (1, ())


def test_traced_and_instrumented_statements_are_the_same(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"shop.py": SHOP.replace("if not prices: return 0", "if not prices:\n        return 0")}
    files["test_shop.py"] = """
        import shop
        def test_total(): assert shop.total([1, 2]) == 3
        def test_doubled(): assert shop.doubled(2) == 4
    """
    traced = measure(files, PYTEST, "shop.py")
    monkeypatch.setattr(measurement, "is_traced", lambda _language: False)
    instrumented = measure(files, PYTEST, "shop.py")
    assert instrumented.statements == traced.statements
    assert instrumented.tests_by_statement == traced.tests_by_statement
    assert instrumented.all_tests == traced.all_tests


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_each_test_file_runs_alone_where_all_take_long(
    workspace_runner: WorkspaceRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "exports.half = (n) => {\n  return n / 2\n}\nexports.twice = (n) => {\n  return n * 2\n}\n"
    test = "require('node:test')('{0}s', () => require('node:assert').ok(require('./shop.js').{0}(4)))\n"
    files = {"shop.js": source} | {f"{name}.test.js": test.replace("{0}", name) for name in ("half", "twice")}
    for path, text in files.items():
        (tmp_path / path).write_text(text)
    snapshot = workspace_runner.store.add(tmp_path).id
    check = TestsCheck(command=("/bin/sh", "-c", "node --test"), minimum_tests=2)
    engine = WorkspaceExecutor(1, workspace_runner=workspace_runner, use_cache=False)
    tests = ("half.test.js", "twice.test.js")

    def measured(option: str = "") -> StatementReach:
        own = ("/bin/sh", "-c", f"node --test {option}")
        request = check_request(check, snapshot).model_copy(update={"command": own, "minimum_tests": 0})
        return measurement.measure_reach(engine, request, ["shop.js"], store=workspace_runner.store, test_files=tests)

    assert measured().all_tests == (), "a fast suite runs as a whole"
    monkeypatch.setattr(measurement, "_LONG_S", 0.0)
    reach = measured()
    assert (reach.all_tests, reach.run_count) == (tests, 3)
    assert reaching(reach, source, "return n / 2") == ("half.test.js",)
    assert measured("--test-reporter=dot").all_tests == tests, "nothing counts the tests"
    chosen = check.model_copy(update={"tests": ("half.test.js",), "minimum_tests": 1})
    [result] = engine.submit([check_request(chosen, snapshot)])
    assert (result.status.value, "twices" in result.stdout.text, "halfs" in result.stdout.text) == (
        "passed",
        False,
        True,
    )
