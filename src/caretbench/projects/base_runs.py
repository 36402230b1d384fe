"""The project's own tests, three times, before anything is cut out: they must pass, and tell how long they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from caretbench.execution.workspaces.engine import WorkspaceEngine
from caretbench.execution.workspaces.workspace import WorkspaceRequest
from caretbench.projects.project_check import ProjectCheck, check_project, failing_tests
from caretbench.projects.runners import reversed_order
from caretbench.projects.running import check_request, project_key
from caretbench.projects.selecting import rounded
from caretbench.projects.setup.commands import NamedCheck

_NAMED = 5


class BaseRuns(NamedTuple):
    """The checks that pass three times, with the time they take and the tests they run; and why others do not."""

    checks: tuple[NamedCheck, ...]
    dropped: dict[str, str]
    flaky: dict[str, tuple[str, ...]]
    """By check: tests that pass at times only, and are left out from now on."""
    order: dict[str, str]
    """By check: what fails when its tests run in another order."""
    projects: dict[str, ProjectCheck]
    """What came out, by the command as the gate asks for it."""


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
    kept: list[NamedCheck] = []
    dropped: dict[str, str] = {}
    flaky: dict[str, tuple[str, ...]] = {}
    order: dict[str, str] = {}
    projects: dict[str, ProjectCheck] = {}
    for entry in checks:
        found = check_project(engine, check_request(entry.check, snapshot))
        if found.flaky:
            flaky[entry.name] = found.flaky
        if found.fault:
            dropped[entry.name] = entry.advised(found.fault)
        else:
            changes = {
                "command": found.request.command,
                "prepare": found.request.prepare,
                "golden_s": rounded(found.cpu_s),
                "minimum_tests": max(entry.check.minimum_tests, found.tests),
            }
            check = entry.check.model_copy(update=changes)
            kept.append(entry._replace(check=check))
            projects[project_key(check, snapshot)] = found
            said = _in_another_order(engine, found.request)
            if said:
                order[entry.name] = said
        progress(1)
    return BaseRuns(tuple(kept), dropped, flaky, order, projects)


def _in_another_order(engine: WorkspaceEngine, request: WorkspaceRequest) -> str:
    """What fails when the tests run in another order, twice; empty where nothing does, or no other order is known."""
    turned = reversed_order(request.model_copy(update={"id": "another order", "expected": None}))
    if turned is None:
        return ""
    for repeat in range(2):
        [result] = engine.submit([turned.model_copy(update={"repeat": repeat})])
        if not result.status.ended_by_itself:
            return ""
    names = ", ".join(failing_tests(result)[:_NAMED])
    return f"in another order {names or 'its tests'} fail{'s' if names and ',' not in names else ''}"
