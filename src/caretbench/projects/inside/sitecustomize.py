"""Module added to the sandbox's copy of a project: exclusion, order and outcomes of its unittest tests, and the tracer.

Python imports it as it starts. Nothing of CaretBench can be imported here. The settings are those of the plugin for
pytest (``caretbench_tests.py``), which reads them itself; a name is that of a test, of a class or of a module, with
dots. ``CARETBENCH_TRACE`` starts the tracer in processes of tests too: ``caretbench_monitor.py`` from Python 3.12 on,
else ``caretbench_trace.py``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from typing import Any

_settings = {}
"""Settings of this process alone: tests may start Python themselves."""
if "caretbench_tests" not in os.environ.get("PYTEST_ADDOPTS", ""):
    _names = [name for name in os.environ if name.startswith("CARETBENCH_") and name != "CARETBENCH_TRACE"]
    _settings = {name: os.environ.pop(name) for name in _names}
_HOLDER = re.compile(r"(?:setUp|tearDown)(?:Class|Module) \((.*)\)")
"""Description of a class or a module whose fixture failed."""
_NOT_LOADED = "unittest.loader._FailedTest."


def _name(test: Any) -> str:
    name = str(test.id())
    held = _HOLDER.fullmatch(name)
    return held[1] if held else name.removeprefix(_NOT_LOADED)


def _prepare_unittest() -> None:
    import unittest.suite

    path = _settings.get("CARETBENCH_EXCLUDED")
    excluded: tuple[str, ...] = ()
    if path:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  pathlib costs every start of Python
            excluded = tuple(json.load(file))
    is_reversed = _settings.get("CARETBENCH_ORDER") == "reversed"

    def is_excluded(test: Any) -> bool:
        if not isinstance(test, unittest.TestCase):
            return False
        name = _name(test)
        return any(name == one or name.startswith(f"{one}.") for one in excluded)

    def remaining(suite: Any) -> Any:
        kept = [test for test in suite._tests if not is_excluded(test)]
        return iter(kept[::-1] if is_reversed else kept)

    if excluded or is_reversed:
        unittest.suite.BaseTestSuite.__iter__ = remaining  # type: ignore[method-assign]
    if _settings.get("CARETBENCH_LOG"):
        _log_outcomes(unittest.TestResult, _settings["CARETBENCH_LOG"])
    if _settings.get("CARETBENCH_SLOW"):
        _name_slow_tests(unittest.TestCase, float(_settings["CARETBENCH_SLOW"]))


def _log_outcomes(result: Any, place: str) -> None:
    """Log the outcome of every test, and run on after failures."""
    import traceback

    def log(test: Any, outcome: str, message: str = "") -> None:
        with open(place, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(json.dumps({"test": _name(test), "outcome": outcome, "message": message[-4000:]}) + "\n")

    def logged(method: str, outcome: str) -> None:
        original = getattr(result, method)

        def add(self: Any, test: Any, *more: Any) -> Any:
            failure = more[-1] if more and isinstance(more[-1], tuple) else None
            if failure or method != "addSubTest":  # subtests that pass are reported too
                log(test, outcome, "".join(traceback.format_exception(*failure)) if failure else "")
            return original(self, test, *more)

        setattr(result, method, add)

    logged("addSuccess", "passed")
    logged("addFailure", "failed")
    logged("addError", "error")
    logged("addUnexpectedSuccess", "failed")
    logged("addSubTest", "failed")
    result.stop = lambda _self: None


def _name_slow_tests(case: Any, seconds: float) -> None:
    original = case.run

    def run(self: Any, result: Any = None) -> Any:
        message = f"caretbench: a test runs for more than {seconds:g} s: {_name(self)}\n"
        timer = threading.Timer(seconds, os.write, (2, message.encode()))
        timer.daemon = True
        timer.start()
        try:
            return original(self, result)
        finally:
            timer.cancel()

    case.run = run


if "CARETBENCH_TRACE" in os.environ:
    _tracer = "caretbench_monitor" if hasattr(sys, "monitoring") else "caretbench_trace"
    sys.caretbench_tracer = __import__(_tracer)  # type: ignore[attr-defined]  # it starts as it is imported
if _settings:
    _prepare_unittest()
