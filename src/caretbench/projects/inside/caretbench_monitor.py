"""Monitor of the lines and calls of a project's files in a Python process, by ``sys.monitoring`` (from Python 3.12 on).

It has the interface of ``caretbench_trace.py`` and takes its place. Events are set for the code objects of traced files
alone, as their modules are executed, so that all other code runs as without it; no other tracer ends it. An event of a
line is off from its first time in a period to the next period.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

from caretbench_record import CodeRecord, codes, file_of, new_period  # type: ignore[import-not-found]

__all__ = ["codes", "start", "switch", "take_calls"]
_monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
TOOL = 3
"""Number of the tool; those of debuggers, coverage.py and profilers are others."""
_records: dict[int, CodeRecord] = {}
_has_news = False


def _add_line(code: CodeType, line: int) -> Any:
    global _has_news
    record = _records[id(code)]
    if line in record.missing:
        _has_news = True
        if not record.is_touched:
            record.touch()
        record.missing.discard(line)
        record.file.recent.add(line)
        if line not in record.file.seen:
            record.file.add_seen(line)
    return _monitoring.DISABLE


def _add_call(code: CodeType, _offset: int) -> Any:
    global _has_news
    record = _records[id(code)]
    left = record.calls_left
    if not left:
        _has_news = True
        return _monitoring.DISABLE
    record.calls_left = left - 1
    caller: FrameType | None = sys._getframe(1).f_back
    if (caller.f_code if caller is not None else None) is not record.last_caller:
        record.add_caller(caller)
    return None


def _watch(code: CodeType) -> None:
    """Set the events of a code object, and of those that it defines."""
    file = file_of(code.co_filename)
    if file is None or id(code) in _records:
        return
    record = _records[id(code)] = file.codes[id(code)] = CodeRecord(file, code)
    record.lines = frozenset(line for _, _, line in code.co_lines() if line)
    record.missing.update(record.lines)
    events = _monitoring.events
    _monitoring.set_local_events(TOOL, code, events.LINE | events.PY_START | events.PY_RESUME)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _watch(inner)


def _see_execution(event: str, arguments: tuple[Any, ...]) -> None:
    """Watch a code object that is about to be executed: the body of a module, or the argument of ``exec``."""
    if event == "exec" and isinstance(arguments[0], CodeType):
        _watch(arguments[0])


def start() -> None:
    """Do nothing: the process is monitored from its beginning."""


def switch(*, on: bool) -> bool:
    """Return ``on``: other code costs nothing, so that the monitor is never off."""
    return on


def take_calls() -> list[tuple[int, int]]:
    """Begin a period; return the calls of the last one."""
    global _has_news
    calls: list[tuple[int, int]] = new_period()
    if _has_news:
        _has_news = False
        _monitoring.restart_events()
    return calls


_monitoring.use_tool_id(TOOL, "caretbench")
_events = _monitoring.events
_monitoring.register_callback(TOOL, _events.LINE, _add_line)
for _event in (_events.PY_START, _events.PY_RESUME):
    _monitoring.register_callback(TOOL, _event, _add_call)
sys.addaudithook(_see_execution)
