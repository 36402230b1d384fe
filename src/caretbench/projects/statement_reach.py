"""Reach of a project's tests: the statements of each file that they execute.

The sources are instrumented, the tests run once, and the log is read. This works alike in every language, under every
runner and in child processes, unlike coverage tools. For a file whose tests fail with instrumentation, reach is
unknown: its lines do not count as reached, and the gate examines its blocks by replacing the code. Under pytest, reach
is also recorded for each test.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.projects.answer_requests import original_file
from caretbench.projects.instrumentation import (
    EXECUTION_LOG,
    ExecutedStatements,
    InstrumentedFile,
    executed_statements,
    instrument,
)
from caretbench.projects.language_tables import instrumentation_table
from caretbench.projects.runner_options import runs_pytest, with_reach_recording
from caretbench.syntax.analysis_types import Span, SpanIndex
from caretbench.syntax.source import SourceFile, language_of

_MOST_BYTES = 16 << 20
_PATIENCE = 4.0
"""Factor of the limits of instrumented runs, which take longer."""


@dataclass(frozen=True)
class StatementReach:
    """Statements that a project's tests execute.

    Args:
        statements: For each file, its statements in text order, each with True if it is executed.
        unknown_files: Files with unknown reach, with the reason.
        tests_by_statement: Tests that execute a statement, by path and number of the statement. Statements that also
            run outside tests are missing.
        all_tests: All tests in the order of execution; empty if single tests were not recorded.
        run_count: Number of instrumented test runs.
        cpu_s: CPU seconds of these runs.
    """

    statements: Mapping[str, Sequence[tuple[Span, bool]]] = field(default_factory=dict)
    unknown_files: Mapping[str, str] = field(default_factory=dict)
    tests_by_statement: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    all_tests: tuple[str, ...] = ()
    run_count: int = 0
    cpu_s: float = 0.0

    def reaches(self, path: str, start: int, end: int) -> bool:
        """Return whether the tests execute a statement in the bytes ``start`` to ``end``; True if unknown.

        For a span within a statement, such as a condition, that statement counts.
        """
        if path not in self.statements:
            return True
        looked_at = self._looked_at(path, start, end)
        return not looked_at or any(self.statements[path][n][1] for n in looked_at)

    def covers(self, other: StatementReach, path: str, start: int, end: int) -> bool:
        """Return whether each statement in a span of bytes that ``other`` executes is executed here too."""
        mine, others = self.statements.get(path), other.statements.get(path)
        if mine is None or others is None:
            return False
        return all(mine[n][1] for n in other._looked_at(path, start, end) if others[n][1])

    @property
    def reaches_nothing(self) -> bool:
        """True if the tests are known to execute no statement of any file."""
        hits = (hit for statements in self.statements.values() for _, hit in statements)
        return bool(self.statements) and not self.unknown_files and not any(hits)

    def tests_reaching(self, path: str, start: int, end: int) -> tuple[str, ...]:
        """Return the tests that execute a statement in the bytes ``start`` to ``end``, in the order of execution.

        Empty if all tests do, or if the tests of a statement are unknown.
        """
        found: set[str] = set()
        for n in self._looked_at(path, start, end):
            if self.statements[path][n][1]:
                tests = self.tests_by_statement.get((path, n))
                if tests is None:
                    return ()
                found |= tests
        if len(found) == len(self.all_tests):
            return ()
        return tuple(name for name in self.all_tests if name in found)

    def _looked_at(self, path: str, start: int, end: int) -> Sequence[int]:
        """Return the numbers of the statements that begin in a span, or of the innermost statement around it."""
        if path not in self._places:
            return ()
        starts, nesting = self._places[path]
        inside = range(bisect.bisect_left(starts, start), bisect.bisect_left(starts, end))
        if inside:
            return inside
        around = nesting.innermost(start, end)
        return () if around is None else (around,)

    @cached_property
    def _places(self) -> Mapping[str, tuple[list[int], SpanIndex]]:
        return {
            path: ([span.start for span, _ in statements], SpanIndex([span for span, _ in statements]))
            for path, statements in self.statements.items()
        }

    def executed_lines(self, path: str, source: SourceFile) -> frozenset[int]:
        """Return the lines, from 1, of executed statements, without lines of inner statements that are not executed."""
        found: set[int] = set()
        for span, hit in self.statements.get(path, ()):
            lines = range(source.line_at(span.start), source.line_at(max(span.start, span.end - 1)) + 1)
            if hit:
                found.update(lines)
            else:
                found.difference_update(lines)
        return frozenset(found)


def measure_reach(
    engine: WorkspaceEngine, request: WorkspaceRequest, paths: Iterable[str], *, store: SnapshotStore | None = None
) -> StatementReach:
    """Run the tests of a project with instrumented files and return the reached statements.

    ``paths`` are the files to instrument; they should not include test code.

    Raises:
        DataError: the project is not on this machine, or has no such file.
    """
    marked: dict[str, InstrumentedFile] = {}
    unknown: dict[str, str] = {}
    for path in sorted(set(paths)):
        language = language_of(path)
        if language is None or instrumentation_table(language) is None:
            unknown[path] = f"{language or 'this language'} has no instrumentation"
            continue
        try:
            source = SourceFile(path, original_file(request.snapshot, path, store))
            marked[path] = instrument(source, len(marked))
        except DataError as error:
            unknown[path] = str(error)
    probe = _Probe(engine, request, marked)
    marks = probe.run(tuple(marked), unknown)
    known = {path: one for path, one in marked.items() if path not in unknown}
    statements = {
        path: [(span, (one.number, n) in marks.executed) for n, span in enumerate(one.spans)]
        for path, one in known.items()
    }
    paths_by_number = {one.number: path for path, one in known.items()}
    tests: dict[tuple[str, int], set[str]] = {}
    for name, own in marks.by_test.items():
        for number, n in own:
            if number in paths_by_number:
                tests.setdefault((paths_by_number[number], n), set()).add(name)
    by_place = {place: frozenset(names) for place, names in tests.items()}
    return StatementReach(statements, unknown, by_place, tuple(marks.by_test), probe.runs, probe.cpu_s)


def _error_in(path: str) -> re.Pattern[str]:
    """Return the pattern of a compiler's line that places an error in a file."""
    name = re.escape(path)
    before = rf"(?:^|[\s/\"']){name}[:(]\d[^\n]*\berror\b"  # gcc, clang, javac, csc
    after = rf"\berror\b[^\n]*\n\s*--> (?:[^\n]*/)?{name}:"  # rustc
    return re.compile(f"{before}|{after}", re.MULTILINE)


