"""Written tests laid in a snapshot, and the choice of those that disturb neither the project's tests nor each other."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.build.project_tasks.tester.answer_tests import WrittenTest
from caretbench.build.project_tasks.tester.own_reach import OwnReach
from caretbench.build.project_tasks.tester.written_runs import WrittenRuns
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.problem import TestsCheck
from caretbench.projects.answer_requests import check_request
from caretbench.projects.excluded_tests import all_failures_request, outcomes_by_test
from caretbench.projects.runner_options import with_reversed_order
from caretbench.temporary import temporary_folder


def with_files(store: SnapshotStore, snapshot: Snapshot, files: Mapping[str, bytes]) -> Snapshot:
    """Return the snapshot with further files.

    Raises:
        DataError: it cannot be stored.
    """
    with temporary_folder("tests") as place:
        copy = place / "project"
        shutil.copytree(snapshot.tree, copy, symlinks=True)
        for path, content in files.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content)
        return store.add(copy, ignore=(".git", "__pycache__"))


@dataclass
class TogetherRuns:
    """Runs of written tests together with all others, by the project's own command, in its order and in another.

    Args:
        engine: Runs commands.
        runs: Files of written tests.
        check: The project's check.
        any_order: The project's own tests pass in another order.
        own_reach: Reach of the project's own tests, which have to reach as much; None: there are none.
        dropped: Tests that do not stay, with reasons.
    """

    engine: WorkspaceEngine
    runs: WrittenRuns
    check: TestsCheck
    any_order: bool
    own_reach: OwnReach | None = None
    dropped: dict[str, str] = field(default_factory=dict)

    def undisturbing(self, tests: Sequence[WrittenTest]) -> list[WrittenTest]:
        """Return the tests that pass together with all others, which pass and reach as much; the rest is dropped.

        Tests that fail are dropped first. Where only others fail or reach less, halves are tried, and those of the
        later half are dropped with which the kept ones do not agree.
        """
        waiting = list(tests)
        while waiting:
            results = self._results(waiting)
            bad = _lacking(results, waiting)
            if not bad:
                fault = self._fault_of_others(results, waiting)
                return self._by_halves(waiting, fault) if fault else waiting
            for test in bad:
                self.dropped[test.key] = "fails_together: it fails with the other tests, or is not collected with them"
            waiting = [test for test in waiting if test not in bad]
        return []

    def _by_halves(self, tests: Sequence[WrittenTest], fault: str) -> list[WrittenTest]:
        if len(tests) == 1:
            self.dropped[tests[0].key] = fault
            return []
        half = len(tests) // 2
        kept = self.undisturbing(tests[:half])
        for test in self.undisturbing(tests[half:]):
            results = self._results([*kept, test])
            lacking = "disturbs_other_tests: other tests fail with it" if _lacking(results, [*kept, test]) else ""
            fault = lacking or self._fault_of_others(results, [*kept, test])
            if fault:
                self.dropped[test.key] = fault
            else:
                kept.append(test)
        return kept

    def _fault_of_others(self, results: Sequence[WorkspaceResult], tests: Sequence[WrittenTest]) -> str:
        """Return the reason to drop written tests that pass: the project's own tests fail or reach less; else empty."""
        if any(result.status is not Status.PASSED for result in results):
            return "disturbs_other_tests: other tests fail with it"
        if self.own_reach is not None and not self.own_reach.stays_with(self.runs.files(tests)):
            return "disturbs_other_tests: the project's own tests reach less with it"
        return ""

    def _results(self, tests: Sequence[WrittenTest]) -> list[WorkspaceResult]:
        request = check_request(self.check, self.runs.snapshot.id)
        request = request.model_copy(update={"patch": {**request.patch, **self.runs.files(tests)}, "prepare": ()})
        turned = with_reversed_order(request) if self.any_order else None
        wanted: list[WorkspaceRequest] = [request, *([turned] if turned is not None else [])]
        named = [
            all_failures_request(one).model_copy(update={"id": f"together {number}"})
            for number, one in enumerate(wanted)
        ]
        return sorted(self.engine.submit(named), key=lambda result: result.id)


def _lacking(results: Iterable[WorkspaceResult], tests: Sequence[WrittenTest]) -> list[WrittenTest]:
    """Return the tests without an outcome, or with another one than a pass, in a run that no limit ended."""
    found: dict[str, WrittenTest] = {}
    for result in results:
        outcomes = outcomes_by_test(result)
        for test in tests:
            own = [one.outcome for name, one in outcomes.items() if test.stem in name]
            if any(one != "passed" for one in own) or (not own and result.status is Status.PASSED):
                found.setdefault(test.key, test)
    return list(found.values())
