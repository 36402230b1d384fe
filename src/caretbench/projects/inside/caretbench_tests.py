"""A plugin for pytest: which tests run, in which order, and what each of them reaches.

It is laid beside a project, in its sandbox alone. Nothing of the house can be imported here.

``CARETBENCH_TESTS`` is a file with the ids of the tests to run, a JSON list; ``CARETBENCH_ORDER=reversed`` turns the
order round; ``CARETBENCH_REACH`` is the file to which marks go, one line of JSON for each test and one for what belongs
to no single test: modules that are imported, fixtures that several tests share, what is torn down.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

Marks = dict[int, set[int]]


class Watch:
    """Recorder of the marks that tests reach; ``shared`` marks belong to no single test."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shared: Marks = {}
        self.own: Marks = {}

    def take(self, into: Marks) -> None:
        """Move the marks since the last call to ``into``."""
        for file, now in getattr(sys, "caretbench_marks", ()):
            if now:
                into.setdefault(file, set()).update(now)
                now.clear()

    def write(self, test: str | None, marks: Marks) -> None:
        """Keep a line; a file's statements are the bits of a number."""
        bits = {file: f"{sum(1 << n for n in hits):x}" for file, hits in marks.items()}
        self.lines.append(json.dumps({"test": test, "marks": bits}))


_watch = Watch()


def _wanted() -> set[str] | None:
    place = os.environ.get("CARETBENCH_TESTS")
    if not place:
        return None
    return set(json.loads(Path(place).read_text("utf-8")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Deselect the tests that are not to run, and reverse the order if requested."""
    wanted = _wanted()
    if wanted is not None:
        left_out = [item for item in items if item.nodeid not in wanted]
        items[:] = [item for item in items if item.nodeid in wanted]
        config.hook.pytest_deselected(items=left_out)
        missing = len(wanted) - len(items)
        if missing > 0:
            raise pytest.UsageError(f"{missing} of {len(wanted)} tests to run are not there")
    if os.environ.get("CARETBENCH_ORDER") == "reversed":
        items.reverse()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, None]:
    """Attribute the marks from here on to this test."""
    _watch.take(_watch.shared)
    _watch.own = {}
    yield
    _watch.take(_watch.own)
    _watch.write(item.nodeid, _watch.own)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown() -> Generator[None, Any, None]:
    """Count marks of teardown as shared: fixtures may belong to several tests."""
    _watch.take(_watch.own)
    yield
    _watch.take(_watch.shared)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, None]:
    """Count marks of fixtures with a wider scope than one test as shared."""
    _watch.take(_watch.own)
    yield
    _watch.take(_watch.own if fixturedef.scope == "function" else _watch.shared)


def pytest_sessionfinish() -> None:
    """Write down what was seen, all at once."""
    place = os.environ.get("CARETBENCH_REACH")
    if not place or not hasattr(sys, "caretbench_marks"):
        return
    _watch.take(_watch.shared)
    _watch.write(None, _watch.shared)
    data = "".join(f"{line}\n" for line in _watch.lines).encode()
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, data)
    os.close(descriptor)
