"""Tracer of the lines of a project's files that a Python process executes.

``sitecustomize.py`` imports it as Python starts, in every process that inherits the environment. Nothing of CaretBench
can be imported here. ``CARETBENCH_TRACE`` is a file: the path of the log, then the paths of the files, with NULs
between them. A line of the log is a file's number and a line of it, written when a process first executes it, as soon
as that happens: a process may be killed. ``untraced`` in the log tells that a part of a process ran without the tracer.
``sys.caretbench_marks`` holds, for each file, the lines since the plugin for pytest last took them.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

Trace = Callable[[FrameType, str, Any], Any]

_open, _write, _close = os.open, os.write, os.close  # tests may replace those of the module
_marks: list[tuple[int, set[int]]] = []
_tracers: dict[str, Trace | None] = {}
"""Tracer of a file's frames by the name in its code objects; None for files that are not traced."""
_numbers: dict[str, int] = {}
_log = ""


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


def _file_tracer(name: str) -> Trace | None:
    """Return the tracer of the frames of a file; None if it is not traced."""
    number = _numbers.get(name) if name.startswith("/") else _numbers.get(os.path.abspath(name))
    if number is None and os.path.basename(name) in _names:
        number = _numbers.get(os.path.realpath(name))
    if number is None:
        return None
    recent: set[int] = set()
    seen: set[int] = set()
    _marks.append((number, recent))

    def trace(frame: FrameType, event: str, _argument: Any) -> Trace:
        if event == "line":
            line = frame.f_lineno
            if line not in recent:
                recent.add(line)
                if line not in seen:
                    seen.add(line)
                    write(f"{number} {line}\n")
        return trace

    return trace


def trace_calls(frame: FrameType, _event: str, _argument: Any) -> Trace | None:
    """Return the tracer of a new frame; it is called for every function of Python that is entered."""
    name = frame.f_code.co_filename
    try:
        return _tracers[name]
    except KeyError:
        found = _tracers[name] = _file_tracer(name)
        return found


def start() -> None:
    """Trace this process, with all of its threads."""
    threading.settrace(trace_calls)
    sys.settrace(trace_calls)


def resume() -> None:
    """Start the tracer again where something has ended it: another tracer, or an error at the limit of recursion."""
    if sys.gettrace() is not trace_calls:
        write("untraced\n")
        start()


with open(os.environ["CARETBENCH_TRACE"], encoding="utf-8", errors="surrogateescape") as _file:
    _log, *_paths = _file.read().split("\0")
_numbers.update((path, number) for number, path in enumerate(_paths))
_names = {os.path.basename(path) for path in _paths}
sys.caretbench_marks = _marks  # type: ignore[attr-defined]
atexit.register(resume)
start()
