"""Plugin for pytest: selection, exclusion and order of tests, their outcomes, and the marks that each of them reaches.

It is added to the sandbox's copy of a project. Nothing of CaretBench can be imported here.

``CARETBENCH_TESTS`` is a file with the ids of the tests to run, a JSON list; ``CARETBENCH_EXCLUDED`` one with tests
that do not run, by id or by their name in JUnit reports; ``CARETBENCH_ORDER=reversed`` reverses the order.
``CARETBENCH_LOG`` is the file for the outcome of every test, in runs that do not stop at a failure; ``CARETBENCH_SLOW``
the seconds after which a running test is named on standard error. ``CARETBENCH_REACH`` is the file for marks, one line
of JSON for each test and one for what belongs to no single test: imported modules, shared fixtures, teardown. A mark is
the number of a statement in instrumented files, or of a line under the tracer (``caretbench_trace.py``), which also
tells the calls: pairs of the numbers of code objects, whose file, first line and name are in the last line.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


class Reached:
    """Marks of each file, and calls in the order of their first occurrence."""

    def __init__(self) -> None:
        self.marks: dict[int, set[int]] = {}
        self.calls: dict[tuple[int, int], None] = {}


def _bits(numbers: set[int]) -> str:
    """Return the number whose bits are these, in hexadecimal."""
    bits = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        bits[-1 - number // 8] |= 1 << number % 8
    return bits.hex()


class Watch:
    """Recorder of what tests reach; ``shared`` is what belongs to no single test."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shared = Reached()
        self.own = Reached()

    def take(self, into: Reached) -> None:
        """Move what was reached since the last call to ``into``."""
        for file, now in getattr(sys, "caretbench_marks", ()):
            if now:
                into.marks.setdefault(file, set()).update(now)
                now.clear()
        if _tracer is not None:
            into.calls.update(dict.fromkeys(_tracer.take_calls()))

    def write(self, test: str | None, reached: Reached, **more: object) -> None:
        """Keep a line; a file's statements are the bits of a number."""
        bits = {file: _bits(hits) for file, hits in reached.marks.items()}
        row = {"test": test, "marks": bits, "calls": list(itertools.chain.from_iterable(reached.calls)), **more}
        self.lines.append(json.dumps(row, separators=(",", ":")))


