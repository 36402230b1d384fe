"""Reach of the project's own tests, and whether it stays with further tests beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from caretbench.build.project_tasks.tester.answer_tests import is_written_test
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest
from caretbench.syntax import ProjectAnalysis, Span
from caretbench.syntax.analysis_types import FUNCTION_SCOPES


class _Reached(NamedTuple):
    """A statement that is executed, or that tests of the project's own execute."""

    path: str
    number: int
    by_own_tests: bool


@dataclass(frozen=True)
class OwnReach:
    """Reach of the project's own tests, without written ones.

    Args:
        before: The reach, without written tests.
        request: The request that runs all tests.
        engine: Runs commands.
        store: Snapshots.
        analysis: The project's files.
    """

    before: StatementReach
    request: WorkspaceRequest
    engine: WorkspaceEngine
    store: SnapshotStore
    analysis: ProjectAnalysis

    def stays_with(self, files: Mapping[str, bytes]) -> bool:
        """Return whether the own tests reach the same statements, or more, where the project has these files too.

        A statement in a function that own tests reached has still to be reached by one of them: written tests may also
        run it outside of tests, where it would belong to all. Where single tests are not known, any run counts.
        Statements that the own tests do not reach in each of two runs do not count.
        """
        after = self._reached(self._measured(files))
        return self._reached(self.before) <= after or self._steady <= after

    @cached_property
    def _steady(self) -> frozenset[_Reached]:
        return self._reached(self.before) & self._reached(self._measured({}, repeat=1))

    def _measured(self, files: Mapping[str, bytes], repeat: int = 0) -> StatementReach:
        changed = {"patch": {**self.request.patch, **files}, "repeat": repeat}
        request = self.request.model_copy(update=changed)
        return measure_reach(self.engine, request, self.before.statements, store=self.store)

    def _reached(self, reach: StatementReach) -> frozenset[_Reached]:
        executed = {
            _Reached(path, n, by_own_tests=False)
            for path, own in reach.statements.items()
            for n, (_, hit) in enumerate(own)
            if hit
        }
        by_own_tests = {
            _Reached(path, n, by_own_tests=True)
            for (path, n), tests in reach.tests_by_statement.items()
            if not all(map(is_written_test, tests)) and self._is_in_function(path, reach.statements[path][n][0])
        }
        return frozenset(executed | by_own_tests)

    def _is_in_function(self, path: str, span: Span) -> bool:
        scopes = self.analysis[path].enclosing_scopes(span)
        return any(one.kind in FUNCTION_SCOPES and one.span.start < span.start for one in scopes)
