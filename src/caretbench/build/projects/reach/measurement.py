"""Measurement of the reach of a project's tests.

The lines of Python's files are traced (``inside/caretbench_trace.py``), for which no source changes. All other files
are instrumented, and so are those of Python where the tests fail under a tracer or end it: a call before every
statement works in every language, under every runner and in child processes, unlike coverage tools. The tests run once,
and the log is read. For a file whose tests fail with instrumentation, reach is unknown: its lines do not count as
reached, and the gate examines its blocks by replacing the code. Under pytest, reach is also recorded for each test, and
under runners of scripts that take files for each test file, where the tests take long.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import tree_sitter

from caretbench.build.projects.language_tables import instrumentation_table, is_traced
from caretbench.build.projects.project_check import passed_test_count
from caretbench.build.projects.reach.instrumentation import (
    EXECUTION_LOG,
    ExecutedMarks,
    InstrumentedFile,
    Mark,
    Place,
    executed_marks,
    instrument,
    recorded_statements,
)
from caretbench.build.projects.reach.statement_reach import CodePlace, RecordedCall, StatementReach
from caretbench.build.projects.test_outcomes import with_line_tracing, with_reach_recording
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.projects.answer_requests import original_file
from caretbench.projects.runner_options import runs_pytest, with_test_files
from caretbench.syntax.analysis_types import Span
from caretbench.syntax.source import SourceFile, language_of


class TracedFile:
    """The recorded statements of a file, in text order, and the lines that execute each of them."""

    def __init__(self, nodes: Sequence[tree_sitter.Node]) -> None:
        self.spans = tuple(Span(node.start_byte, node.end_byte) for node in nodes)
        self._owners = _statements_by_line(nodes)
        self._before: list[int | None] = []
        last: dict[int, int] = {}
        for n, node in enumerate(nodes):
            parent = node.parent.id if node.parent is not None else 0
            self._before.append(last.get(parent))
            last[parent] = n

    def statements(self, lines: Collection[int]) -> set[int]:
        """Return the numbers of the statements that run if these lines, from 1, are executed."""
        numbers: set[int] = set()
        for line in lines:
            for n in self._owners.get(line, ()):
                number: int | None = n
                while number is not None and number not in numbers:
                    numbers.add(number)
                    number = self._before[number]
        return numbers


def statement_marks(marks: frozenset[Mark], files: Mapping[int, TracedFile]) -> frozenset[Mark]:
    """Return marks of lines as marks of statements; ``files`` are the traced files by number, others are excluded."""
    lines: dict[int, list[int]] = defaultdict(list)
    for file, line in marks:
        lines[file].append(line)
    return frozenset((file, n) for file, hits in lines.items() if file in files for n in files[file].statements(hits))


def _statements_by_line(nodes: Sequence[tree_sitter.Node]) -> dict[int, list[int]]:
    """Return the statements that own a line: those that begin on it, or the innermost one that goes on over it."""
    owners: dict[int, list[int]] = {}
    around: dict[int, int] = {}
    for n, node in enumerate(nodes):
        first, last = node.start_point.row + 1, node.end_point.row + 1
        owners.setdefault(first, []).append(n)
        around.update(dict.fromkeys(range(first + 1, last + 1), n))
    for line, n in around.items():
        begun = owners.setdefault(line, [])
        if not any(nodes[n].start_byte <= nodes[inner].start_byte < nodes[n].end_byte for inner in begun):
            begun.append(n)
    return owners


# html5lib's report of its tests has more than 4 MB.
_MAX_BYTES = 16 << 20
_PATIENCE = 4.0
"""Factor of the limits of recorded runs, which take longer."""
_LONG_S = 3.0
"""CPU seconds of a run of all tests from which on each test file runs alone: a gate runs them some 200 times."""
_MAX_FILES = 200
_OF = "reach of "


def measure_reach(
    engine: WorkspaceEngine,
    request: WorkspaceRequest,
    paths: Iterable[str],
    *,
    store: SnapshotStore | None = None,
    test_files: Sequence[str] = (),
) -> StatementReach:
    """Run the tests of a project with a record of what they execute, and return the reached statements.

    ``paths`` are the files of interest; they should not include test code, as ``test_files`` do.

    Raises:
        DataError: the project is not on this machine, or has no such file.
    """
    marked: dict[str, InstrumentedFile] = {}
    traced: dict[int, TracedFile] = {}
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
            continue
        if is_traced(language):
            traced[marked[path].number] = TracedFile(recorded_statements(source))
    runs = _RecordedRuns(engine, request, marked, test_files)
    marks = runs.executed_statements(traced, unknown)
    measured = {path: file for path, file in marked.items() if path not in unknown}
    statements = {
        path: [(span, (file.number, n) in marks.executed) for n, span in enumerate(file.spans)]
        for path, file in measured.items()
    }
    paths_by_number = {file.number: path for path, file in measured.items()}
    tests: dict[tuple[str, int], set[str]] = defaultdict(set)
    for name, executed in marks.by_test.items():
        # What runs at import belongs to no test: leaving a test out does not leave it out.
        for number, n in executed - marks.shared:
            if number in paths_by_number:
                tests[paths_by_number[number], n].add(name)
    by_statement = {statement: frozenset(names) for statement, names in tests.items()}
    calls = _located_calls(marks, paths_by_number)
    return StatementReach(statements, unknown, by_statement, tuple(marks.by_test), runs.count, runs.cpu_s, calls)


def _located_calls(marks: ExecutedMarks, paths: Mapping[int, str]) -> dict[str, tuple[RecordedCall, ...]]:
    """Return the calls of each test with the paths of files."""

    def code(place: Place) -> CodePlace:
        return CodePlace(paths[place[0]], *place[1:])

    return {
        test: tuple(
            RecordedCall(code(caller) if caller else None, code(called))
            for caller, called in calls
            if called[0] in paths and (caller is None or caller[0] in paths)
        )
        for test, calls in marks.calls.items()
    }


def _error_in(path: str) -> re.Pattern[str]:
    """Return the pattern of a compiler's line that places an error in a file."""
    name = re.escape(path)
    before = rf"(?:^|[\s/\"']){name}[:(]\d[^\n]*\berror\b"  # gcc, clang, javac, csc
    after = rf"\berror\b[^\n]*\n\s*--> (?:[^\n]*/)?{name}:"  # rustc
    return re.compile(f"{before}|{after}", re.MULTILINE)


