"""Functions that tests enter: callers, order and depth, next to the references of the text."""

from __future__ import annotations

import pytest

from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import CallChains
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile
from tests.support.pytest_copy import copy_pytest

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

SHOP = """\
import functools
import threading


def traced(function):
    @functools.wraps(function)
    def wrapper(*words):
        return function(*words)
    return wrapper


def leaf(n):
    return n


def middle(n):
    return leaf(n) + 1


def outer(n):
    return middle(n) + leaf(n)


def recursive(n):
    return recursive(n - 1) if n else leaf(n)


def produced(n):
    for one in range(n):
        yield leaf(one)


def consumer(n):
    return sum(produced(n))


def by_sort(words):
    return sorted(words, key=lambda word: middle(word))


@traced
def decorated(n):
    return leaf(n)


@functools.cache
def cached(n):
    return middle(n)


def by_name(name):
    return globals()[name](1)


def in_thread(n):
    worker = threading.Thread(target=outer, args=(n,))
    worker.start()
    worker.join()


class Shelf:
    def __len__(self):
        return leaf(3)


def never():
    return leaf(0)
"""
TESTS = """\
import sys
import pytest
import shop


@pytest.fixture
def shelf():
    return shop.Shelf()


@pytest.fixture(scope="module")
def shared():
    return shop.outer(1)


def test_outer(): assert shop.outer(1) == 3
def test_shallow(): assert (shop.outer(1), shop.middle(1)) == (3, 2)
def test_recursion(): assert shop.recursive(3) == 0
def test_generator(): assert shop.consumer(3) == 3
def test_started_by_the_test(): assert list(shop.produced(2)) == [0, 1]
def test_not_started(): shop.produced(2)
def test_callback(): assert shop.by_sort([2, 1]) == [1, 2]
def test_decorated(): assert shop.decorated(1) == 1
def test_cached(): assert (shop.cached(1), shop.cached(1)) == (2, 2)
def test_by_name(): assert shop.by_name("leaf") == 1
def test_thread(): shop.in_thread(1)
def test_protocol(shelf): assert len(shelf) == 3
def test_shared(shared): assert shared == 3
def test_often(): assert [shop.leaf(n) for n in range(5000)] and shop.outer(1)
"""


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory, engine: WorkspaceExecutor) -> CallChains:
    root = tmp_path_factory.mktemp("chains")
    copy_pytest(root / ".deps")
    (root / "shop.py").write_text(SHOP)
    (root / "test_shop.py").write_text(TESTS)
    store = engine.workspace_runner.store
    command = ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    request = WorkspaceRequest(
        id="r", snapshot=store.add(root).id, command=command, environment={"PYTHONPATH": ".deps"}
    )
    reach = measure_reach(engine, request, ["shop.py"], store=store)
    return CallChains(reach, analyse([SourceFile("shop.py", SHOP)]))


def entries(chains: CallChains, test: str) -> list[tuple[str, int, tuple[str, ...]]]:
    return [
        (one.function.name, one.depth, tuple(caller.name if caller else "" for caller in one.callers))
        for one in chains.entries(f"test_shop.py::test_{test}")
    ]


@pytest.mark.parametrize(
    ("test", "expected"),
    [  # callers are looked for in the first 2,000 calls: `often`
        ("outer", [("outer", 1, ("",)), ("middle", 2, ("outer",)), ("leaf", 2, ("middle", "outer"))]),
        ("shallow", [("outer", 1, ("",)), ("middle", 1, ("outer", "")), ("leaf", 2, ("middle", "outer"))]),
        ("recursion", [("recursive", 1, ("", "recursive")), ("leaf", 2, ("recursive",))]),
        ("generator", [("consumer", 1, ("",)), ("produced", 2, ("consumer",)), ("leaf", 3, ("produced",))]),
        ("started_by_the_test", [("produced", 1, ("",)), ("leaf", 2, ("produced",))]),
        ("not_started", []),
        ("callback", [("by_sort", 1, ("",)), ("middle", 2, ("by_sort",)), ("leaf", 3, ("middle",))]),
        ("decorated", [("wrapper", 1, ("",)), ("decorated", 2, ("wrapper",)), ("leaf", 3, ("decorated",))]),
        ("cached", [("cached", 1, ("",)), ("middle", 2, ("cached",)), ("leaf", 3, ("middle",))]),
        ("by_name", [("by_name", 1, ("",)), ("leaf", 2, ("by_name",))]),
        ("protocol", [("__len__", 1, ("",)), ("leaf", 2, ("__len__",))]),
        ("shared", []),
        ("often", [("leaf", 1, ("",)), ("outer", 1, ("",)), ("middle", 2, ("outer",))]),
    ],
)
def test_a_test_tells_what_it_enters(
    chains: CallChains, test: str, expected: list[tuple[str, int, tuple[str, ...]]]
) -> None:
    assert entries(chains, test) == expected


def test_a_thread_begins_at_the_test(chains: CallChains) -> None:
    found = {name: (depth, callers) for name, depth, callers in entries(chains, "thread")}
    assert found == {
        "in_thread": (1, ("",)), "outer": (1, ("",)), "middle": (2, ("outer",)), "leaf": (2, ("middle", "outer")),
    }  # fmt: skip


def test_a_function_whose_def_line_alone_ran_is_not_entered(chains: CallChains) -> None:
    entered = {call.called.name for call in chains.calls} | {call.caller.name for call in chains.calls}
    assert "never" not in entered
    assert "leaf" in entered


def test_calls_by_the_text_are_told_from_those_by_execution_alone(chains: CallChains) -> None:
    known = {(call.caller.name, call.called.name): call.in_text for call in chains.calls}
    assert known["outer", "middle"]
    assert known["consumer", "produced"]
    assert known["recursive", "recursive"]
    assert not known["by_name", "leaf"]
    assert not known["wrapper", "decorated"]


def test_the_depth_is_that_of_the_function_around_a_span(chains: CallChains) -> None:
    start = SHOP.index("leaf(n) + 1")
    assert chains.depth("test_shop.py::test_outer", "shop.py", (start, start + 4)) == 2
    assert chains.depth("test_shop.py::test_shallow", "shop.py", (start, start + 4)) == 1
    assert chains.depth("test_shop.py::test_by_name", "shop.py", (start, start + 4)) is None
    assert chains.depth("test_shop.py::test_missing", "shop.py", (start, start + 4)) is None