@dataclass
class _Probe:
    """Runner of instrumented tests; if they do not pass, files that a compiler blames are excluded, others bisected."""

    engine: WorkspaceEngine
    request: WorkspaceRequest
    marked: Mapping[str, InstrumentedFile]
    runs: int = 0
    cpu_s: float = 0.0

    def run(self, paths: Sequence[str], unknown: dict[str, str]) -> ExecutedStatements:
        """Return the executed statements; those of single tests if the tests pass in one run."""
        if not (paths and runs_pytest(self.request.command)):
            return ExecutedStatements(self._by_halves(paths, unknown), {})
        found = self._by_test(paths)
        if found is None:
            executed = self._by_halves(paths, unknown)
            known = [path for path in paths if path not in unknown]
            found = self._by_test(known) if known and len(known) < len(paths) else None
            found = found or ExecutedStatements(executed, {})
        return found

    def _by_test(self, paths: Sequence[str]) -> ExecutedStatements | None:
        """Return the statements of single tests from one run; None if the tests do not pass."""
        result = self._once(paths, by_test=True)
        passed = result.status is Status.PASSED and result.file(EXECUTION_LOG) is not None
        return executed_statements(result) if passed else None

    def _by_halves(self, paths: Sequence[str], unknown: dict[str, str]) -> frozenset[tuple[int, int]]:
        if not paths:
            return frozenset()
        result = self._once(paths)
        if result.status is Status.PASSED:
            return executed_statements(result).executed
        if len(paths) == 1:
            unknown[paths[0]] = f"the tests do not pass with instrumentation: {result.status.value}"
            return frozenset()
        culprits = self._blamed_files(result, paths)
        if culprits:
            reason = f"the tests do not pass with instrumentation: {result.status.value}"
            unknown.update(dict.fromkeys(culprits, reason))
            return self._by_halves([path for path in paths if path not in culprits], unknown)
        half = len(paths) // 2
        return self._by_halves(paths[:half], unknown) | self._by_halves(paths[half:], unknown)

    def _blamed_files(self, result: WorkspaceResult, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the files in which a compiler found errors; none if these are all, or it named none."""
        if result.status is not Status.COMPILE_ERROR:
            return ()
        output = f"{result.stderr.text}\n{result.stdout.text}"
        blamed = tuple(path for path in paths if _error_in(path).search(output))
        return blamed if len(blamed) < len(paths) else ()

    def _once(self, paths: Sequence[str], *, by_test: bool = False) -> WorkspaceResult:
        patch = {path: self.marked[path].content for path in paths}
        limits = self.request.limits
        longer = {"cpu_s": _PATIENCE * limits.cpu_s, "wall_s": _PATIENCE * limits.wall_s}
        request = self.request.model_copy(
            update={
                "id": f"reach {self.runs}",
                "patch": {**self.request.patch, **patch, EXECUTION_LOG: b""},
                "results": (*self.request.results, EXECUTION_LOG),
                "limits": limits.model_copy(update=longer),
                "expected": None,
                "result_bytes": _MOST_BYTES,
            }
        )
        [result] = self.engine.submit([with_reach_recording(request, EXECUTION_LOG) if by_test else request])
        self.runs += 1
        self.cpu_s += result.cpu_s
        return result
