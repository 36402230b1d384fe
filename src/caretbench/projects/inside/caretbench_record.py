"""Record of the lines and calls of a project's files that a Python process executes; the tracers fill it.

Nothing of CaretBench can be imported here. ``CARETBENCH_TRACE`` is a file: the path of the log, then the paths of the
files, with NULs between them. A line of the log is a file's number and a line of it, written when a process first
executes it, as soon as that happens: a process may be killed. ``untraced`` in the log tells that a part of a process
ran without the tracer. ``sys.caretbench_marks`` holds, for each file, the lines since the plugin for pytest last took
them: the lines of a period. Calls are those of a period as well.
"""

from __future__ import annotations

import os
import sys
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

_open, _write, _close = os.open, os.write, os.close  # tests may replace those of the module
_MAX_CALLS = 400_000
"""Maximum number of calls that a process keeps for the log, over all tests."""
MAX_CALLS_OF_ONE = 2_000
"""Number of calls of a code object in a period after which it is traced no longer, if all of its lines are known."""
_RESUME = opmap.get("RESUME")
_NOBODY = object()
marks: list[tuple[int, set[int]]] = []
numbers: dict[str, int] = {}
files: dict[str, FileRecord | None] = {}
"""Files by the names in code objects; None for those that are not traced."""
codes: list[tuple[int, int, str]] = []
"""File, first line and name of each code object, by number."""
calls: dict[tuple[int, int], None] = {}
"""Calls since the last period: number of the calling code object (-1: no traced file called it), and of the called."""
_touched: list[CodeRecord] = []
_called: list[CodeRecord] = []
_log = ""
_kept = 0


class FileRecord:
    """A traced file: its lines of this period and of the process, and its code objects by identity."""

    __slots__ = ("codes", "number", "recent", "seen")

    def __init__(self, number: int) -> None:
        self.number = number
        self.recent: set[int] = set()
        self.seen: set[int] = set()
        self.codes: dict[int, CodeRecord] = {}
        marks.append((number, self.recent))

    def add_seen(self, line: int) -> None:
        """Write a line that the process executes for the first time."""
        self.seen.add(line)
        write(f"{self.number} {line}\n")


class CodeRecord:
    """A code object of a traced file: its lines, those that are missing in this period, and who called it in it."""

    __slots__ = (
        "callers", "calls_left", "code", "file", "is_named", "is_touched", "last_caller", "lines", "missing", "number",
        "trace", "tracer",
    )  # fmt: skip

    def __init__(self, file: FileRecord, code: CodeType) -> None:
        self.file = file
        self.code = code  # its identity stays its own as long as it is kept
        self.lines = _lines(code)
        self.missing = set(self.lines)
        self.callers: dict[int, CodeType | None] = {}
        self.last_caller: object = _NOBODY
        self.calls_left = MAX_CALLS_OF_ONE
        self.is_touched = False
        self.is_named = not code.co_name.startswith("<")
        self.number = len(codes)
        codes.append((file.number, code.co_firstlineno, code.co_name))
        self.trace: Any = None
        self.tracer: Any = None
        """The tracer of new frames; None if they need none in this period."""

    def touch(self) -> None:
        """Note that a line is about to be no longer missing."""
        self.is_touched = True
        self.calls_left = MAX_CALLS_OF_ONE
        _touched.append(self)

    def add_caller(self, caller: FrameType | None) -> None:
        """Note a call from a frame, if the first from its code in this period."""
        if not self.callers:
            _called.append(self)
        code = self.last_caller = caller.f_code if caller is not None else None
        if id(code) in self.callers:
            return
        self.callers[id(code)] = code  # kept, so that no other code object gets its identity
        if self.is_named and len(calls) + _kept < _MAX_CALLS:
            calls[_owner(caller), self.number] = None


def _lines(code: CodeType) -> frozenset[int]:
    """Return the lines that a tracer can see: those with instructions behind the entry of the function."""
    text = code.co_code
    entry = next((n for n in range(0, len(text), 2) if text[n] == _RESUME), -2)
    return frozenset(line for _, end, line in code.co_lines() if line and end > entry + 2)


def _owner(frame: FrameType | None) -> int:
    """Return the number of the nearest code object of a traced file; -1 if there is none."""
    while frame is not None:
        code = frame.f_code
        file = files.get(code.co_filename)
        if file is not None:
            record = file.codes.get(id(code))
            if record is not None:
                return record.number
        frame = frame.f_back
    return -1


def file_of(name: str) -> FileRecord | None:
    """Return the traced file of a name in code objects; None if it is not traced."""
    try:
        return files[name]
    except KeyError:
        pass
    number = numbers.get(name) if name.startswith("/") else numbers.get(os.path.abspath(name))
    if number is None and os.path.basename(name) in _names:
        number = numbers.get(os.path.realpath(name))
    record = files[name] = None if number is None else FileRecord(number)
    return record


def write(line: str) -> None:
    """Append a line to the log; a process that cannot open it goes on without."""
    try:
        descriptor = _open(_log, os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    try:
        _write(descriptor, line.encode())
    except OSError:
        pass
    finally:
        _close(descriptor)


def new_period() -> list[tuple[int, int]]:
    """Begin a period, in which all lines are missing; return the calls of the last one."""
    global _kept
    for record in _touched:
        record.missing.update(record.lines)
        record.is_touched = False
    _touched.clear()
    for record in _called:
        record.callers.clear()
        record.last_caller = _NOBODY
        record.calls_left = MAX_CALLS_OF_ONE
    _called.clear()
    ended = list(calls)
    _kept += len(ended)
    calls.clear()
    return ended


with open(os.environ["CARETBENCH_TRACE"], encoding="utf-8", errors="surrogateescape") as _file:
    _log, *_paths = _file.read().split("\0")
numbers.update((path, number) for number, path in enumerate(_paths))
_names = {os.path.basename(path) for path in _paths}
sys.caretbench_marks = marks  # type: ignore[attr-defined]
