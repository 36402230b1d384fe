"""Log of what a project's tests execute: marks, which are statements of instrumented files or lines of traced ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel

from caretbench.execution.workspaces.workspace_runner import WorkspaceResult

EXECUTION_LOG = ".caretbench-marks"
"""Path of the log file in the project."""

Mark = tuple[int, int]
"""Number of a file, and number of a statement or of a line in it."""

Place = tuple[int, int, str]
"""Number of a file, first line of a code object in it, and its name."""

_MARK = re.compile(rb"^(\d+) (\d+)$", re.MULTILINE)
_UNTRACED = re.compile(rb"^untraced$", re.MULTILINE)


class ExecutedMarks(NamedTuple):
    """Marks that a command executed.

    Args:
        executed: All executed marks.
        shared: Those that belong to no single test: of imports, shared fixtures and other processes.
        by_test: For each test, in the order of execution, its marks; empty if the runner does not report single tests.
        untraced: Whether a part of the command ran without its tracer.
        calls: For each test, the calling code object (None: the test) and the called one of each call, once, in the
            order of their first occurrence; empty without a tracer.
    """

    executed: frozenset[Mark]
    shared: frozenset[Mark]
    by_test: Mapping[str, frozenset[Mark]]
    untraced: bool = False
    calls: Mapping[str, tuple[tuple[Place | None, Place], ...]] = {}

    def converted(self, convert: Callable[[frozenset[Mark]], frozenset[Mark]]) -> ExecutedMarks:
        """Return the marks with each set converted, such as lines to statements."""
        tests = {name: convert(marks) for name, marks in self.by_test.items()}
        return self._replace(executed=convert(self.executed), shared=convert(self.shared), by_test=tests)


def executed_marks(result: WorkspaceResult) -> ExecutedMarks:
    """Return the marks in the log file of a command."""
    data = result.file(EXECUTION_LOG) or b""
    counts = Counter((int(file), int(number)) for file, number in _MARK.findall(data))
    shared = {mark for mark, count in counts.items() if count > 1}  # by several processes
    tests: dict[str, set[Mark]] = {}
    calls: dict[str, list[int]] = {}
    codes: tuple[Place, ...] = ()
    for line in data.splitlines():
        if line.startswith(b"{"):
            found = _Line.model_validate_json(line)
            numbers = ((file, int(bits, 16)) for file, bits in found.marks.items())
            marks = {(file, n) for file, bits in numbers for n in range(bits.bit_length()) if bits >> n & 1}
            if found.test is None:
                shared |= marks
                codes = found.codes or codes
            else:
                tests.setdefault(found.test, set()).update(marks)
                calls.setdefault(found.test, []).extend(found.calls)
    by_test = {name: frozenset(marks) for name, marks in tests.items()}
    placed = {name: tuple(_placed(numbers, codes)) for name, numbers in calls.items() if codes}
    return ExecutedMarks(frozenset(counts), frozenset(shared), by_test, _UNTRACED.search(data) is not None, placed)


def _placed(numbers: Sequence[int], codes: Sequence[Place]) -> Iterator[tuple[Place | None, Place]]:
    """Yield calls by the places of their code objects; ``numbers`` are those of calling and called ones in turn."""
    for caller, called in zip(numbers[::2], numbers[1::2], strict=True):
        yield None if caller < 0 else codes[caller], codes[called]


class _Line(BaseModel):
    """Log line of the pytest plugin: the marks that one test executed, as a bit set for each file, and the calls."""

    test: str | None
    marks: Mapping[int, str]
    calls: tuple[int, ...] = ()
    codes: tuple[Place, ...] = ()