_tracer: Any = getattr(sys, "caretbench_tracer", None)
_watch = Watch()
_settings = {
    name: os.environ.pop(name)
    for name in list(os.environ)
    if name.startswith("CARETBENCH_") and name != "CARETBENCH_TRACE"  # which is for all processes
}
"""Settings of this process alone: tests may start pytest themselves."""
_stderr = os.dup(2)  # before pytest captures it
_process_time, _getrusage = time.process_time, resource.getrusage  # tests may replace those of the modules
_begun_s = 0.0


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of its ended children."""
    children = _getrusage(resource.RUSAGE_CHILDREN)
    return _process_time() + children.ru_utime + children.ru_stime


def _names(setting: str) -> set[str] | None:
    place = _settings.get(setting)
    return set(json.loads(Path(place).read_text("utf-8"))) if place else None


_excluded = _names("CARETBENCH_EXCLUDED") or set()
_wanted = _names("CARETBENCH_TESTS")
_wanted_files = {nodeid.partition("::")[0] for nodeid in _wanted or ()}


def _report_name(nodeid: str) -> str:
    """Return the name of a test, or of a file, in JUnit reports: ``tests.test_a.Class::test_b[1]``."""
    address, bracket, parameters = nodeid.partition("[")
    path, *inner = address.split("::")
    module = path.replace("/", ".").removesuffix(".py")
    *owners, name = [module, *inner]
    return "::".join(part for part in (".".join(owners), name + bracket + parameters) if part)


def _is_excluded(nodeid: str) -> bool:
    return nodeid in _excluded or _report_name(nodeid) in _excluded


def _log(nodeid: str, outcome: str, message: str = "", seconds: float = 0.0) -> None:
    place = _settings.get("CARETBENCH_LOG")
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            row = {"test": nodeid, "outcome": outcome, "message": message[-4000:], "seconds": seconds}
            row["cpu_s"] = round(_cpu_s() - _begun_s, 6)
            file.write(json.dumps(row) + "\n")


def pytest_configure(config: Any) -> None:
    """Run on after failures if outcomes are logged."""
    if _settings.get("CARETBENCH_LOG"):
        config.option.maxfail = 0
        config.option.continue_on_collection_errors = True


if hasattr(pytest, "Stash"):  # pytest 7 and newer; the argument had another name before

    def pytest_ignore_collect(collection_path: Path, config: Any) -> bool | None:
        """Ignore files without a test to run, and those that are excluded as a whole: they cannot be collected."""
        path = Path(os.path.relpath(collection_path, config.rootpath)).as_posix()
        unwanted = _wanted is not None and path not in _wanted_files and path.endswith(".py") and _is_plain(path)
        return True if unwanted or (_excluded and _is_excluded(path)) else None

    def _is_plain(path: str) -> bool:
        """Return whether a file is a test module of its own, not one that others in its folder need."""
        return path.rpartition("/")[2] not in ("__init__.py", "conftest.py")


def pytest_collectreport(report: Any) -> None:
    """Log files that cannot be collected."""
    if report.failed:
        _log(report.nodeid, "error", str(report.longrepr))


def pytest_runtest_logreport(report: Any) -> None:
    """Log the outcome of a test; of its setup and teardown only if they fail."""
    if report.failed:
        _log(report.nodeid, "failed" if report.when == "call" else "error", str(report.longrepr), report.duration)
    elif report.when == "call" and report.passed:
        _log(report.nodeid, "passed", seconds=report.duration)


def _name_slow_test(nodeid: str, seconds: float) -> None:
    os.write(_stderr, f"caretbench: a test runs for more than {seconds:g} s: {nodeid}\n".encode())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Deselect the tests that are not to run, and reverse the order if requested."""
    refused = [item for item in items if _excluded and _is_excluded(item.nodeid)]
    if refused:
        items[:] = [item for item in items if item not in refused]
        config.hook.pytest_deselected(items=refused)
    if _wanted is not None:
        left_out = [item for item in items if item.nodeid not in _wanted]
        items[:] = [item for item in items if item.nodeid in _wanted]
        config.hook.pytest_deselected(items=left_out)
        missing = len(_wanted) - len(items)
        if missing > 0:
            raise pytest.UsageError(f"{missing} of {len(_wanted)} tests to run are not there")
    if _settings.get("CARETBENCH_ORDER") == "reversed":
        items.reverse()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, None]:
    """Attribute the marks and the CPU time from here on to this test."""
    global _begun_s
    _begun_s = _cpu_s()
    _watch.take(_watch.shared)
    _watch.own = Reached()
    seconds = float(_settings.get("CARETBENCH_SLOW") or 0)
    if seconds:
        timer = threading.Timer(seconds, _name_slow_test, (item.nodeid, seconds))
        timer.daemon = True
        timer.start()
    was_on = _switch(on=False)
    yield
    if seconds:
        timer.cancel()
    _watch.take(_watch.own)
    _watch.write(item.nodeid, _watch.own)
    _switch(on=was_on)


def _switch(*, on: bool) -> bool:
    """Switch the tracer on or off; return whether it was on. pytest's own code runs faster without."""
    return _tracer is not None and _tracer.switch(on=on)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def _traced() -> Generator[None, Any, None]:
    was_on = _switch(on=True)
    yield
    _switch(on=was_on)


pytest_runtest_setup = pytest_runtest_call = _traced


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, Any, None]:
    """Count marks of teardown as shared: fixtures may belong to several tests."""
    _watch.take(_watch.own)
    was_on = _switch(on=True)
    yield
    _switch(on=was_on)
    _watch.take(_watch.shared)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, None]:
    """Count marks of fixtures with a wider scope than one test as shared."""
    _watch.take(_watch.own)
    yield
    _watch.take(_watch.own if fixturedef.scope == "function" else _watch.shared)


def pytest_sessionfinish() -> None:
    """Write all marks at once."""
    place = _settings.get("CARETBENCH_REACH")
    if not place or not hasattr(sys, "caretbench_marks"):
        return
    _watch.take(_watch.shared)
    _watch.write(None, _watch.shared, codes=_tracer.codes if _tracer is not None else [])
    data = "".join(f"{line}\n" for line in _watch.lines).encode()
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, data)
    os.close(descriptor)


if _tracer is not None:
    _tracer.start()
