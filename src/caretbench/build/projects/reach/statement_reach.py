"""Reach of a project's tests: the statements of each file that they execute."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

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
