"""Lines and calls of single tests under each tracer: ``sys.settrace``, and ``sys.monitoring`` from Python 3.12 on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from importlib import resources

import pytest

from caretbench.build.projects.reach.instrumentation import EXECUTION_LOG, ExecutedMarks, executed_marks
from caretbench.execution.execution_types import ResultFile, Status
from caretbench.execution.workspaces.workspace_request import WorkspaceResult
from tests.support.interpreters import find_interpreter
from tests.support.pytest_copy import copy_pytest

SHOP = """\
import functools
import subprocess
import sys
import threading


def halved(n):
    half = n / 2
    return half


def branched(n):
    if n > 1:
        return halved(n)
    return 0


def recursive(n):
    if n:
        return recursive(n - 1)
    return 0


def produced(n):
    for one in range(n):
        yield one
    n = 0


@functools.cache
def cached(n):
    return halved(n)


def in_thread(n):
    worker = threading.Thread(target=halved, args=(n,))
    worker.start()
    worker.join()


def in_process():
    subprocess.run([sys.executable, "-c", "import shop; shop.recursive(0)"], check=True)


async def waited(n):
    return branched(n)


def often(n):
    found = 0
    for one in range(n):
        found += rare(one)
    return found


def rare(n):
    if n == 2990:
        return 1
    return 0
"""
TESTS = """\
import asyncio
import sys
import threading
import pytest
import shop


@pytest.fixture
def begun():
    found = shop.produced(1)
    next(found)
    yield found
    next(found, None)


@pytest.fixture(scope="module")
def shared(): return shop.branched(0)


def test_branch(): assert shop.branched(4) == 2
def test_other_branch(): assert shop.branched(1) == 0
def test_both(): assert (shop.branched(4), shop.branched(1), shop.branched(4)) == (2, 0, 2)
def test_again(): assert shop.branched(4) == 2
def test_recursion(): assert shop.recursive(5) == 0
def test_generator(): assert list(shop.produced(2)) == [0, 1]
def test_started_generator(): assert next(shop.produced(2)) == 0
def test_fixture(begun): assert next(begun, 7) == 7
def test_shared(shared): assert shared == 0
def test_cached(): assert (shop.cached(4), shop.cached(4)) == (2, 2)
def test_thread(): shop.in_thread(4)
def test_process(): shop.in_process()
def test_coroutine(): assert asyncio.run(shop.waited(4)) == 2
def test_raising():
    with pytest.raises(TypeError): shop.halved("")
def test_seldom(): assert shop.rare(2990) == 1
def test_often(): assert shop.often(3000) == 1
def test_nothing(): pass
"""
TRACER = """

def test_own_tracer():
    sys.settrace(None)
    assert shop.recursive(1) == 0
