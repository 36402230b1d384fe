"""The project's own tests, three times, before anything is cut out: they must pass, and tell how long they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from caretbench.execution.workspace_engine import WorkspaceEngine
from caretbench.suites.simcopilot.commands import NamedCheck
from caretbench.suites.simcopilot.running import check_request
from caretbench.validation.project_check import check_project


class BaseRuns(NamedTuple):
    """The checks that pass three times, with the time they take and the tests they run; and why others do not."""

    checks: tuple[NamedCheck, ...]
    dropped: dict[str, str]
    flaky: dict[str, tuple[str, ...]]
    """By check: tests that pass at times only, and are left out from now on."""


def base_runs(
    engine: WorkspaceEngine,
    snapshot: str,
    checks: Sequence[NamedCheck],
    progress: Callable[[int], None] = lambda _count: None,
) -> BaseRuns:
    """Run every check three times in the project as it is.

    Raises:
        DataError: the snapshot is not here, or damaged.
    """
    kept, dropped, flaky = [], {}, {}
    for entry in checks:
        found = check_project(engine, check_request(entry.check, snapshot))
        if found.flaky:
            flaky[entry.name] = found.flaky
        if found.fault:
            dropped[entry.name] = found.fault
        else:
            changes = {
                "command": found.request.command,
                "golden_s": _rounded(found.cpu_s),
                "minimum_tests": max(entry.check.minimum_tests, found.tests),
            }
            kept.append(entry._replace(check=entry.check.model_copy(update=changes)))
        progress(1)
    return BaseRuns(tuple(kept), dropped, flaky)


def _rounded(cpu_s: float) -> float:
    """CPU seconds up to the next power of two, one at least.

    No two runs take the same time, and a project mined twice is to give the same tasks.
    """
    return float(2 ** math.ceil(math.log2(max(cpu_s, 1.0))))
