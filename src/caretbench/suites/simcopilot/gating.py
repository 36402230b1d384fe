"""The gate for mined problems: the house's gate for problems in projects, with this suite's way of running them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from caretbench.execution.workspaces.engine import WorkspaceEngine
from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.execution.workspaces.workspace import WorkspaceRequest
from caretbench.extraction.policies import Policy
from caretbench.problem import Problem
from caretbench.projects.project_check import ProjectCheck
from caretbench.projects.reach import Reach, reached
from caretbench.projects.running import file_splice, original, tests_check, workspace_request
from caretbench.validation.workspace_gate import WorkspaceGate


def workspace_gate(
    engine: WorkspaceEngine,
    policy: Policy,
    *,
    store: SnapshotStore | None = None,
    reach: Reach | None = None,
    known: Callable[[WorkspaceRequest], ProjectCheck | None] = lambda _request: None,
    progress: Callable[[int], None] = lambda _count: None,
) -> WorkspaceGate:
    """The gate.

    Args:
        engine: Runs the projects' tests.
        policy: The extraction that must leave golden answers unchanged.
        store: Where the projects lie; the user's cache by default.
        reach: What the tests reach, where that is known already; else it is found out, once for each project. Problems
            whose check names the tests that reach them are not asked again.
        known: What became of a project's own tests, where they ran already.
        progress: Called with the number of problems decided.
    """

    def reached_ones(request: WorkspaceRequest, problems: Sequence[Problem]) -> Collection[str]:
        found = reach
        if found is None and all(tests_check(problem).tests for problem in problems):
            return {problem.id for problem in problems}
        if found is None:
            found = reached(engine, request, (file_splice(problem).path for problem in problems), store=store)
        splices = ((problem.id, file_splice(problem)) for problem in problems)
        return {
            identity for identity, splice in splices if found.covers(splice.path, splice.start, splice.end)
        }

    return WorkspaceGate(
        engine,
        policy,
        lambda problem, text: workspace_request(problem, text, store=store),
        lambda problem: original(file_splice(problem).snapshot, file_splice(problem).path, store),
        reached_ones,
        known,
        progress,
    )