"""

Traced = Callable[..., ExecutedMarks]


@pytest.fixture(scope="module", params=[11, 12, 13], ids=lambda minor: f"python3.{minor}")
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    program = find_interpreter(request.param)
    if program is None:
        pytest.skip(f"no Python 3.{request.param} on this machine")

    @cache
    def run(tests: str = TESTS, *command: str) -> ExecutedMarks:
        tmp_path = tmp_path_factory.mktemp("traced")
        tools, log, settings = tmp_path / "tools", tmp_path / "log", tmp_path / "traced"
        tools.mkdir()
        for file in resources.files("caretbench.projects").joinpath("inside").iterdir():
            if file.name.endswith(".py"):
                (tools / file.name).write_bytes(file.read_bytes())
        copy_pytest(tmp_path / "deps")
        (tmp_path / "shop.py").write_text(SHOP)
        (tmp_path / "test_shop.py").write_text(tests)
        settings.write_text(f"{log}\0{tmp_path / 'shop.py'}")
        log.touch()
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(map(str, (tools, tmp_path, tmp_path / "deps"))),
            "PYTEST_ADDOPTS": "-p caretbench_tests",
            "CARETBENCH_TRACE": str(settings),
            "CARETBENCH_REACH": str(log),
        }
        words = [program, *(command or ("-m", "pytest")), "-q", "-x", "-p", "no:cacheprovider"]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        file = ResultFile(path=EXECUTION_LOG, pattern=EXECUTION_LOG, data=log.read_bytes())
        return executed_marks(WorkspaceResult(id="r", status=Status.PASSED, files=(file,)))

    return run


def lines(marks: ExecutedMarks, test: str) -> set[str]:
    text = SHOP.splitlines()
    return {text[line - 1].strip() for _, line in marks.by_test[f"test_shop.py::test_{test}"]}


def calls(marks: ExecutedMarks, test: str) -> list[tuple[str, str]]:
    found = marks.calls[f"test_shop.py::test_{test}"]
    return [(caller[2] if caller else "", called[2]) for caller, called in found]


HALVED = {"half = n / 2", "return half"}
CALLED = {"if n > 1:", "return halved(n)"}


def test_each_test_has_its_lines(traced: Traced) -> None:
    marks = traced()
    assert not marks.untraced
    assert lines(marks, "branch") == lines(marks, "again") == CALLED | HALVED
    assert lines(marks, "other_branch") == {"if n > 1:", "return 0"}
    assert lines(marks, "both") == CALLED | HALVED | {"return 0"}
    assert lines(marks, "recursion") == {"if n:", "return recursive(n - 1)", "return 0"}
    assert lines(marks, "generator") == {"for one in range(n):", "yield one", "n = 0"}
    assert lines(marks, "started_generator") == {"for one in range(n):", "yield one"}
    assert lines(marks, "fixture") == {"for one in range(n):", "yield one", "n = 0"}
    assert lines(marks, "shared") == set()
    assert lines(marks, "cached") == HALVED | {"return halved(n)"}
    assert lines(marks, "thread") >= HALVED | {"worker.join()"}
    assert lines(marks, "process") == {
        'subprocess.run([sys.executable, "-c", "import shop; shop.recursive(0)"], check=True)'
    }
    assert lines(marks, "coroutine") == CALLED | HALVED | {"return branched(n)"}
    assert lines(marks, "raising") == {"half = n / 2"}
    assert lines(marks, "nothing") == set()


def test_each_test_has_its_calls(traced: Traced) -> None:
    marks = traced()
    assert calls(marks, "branch") == [("", "branched"), ("branched", "halved")]
    assert calls(marks, "again") == calls(marks, "both") == calls(marks, "branch")
    assert calls(marks, "recursion") == [("", "recursive"), ("recursive", "recursive")]
    assert calls(marks, "generator") == calls(marks, "started_generator") == [("", "produced")]
    assert calls(marks, "cached") == [("", "cached"), ("cached", "halved")]
    assert calls(marks, "thread") == [("", "in_thread"), ("", "halved")]
    assert calls(marks, "coroutine") == [("", "waited"), ("waited", "branched"), ("branched", "halved")]
    assert calls(marks, "shared") == calls(marks, "nothing") == []


def test_code_that_is_called_often_keeps_what_the_process_has_not_seen(traced: Traced) -> None:
    first = traced(TESTS.replace("def test_seldom(): assert shop.rare(2990) == 1\n", ""))
    assert lines(first, "often") >= {"if n == 2990:", "return 1", "return 0"}


def test_a_process_tells_its_lines(traced: Traced) -> None:
    tests = "import shop\ndef test_process(): shop.in_process()\n"
    found = {SHOP.splitlines()[line - 1].strip() for _, line in traced(tests).executed}
    assert "if n:" in found
    assert "return recursive(n - 1)" not in found


def test_pytest_can_be_started_by_a_program_that_needs_the_project(traced: Traced) -> None:
    program = "import sys, pytest, shop; sys.exit(pytest.main(sys.argv[1:]))"
    marks = traced("import shop\ndef test_branch(): assert shop.branched(4) == 2\n", "-c", program)
    assert not marks.untraced
    assert lines(marks, "branch") == CALLED | HALVED


def test_a_test_with_a_tracer_of_its_own(traced: Traced, request: pytest.FixtureRequest) -> None:
    marks = traced(TESTS + TRACER)
    is_monitored = "3.11" not in request.node.name
    assert marks.untraced is not is_monitored
    if is_monitored:
        assert lines(marks, "own_tracer") == {"if n:", "return recursive(n - 1)", "return 0"}
