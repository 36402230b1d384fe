"""Reach of a project's tests: statements that they execute, functions that they enter, with their callers."""

from __future__ import annotations

import bisect
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from caretbench.syntax.analysis import ProjectAnalysis
from caretbench.syntax.analysis_types import Span, SpanIndex
from caretbench.syntax.source import SourceFile


class CodePlace(NamedTuple):
    """A code object of Python: its file, its first line (that of its first decorator), and its name."""

    path: str
    line: int
    name: str


class RecordedCall(NamedTuple):
    """A call that a test makes: the calling code object (None: the test, through no file of interest), and the called.

    Code of libraries between two files of interest is passed over.
    """

    caller: CodePlace | None
    called: CodePlace


@dataclass(frozen=True)
class StatementReach:
    """Statements that a project's tests execute.

    Args:
        statements: For each file, its statements in text order, each with True if it is executed.
        unknown_files: Files with unknown reach, with the reason.
        tests_by_statement: Tests that execute a statement, by path and number of the statement. Statements that also
            run outside tests are missing.
        all_tests: All tests in the order of execution; empty if single tests were not recorded.
        run_count: Number of recorded test runs.
        cpu_s: CPU seconds of these runs.
        calls: For each test its calls, once each, in the order of their first occurrence; empty without a tracer.
    """

    statements: Mapping[str, Sequence[tuple[Span, bool]]] = field(default_factory=dict)
    unknown_files: Mapping[str, str] = field(default_factory=dict)
    tests_by_statement: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    all_tests: tuple[str, ...] = ()
    run_count: int = 0
    cpu_s: float = 0.0
    calls: Mapping[str, tuple[RecordedCall, ...]] = field(default_factory=dict)

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
        names: set[str] = set()
        for n in self._looked_at(path, start, end):
            if self.statements[path][n][1]:
                tests = self.tests_by_statement.get((path, n))
                if tests is None:
                    return ()
                names |= tests
        if len(names) == len(self.all_tests):
            return ()
        return tuple(name for name in self.all_tests if name in names)

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
        executed: set[int] = set()
        for span, hit in self.statements.get(path, ()):
            lines = range(source.line_at(span.start), source.line_at(max(span.start, span.end - 1)) + 1)
            if hit:
                executed.update(lines)
            else:
                executed.difference_update(lines)
        return frozenset(executed)


class ProjectFunction(NamedTuple):
    """A named function of a project."""

    path: str
    name: str
    span: Span


class FunctionEntry(NamedTuple):
    """A function that a test enters.

    Args:
        function: The function.
        depth: Least number of calls from the test to the function, along recorded calls: 1 if the test calls it.
        callers: Functions that call it; None for the test, or for code in no function.
    """

    function: ProjectFunction
    depth: int
    callers: tuple[ProjectFunction | None, ...]


class FunctionCall(NamedTuple):
    """A call from one function to another, and whether a reference in the text of the caller names the called one."""

    caller: ProjectFunction
    called: ProjectFunction
    in_text: bool