@dataclass
class _RecordedRuns:
    """Runner of recorded tests: traced ones, and instrumented ones.

    If instrumented tests do not pass, files that a compiler blames are excluded, others bisected.
    """

    engine: WorkspaceEngine
    request: WorkspaceRequest
    marked: Mapping[str, InstrumentedFile]
    test_files: Sequence[str] = ()
    count: int = 0
    cpu_s: float = 0.0
    _last: WorkspaceResult | None = None

    def executed_statements(self, traced: Mapping[int, TracedFile], unknown: dict[str, str]) -> ExecutedMarks:
        """Return the executed statements of all files; add the files for which they stay unknown to ``unknown``."""
        lines = self._trace() if traced else None
        traced_marks = lines.converted(partial(statement_marks, files=traced)) if lines else None
        # The tracer makes a bound of time fail: sqlparse's test that wants an answer within a second took 1.08 s under
        # it.
        if traced_marks is None or not traced_marks.executed:
            return self._instrumented(tuple(self.marked), unknown)
        rest = [path for path, file in self.marked.items() if traced_marks.untraced or file.number not in traced]
        if not rest:
            return traced_marks
        failing: dict[str, str] = {}
        marks = self._instrumented(rest, failing)
        unknown.update({path: why for path, why in failing.items() if self.marked[path].number not in traced})
        instrumented = {self.marked[path].number for path in rest if path not in failing}
        traced_only = frozenset(mark for mark in traced_marks.executed if mark[0] not in instrumented)
        attributed = marks if traced_marks.untraced else traced_marks
        return attributed._replace(executed=marks.executed | traced_only)

    def _trace(self) -> ExecutedMarks | None:
        """Return the executed lines of traced files; None if the tests do not pass under the tracer."""
        request = with_line_tracing(self._longer(()), tuple(self.marked), EXECUTION_LOG)
        by_test = runs_pytest(self.request.command)
        return self._passed_marks(with_reach_recording(request, EXECUTION_LOG) if by_test else request)

    def _passed_marks(self, request: WorkspaceRequest) -> ExecutedMarks | None:
        """Return the executed marks of a run; None if its tests do not pass."""
        result = self._submit(request)
        passed = result.status is Status.PASSED and result.file(EXECUTION_LOG) is not None
        return executed_marks(result) if passed else None

    def _instrumented(self, paths: Sequence[str], unknown: dict[str, str]) -> ExecutedMarks:
        """Return the executed statements; those of single tests if the tests pass in one run."""
        if not (paths and runs_pytest(self.request.command)):
            executed = self._by_halves(paths, unknown)
            return ExecutedMarks(executed, by_test=self._by_test_file({*paths} - {*unknown}, executed))
        marks = self._by_test(paths)
        if marks is None:
            executed = self._by_halves(paths, unknown)
            compiled = [path for path in paths if path not in unknown]
            marks = self._by_test(compiled) if compiled and len(compiled) < len(paths) else None
            marks = marks or ExecutedMarks(executed)
        return marks

    def _by_test(self, paths: Sequence[str]) -> ExecutedMarks | None:
        """Return the statements of single tests from one run; None if the tests do not pass."""
        return self._passed_marks(with_reach_recording(self._longer(paths), EXECUTION_LOG))

    def _by_test_file(self, paths: Collection[str], executed: frozenset[Mark]) -> dict[str, frozenset[Mark]]:
        """Return the statements that each test file executes, in a run of its own; empty if not all tests ran so.

        Where tests are not counted (tap), these runs must execute all that the tests ``executed`` together.
        """
        last = self._last
        files = self.test_files
        if last is None or last.status is not Status.PASSED or last.cpu_s < _LONG_S or not 1 < len(files) <= _MAX_FILES:
            return {}
        whole = self._longer(paths)
        requests = [
            whole.model_copy(update={"id": f"{_OF}{path}", "command": command, "minimum_tests": 0})
            for path in files
            if (command := with_test_files(whole.command, (path,), files)) is not None
        ]
        results = {result.id: result for result in self.engine.submit(requests)}
        self.count += len(results)
        self.cpu_s += math.fsum(result.cpu_s for result in results.values())
        by_path = ((path, results.get(f"{_OF}{path}")) for path in files)
        passed = {path: result for path, result in by_path if result and result.status is Status.PASSED}
        marks = {path: executed_marks(result).executed for path, result in passed.items()}
        # A test file that passes only beside others would be missed: then all of them decide.
        count = passed_test_count(last)
        complete = (
            count <= sum(map(passed_test_count, passed.values())) if count else executed <= {*chain(*marks.values())}
        )
        return marks if complete else {}

    def _by_halves(self, paths: Sequence[str], unknown: dict[str, str]) -> frozenset[tuple[int, int]]:
        if not paths:
            return frozenset()
        result = self._submit(self._longer(paths))
        if result.status is Status.PASSED:
            return executed_marks(result).executed
        # One rebuild instead of one for each halving, where the compiler names the files.
        culprits = paths if len(paths) == 1 else self._blamed_files(result, paths)
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
        # args4j was refused as a whole for one test that uses a package which the JDK does not export.
        blamed = tuple(path for path in paths if _error_in(path).search(output))
        return blamed if len(blamed) < len(paths) else ()

    def _longer(self, paths: Iterable[str]) -> WorkspaceRequest:
        """Return the request with some files instrumented, a log and longer limits."""
        patch = {path: self.marked[path].content for path in paths}
        limits = self.request.limits
        longer = {"cpu_s": _PATIENCE * limits.cpu_s, "wall_s": _PATIENCE * limits.wall_s}
        return self.request.model_copy(
            update={
                "id": f"reach {self.count}",
                "patch": {**self.request.patch, **patch, EXECUTION_LOG: b""},
                "results": (*self.request.results, EXECUTION_LOG),
                "limits": limits.model_copy(update=longer),
                "expected": None,
                "result_bytes": _MAX_BYTES,
            }
        )

    def _submit(self, request: WorkspaceRequest) -> WorkspaceResult:
        [result] = self.engine.submit([request])
        self.count += 1
        self.cpu_s += result.cpu_s
        self._last = result
        return result
