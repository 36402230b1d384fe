"""Skips that are failures where a tool was promised: ``CARETBENCH_REQUIRE=ray`` in an environment that installs Ray.

A test names what it needs by the marker ``requires``. Without the variable it may skip itself, as on any machine that
lacks the tool; with it, a skip for any reason fails, so that nobody takes tests for run that were not.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


def required() -> frozenset[str]:
    """Return the names in ``CARETBENCH_REQUIRE``, which commas separate."""
    return frozenset(name.strip() for name in os.environ.get("CARETBENCH_REQUIRE", "").split(",") if name.strip())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test that needs what is required into a failure."""
    report = yield
    needed = {str(name) for marker in item.iter_markers("requires") for name in marker.args} & required()
    if report.skipped and needed:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CARETBENCH_REQUIRE={','.join(sorted(needed))}, but the test was skipped: {reason}"
    return report