class CallChains:
    """Functions that each test of a project enters, by a tracer; a function counts if a statement of its body ran."""

    def __init__(self, reach: StatementReach, analysis: ProjectAnalysis) -> None:
        self._reach = reach
        self._analysis = analysis
        self._functions: dict[str, list[ProjectFunction]] = {}
        self._places: dict[CodePlace, ProjectFunction | None] = {}
        self._entered: dict[str, tuple[FunctionEntry, ...]] = {}

    def entries(self, test: str) -> tuple[FunctionEntry, ...]:
        """Return the functions that a test enters, in the order of their first entry; empty if that is unknown."""
        if test not in self._entered:
            self._entered[test] = self._entries(test, self._reach.calls.get(test, ()))
        return self._entered[test]

    def depth(self, test: str, path: str, span: tuple[int, int]) -> int | None:
        """Return the depth of the function around a span in a test; None if the test does not enter it, or unknown."""
        function = self.function_at(path, span)
        return next((entry.depth for entry in self.entries(test) if entry.function == function), None)

    def function_at(self, path: str, span: tuple[int, int]) -> ProjectFunction | None:
        """Return the innermost named function around a span."""
        around = [function for function in self._in(path) if function.span.contains(span)]
        return min(around, key=lambda function: function.span.end - function.span.start, default=None)

    @cached_property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The calls between functions in any test, sorted."""
        pairs = {
            (caller, entry.function)
            for test in self._reach.calls
            for entry in self.entries(test)
            for caller in entry.callers
            if caller is not None
        }
        return tuple(FunctionCall(*pair, self._names(*pair)) for pair in sorted(pairs))

    def _entries(self, test: str, calls: Iterable[RecordedCall]) -> tuple[FunctionEntry, ...]:
        callers: dict[ProjectFunction, dict[ProjectFunction | None, None]] = defaultdict(dict)
        for call in calls:
            called = self._called(call.called)
            if called is not None and self._body_ran(called, test):
                callers[called][self._calling(call.caller) if call.caller else None] = None
        depths = _depths(callers)
        return tuple(FunctionEntry(function, depths.get(function, 1), tuple(by)) for function, by in callers.items())

    def _in(self, path: str) -> list[ProjectFunction]:
        if path not in self._functions:
            scopes = self._analysis[path].named_functions if path in self._analysis.files else ()
            self._functions[path] = [ProjectFunction(path, scope.name, scope.span) for scope in scopes]
        return self._functions[path]

    def _called(self, place: CodePlace) -> ProjectFunction | None:
        """Return the function of a code object: the first of its name that begins at its line or, decorated, below."""
        if place not in self._places:
            named = (function for function in self._in(place.path) if function.name == place.name)
            below = (function for function in named if self._line(function) >= place.line)
            self._places[place] = min(below, key=lambda function: function.span.start, default=None)
        return self._places[place]

    def _calling(self, place: CodePlace) -> ProjectFunction | None:
        called = None if place.name.startswith("<") else self._called(place)
        if called is not None or place.path not in self._analysis.files:
            return called
        source = self._analysis[place.path].source
        start = source.line_starts[place.line - 1] if 0 < place.line <= len(source.line_starts) else 0
        text = source.data[start:].split(b"\n", 1)[0]
        begin = start + len(text) - len(text.lstrip())
        return self.function_at(place.path, (begin, begin + 1))

    def _line(self, function: ProjectFunction) -> int:
        """Return the line of a function's name, or of the text at the end of its decorators."""
        return self._analysis[function.path].source.line_at(function.span.start)

    def _body_ran(self, function: ProjectFunction, test: str) -> bool:
        """Return whether a test ran a statement of the body.

        The ``def`` line runs at import, and a generator may end before it starts.
        """
        start, end = function.span
        for number, (span, hit) in enumerate(self._reach.statements.get(function.path, ())):
            if hit and start < span.start and span.end <= end:
                tests = self._reach.tests_by_statement.get((function.path, number))
                if tests is None or test in tests:
                    return True
        return False

    def _names(self, caller: ProjectFunction, called: ProjectFunction) -> bool:
        """Return whether the text of a function refers to another one."""
        for reference in self._analysis[caller.path].references_in(caller.span):
            for target in (reference.declaration, *reference.reaching):
                if target is None or (target.path, target.name) != (called.path, called.name):
                    continue
                if called.span.contains(target.span):
                    return True
        return False


def _depths(callers: Mapping[ProjectFunction, Iterable[ProjectFunction | None]]) -> dict[ProjectFunction, int]:
    """Return the least number of calls from the test to each function; code in no function counts as the test."""
    called = defaultdict(list)
    for function, calling in callers.items():
        for caller in calling:
            called[caller if caller in callers else None].append(function)
    depths: dict[ProjectFunction, int] = {}
    waiting: deque[tuple[ProjectFunction | None, int]] = deque([(None, 0)])
    while waiting:
        caller, depth = waiting.popleft()
        for function in called[caller]:
            if function not in depths:
                depths[function] = depth + 1
                waiting.append((function, depth + 1))
    return depths
