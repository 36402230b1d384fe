"""Tracer of the lines and calls of a project's files in a Python process, by ``sys.settrace``.

``sitecustomize.py`` imports it as Python starts, in every process that inherits the environment. A frame is not traced
where all lines of its code are known in this period, or where its code was called often and the process has seen all of
them. pytest's own code between the phases of a test runs without a tracer, and so does its start, before the plugin
``caretbench_tests`` begins.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from caretbench_record import CodeRecord, FileRecord, codes, file_of, files, new_period, numbers, write  # type: ignore[import-not-found]

__all__ = ["codes", "start", "switch", "take_calls"]
Trace = Callable[[FrameType, str, Any], Any]
_untraced: list[CodeRecord] = []
"""Code objects whose frames are not traced in this period."""
_is_on = False


def _line_tracer(traced: CodeRecord) -> Trace:
    missing, recent, seen = traced.missing, traced.file.recent, traced.file.seen

    def trace(frame: FrameType, event: str, _argument: Any) -> None:
        line = frame.f_lineno
        if line in missing and event == "line":
            if not traced.is_touched:
                traced.touch()
            missing.discard(line)  # another thread may have been faster
            recent.add(line)
            if line not in seen:
                traced.file.add_seen(line)
            if not missing:
                _untrace(traced)
                frame.f_trace = None

    return trace


def _untrace(traced: CodeRecord) -> None:
    """Trace no further frames of a code object in this period."""
    if traced.tracer is not None:
        traced.tracer = None
        _untraced.append(traced)


def _new_code(file: FileRecord, frame: FrameType) -> CodeRecord:
    code = frame.f_code
    traced = file.codes[id(code)] = CodeRecord(file, code)
    traced.trace = traced.tracer = _line_tracer(traced)
    return traced


def trace_calls(frame: FrameType, _event: str, _argument: Any) -> Trace | None:
    """Return the tracer of a new frame; it is called for every function of Python that is entered."""
    tracer: Trace | None
    code = frame.f_code
    try:
        file = files[code.co_filename]
    except KeyError:
        file = file_of(code.co_filename)
    if file is None:
        return None
    try:
        traced = file.codes[id(code)]
    except KeyError:
        traced = _new_code(file, frame)
    left = traced.calls_left
    if left:
        traced.calls_left = left - 1
        caller = frame.f_back
        if (caller.f_code if caller is not None else None) is not traced.last_caller:
            traced.add_caller(caller)
        if left == 1 and traced.missing <= file.seen:
            _untrace(traced)
    tracer = traced.tracer
    return tracer


def start() -> None:
    """Trace this process from here on, with all of its threads."""
    if _is_on:
        return
    if any(getattr(one, "__file__", None) in numbers for one in list(sys.modules.values())):
        write("untraced\n")  # pytest itself needs the project
    threading.settrace(trace_calls)
    switch(on=True)


def switch(*, on: bool) -> bool:
    """Switch the tracer of this thread on or off; return whether it was on.

    The log tells if something has ended it: another tracer, or the limit of recursion.
    """
    global _is_on
    was_on, _is_on = _is_on, on
    if was_on and sys.gettrace() is not trace_calls:
        write("untraced\n")
        threading.settrace(trace_calls)
        was_on = False
    if on is not was_on:
        sys.settrace(trace_calls if on else None)
    return was_on


def take_calls() -> list[tuple[int, int]]:
    """Begin a period; return the calls of the last one."""
    calls: list[tuple[int, int]] = new_period()
    if _untraced:
        for traced in _untraced:
            traced.tracer = traced.trace
        _untraced.clear()
        for top in sys._current_frames().values():
            _trace_again(top)
    return calls


def _trace_again(frame: FrameType | None) -> None:
    """Trace the frames that run at the beginning of a period."""
    while frame is not None:
        file = files.get(frame.f_code.co_filename)
        traced = file.codes.get(id(frame.f_code)) if file is not None else None
        if traced is not None:
            frame.f_trace = traced.trace
        frame = frame.f_back


def _starts_pytest() -> bool:
    """Return whether this process is pytest with the plugin, which starts the tracer itself."""
    words = getattr(sys, "orig_argv", ())[1:]
    is_pytest = words[:2] == ["-m", "pytest"] or (words and os.path.basename(words[0]) in ("pytest", "py.test"))
    return bool(is_pytest) and "-p caretbench_tests" in os.environ.get("PYTEST_ADDOPTS", "")


atexit.register(lambda: switch(on=False))
if not _starts_pytest():
    start()
