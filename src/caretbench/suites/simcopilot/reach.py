"""What a project's tests reach: which statements of which files they execute.

A call that leaves a mark is put before every statement, the tests run once, and the marks are read. Text put into
sources works alike in every language and under every runner, in processes that the tests start too; tracers and
coverage tools would be another one for each language, and none is there for Java without an agent. What cannot be
marked (a file that does not compile with marks in it) counts as reached: the gate, which replaces the code, finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.errors import DataError
from caretbench.execution.snapshots import SnapshotStore
from caretbench.execution.types import Limits, Status
from caretbench.execution.workspace import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspace_engine import WorkspaceEngine
from caretbench.suites.simcopilot.marking import MARKS, MARKS_FILE, Marked, mark, marks_in
from caretbench.suites.simcopilot.running import original
from caretbench.syntax.source import SourceFile, language_of
from caretbench.syntax.types import Span

_MOST_BYTES = 16 << 20
_PATIENCE = 4.0
"""Marks cost time: the tests may take so many times as long as they may without."""


@dataclass(frozen=True)
class Reach:
    """What the tests reach.

    Args:
        statements: By file, all statements in the order of the text, and whether each is executed.
        unknown: Files in which it could not be found out, with the reason.
        runs: How many times the tests ran.
        cpu_s: CPU seconds of all runs.
    """

    statements: Mapping[str, Sequence[tuple[Span, bool]]] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0
    cpu_s: float = 0.0

    def covers(self, path: str, start: int, end: int) -> bool:
        """Whether the tests execute something of the bytes ``start`` to ``end``, as far as can be told.

        A span that lies within a statement (a condition) is executed as soon as that is.
        """
        if path not in self.statements:
            return True
        inside = around = None
        for span, hit in self.statements[path]:
            if span.start >= end:
                break
            if start <= span.start:
                inside = inside or hit
            elif end <= span.end:
                around = hit  # the innermost comes last
        if inside is not None:
            return inside
        return True if around is None else around

    def lines(self, path: str, source: SourceFile) -> frozenset[int]:
        """The lines, from 1, of the statements that are executed, without those of inner ones that are not."""
        found: set[int] = set()
        for span, hit in self.statements.get(path, ()):
            lines = range(source.line_at(span.start), source.line_at(max(span.start, span.end - 1)) + 1)
            if hit:
                found.update(lines)
            else:
                found.difference_update(lines)
        return frozenset(found)


def reached(
    engine: WorkspaceEngine,
    request: WorkspaceRequest,
    paths: Iterable[str],
    *,
    store: SnapshotStore | None = None,
) -> Reach:
    """Find out what the tests of a project reach in these files.

    Args:
        engine: Runs them.
        request: The command in the project as it is, which passes.
        paths: Files to look at; test code had better not be among them.
        store: Where the project lies; the user's cache by default.

    Raises:
        DataError: the project is not here, or has no such file.
    """
    marked: dict[str, Marked] = {}
    unknown: dict[str, str] = {}
    for path in sorted(set(paths)):
        language = language_of(path)
        if language not in MARKS:
            unknown[path] = f"no marks are known for {language or 'this language'}"
            continue
        try:
            marked[path] = mark(SourceFile(path, original(request.snapshot, path, store)), len(marked))
        except DataError as error:
            unknown[path] = str(error)
    probe = _Probe(engine, request, marked)
    hits = probe.run(tuple(marked), unknown)
    statements = {
        path: [(span, (one.number, n) in hits) for n, span in enumerate(one.spans)]
        for path, one in marked.items()
        if path not in unknown
    }
    return Reach(statements, unknown, probe.runs, probe.cpu_s)


class _Probe:
    """Runs the tests with marks; where they do not pass with them, with the marks of half the files, and so on."""

    def __init__(
        self, engine: WorkspaceEngine, request: WorkspaceRequest, marked: Mapping[str, Marked]
    ) -> None:
        self._engine = engine
        self._request = request
        self._marked = marked
        self.runs = 0
        self.cpu_s = 0.0

    def run(self, paths: Sequence[str], unknown: dict[str, str]) -> set[tuple[int, int]]:
        if not paths:
            return set()
        result = self._once(paths)
        hits = marks_in(result)
        if result.status is Status.PASSED:
            return hits
        if len(paths) == 1:
            unknown[paths[0]] = f"with marks in it the tests do not pass: {result.status.value}"
            return set()
        half = len(paths) // 2
        return self.run(paths[:half], unknown) | self.run(paths[half:], unknown)

    def _once(self, paths: Sequence[str]) -> WorkspaceResult:
        patch = {path: self._marked[path].content for path in paths}
        limits = _longer(self._request.limits)
        request = self._request.model_copy(
            update={
                "id": f"reach {self.runs}",
                "patch": {**patch, MARKS_FILE: b""},
                "results": (*self._request.results, MARKS_FILE),
                "limits": limits,
                "expected": None,
                "result_bytes": _MOST_BYTES,
            }
        )
        [result] = self._engine.submit([request])
        self.runs += 1
        self.cpu_s += result.cpu_s
        return result


def _longer(limits: Limits) -> Limits:
    return limits.model_copy(update={"cpu_s": _PATIENCE * limits.cpu_s, "wall_s": _PATIENCE * limits.wall_s})
