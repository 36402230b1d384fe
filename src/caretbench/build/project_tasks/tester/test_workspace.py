"""Written tests in a project's snapshot: their runs alone, and the choice of those that disturb no other test."""

from __future__ import annotations

import posixpath
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from caretbench.build.project_tasks.tester.answer_tests import WRITTEN_FOLDER, Framework, WrittenTest, is_written_test
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.setup.pytest_settings import installation_folders, pytest_options
from caretbench.build.projects.test_outcomes import all_failures_request, outcomes_by_test, with_reversed_order
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WORKSPACE_LIMITS, WorkspaceRequest, WorkspaceResult
from caretbench.file_locks import temporary_folder
from caretbench.problem import TestsCheck
from caretbench.projects.answer_requests import check_request
from caretbench.projects.runner_options import runs_pytest
from caretbench.syntax import Span, is_test_path
from caretbench.syntax.analysis import ProjectAnalysis
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
        # The second run is made only where the first differs: most written tests disturb nothing.
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
            for path, statements in reach.statements.items()
            for n, (_, hit) in enumerate(statements)
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
        return any(scope.kind in FUNCTION_SCOPES and scope.span.start < span.start for scope in scopes)


CHANGED: Final = 97
"""Exit status of a guarded run after which files of the project are changed or missing."""
# A test of a unit takes milliseconds; one that needs more would cost every answer as much.
_LIMITS: Final = WORKSPACE_LIMITS.model_copy(update={"cpu_s": 10.0, "wall_s": 60.0, "output_kb": 64, "tmp_mb": 64})
_UNITTEST: Final = re.compile(r"-m\s+unittest\b")
_MODULE: Final = re.compile(r"test[^/]*\.py|[^/]*_test\.py")


def framework_of(check: TestsCheck) -> Framework | None:
    """Return the framework that a check runs; None if it is neither pytest nor unittest."""
    if runs_pytest(check.command):
        return "pytest"
    return "unittest" if _UNITTEST.search(" ".join(check.command)) else None


def written_folder(snapshot: Snapshot, directory: str = ".") -> str:
    """Return the folder for written tests: in the one that has most of the project's test files, else in the root."""
    installed = (*installation_folders(snapshot), "node_modules")
    counts = Counter(
        posixpath.dirname(path)
        for path, entry in snapshot.entries.items()
        if entry.kind == "file"
        and _MODULE.fullmatch(posixpath.basename(path))
        and is_test_path(path, "python")
        and not any(path.startswith(f"{folder}/") for folder in installed)
        and (directory == "." or path.startswith(f"{directory}/"))
    )
    # Next to the project's own tests, so that relative imports and conftest.py work as for them.
    most = min(counts, key=lambda name: (-counts[name], name.count("/"), name), default="")
    start = most or ("" if directory == "." else directory)
    return posixpath.join(start, WRITTEN_FOLDER)


@dataclass(frozen=True)
class WrittenRuns:
    """Requests that run written tests, and no others, on a project.

    Args:
        check: The project's own check, or that of a project without tests.
        snapshot: The project.
        folder: Folder for the tests.
        framework: Framework of the check.
    """

    check: TestsCheck
    snapshot: Snapshot
    folder: str
    framework: Framework

    def files(self, tests: Iterable[WrittenTest]) -> dict[str, bytes]:
        """Return the files of tests by path."""
        test_files = {f"{self.folder}/{test.stem}.py": test.source.encode() for test in tests}
        return {f"{self.folder}/__init__.py": b"", **test_files} if test_files else {}

    def request(
        self, tests: Iterable[WrittenTest], identity: str, patch: Mapping[str, bytes] | None = None
    ) -> WorkspaceRequest:
        """Return the request that runs tests with a log of their outcomes; ``patch`` are changed files."""
        request = all_failures_request(self.plain_request(tests, patch))
        return request.model_copy(update={"id": identity})

    def plain_request(self, tests: Iterable[WrittenTest], patch: Mapping[str, bytes] | None = None) -> WorkspaceRequest:
        """Return the request that runs tests, without a log."""
        alone = self.check.model_copy(
            update={
                "command": self._command(), "prepare": (), "junit": (), "minimum_tests": 1, "output": None,
                "tests": (), "excluded_tests": (), "reference_s": None,
            }
        )  # fmt: skip
        request = check_request(alone, self.snapshot.id)
        files = {**request.patch, **self.files(tests), **(patch or {})}
        return request.model_copy(update={"patch": files, "limits": _LIMITS})

    def guarded(self, request: WorkspaceRequest) -> WorkspaceRequest:
        """Return the request that ends with :data:`CHANGED` if a file of the project is changed or missing."""
        installed = installation_folders(self.snapshot)
        sums = [
            f"{entry.content}  {path}"
            for path, entry in sorted(self.snapshot.entries.items())
            if entry.kind == "file"
            and not any(path.startswith(f"{folder}/") for folder in installed)
            # sha256sum escapes such names, and would look for other files.
            and not set(path) & {"\n", "\\", "\r"}
        ]
        script = (
            # The list of hashes is on standard input, which a test must not read or consume.
            f"{shlex.join(request.command)} < /dev/null; status=$?\n"
            f"cd {WORK} && sha256sum --check --quiet - >&2 || exit {CHANGED}\nexit $status"
        )
        listed = "".join(f"{line}\n" for line in sums).encode()
        return request.model_copy(update={"command": ("/bin/sh", "-c", script), "stdin": listed})

    def _command(self) -> tuple[str, ...]:
        folder = posixpath.relpath(self.folder, self.check.directory)
        if self.framework == "unittest":
            return ("python3", "-m", "unittest", "discover", "-f", "-s", folder, "-p", "test_*.py")
        options = shlex.split(pytest_options(self.snapshot))
        return ("python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, folder)


def with_files(store: SnapshotStore, snapshot: Snapshot, files: Mapping[str, bytes]) -> Snapshot:
    """Return the snapshot with further files.

    Raises:
        DataError: it cannot be stored.
    """
    with temporary_folder("tests") as folder:
        copy = folder / "project"
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
        # One run for each of 20 tests would cost 20 whole test runs of the project; halves cost a few.
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
        named = [
            all_failures_request(run).model_copy(update={"id": f"together {number}"})
            for number, run in enumerate((request, turned))
            if run is not None
        ]
        # Results come as they end; the order makes two builds equal.
        return sorted(self.engine.submit(named), key=lambda result: result.id)


def _lacking(results: Iterable[WorkspaceResult], tests: Sequence[WrittenTest]) -> list[WrittenTest]:
    """Return the tests without an outcome, or with another one than a pass, in a run that no limit ended."""
    by_key: dict[str, WrittenTest] = {}
    for result in results:
        outcomes = outcomes_by_test(result)
        for test in tests:
            kinds = {outcome.outcome for name, outcome in outcomes.items() if test.stem in name}
            if kinds - {"passed"} or (not kinds and result.status is Status.PASSED):
                by_key.setdefault(test.key, test)
    return list(by_key.values())
