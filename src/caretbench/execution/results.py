"""What test runners write: JUnit XML, read as hostile text.

Tests and the code they test share processes, so a report is what the program says, and counts only beside the exit
status. Nothing in it is expanded or followed: a document type, which entities need, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from xml.parsers import expat

from caretbench.errors import DataError
from caretbench.execution.types import Frozen

MOST_BYTES = 16 << 20
MOST_TESTS = 100_000
DEEPEST = 64
_MESSAGE_CHARACTERS = 2_000

_Outcome = Literal["passed", "failed", "error", "skipped"]
_OUTCOMES: Mapping[str, _Outcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_WEIGHT: Mapping[_Outcome, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}


class TestOutcome(Frozen):
    """One test: ``CLASS::NAME``, how it ended, seconds, and the head of what was said of it."""

    __test__ = False  # not a test itself

    name: str
    outcome: _Outcome
    seconds: float = 0.0
    message: str = ""


class _Reader:
    """Collects test cases while expat reads; suites may be nested, and everything else is passed over."""

    def __init__(self) -> None:
        self.found: list[TestOutcome] = []
        self.suites = 0
        self._depth = 0
        self._case: dict[str, str] | None = None
        self._outcome: _Outcome = "passed"
        self._message = ""
        self._text: list[str] | None = None
        self._kept = 0

    def doctype(self, *_: object) -> None:
        raise DataError("it declares a document type")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise DataError(f"it nests deeper than {DEEPEST}")
        if tag in ("testsuite", "testsuites"):
            self.suites += 1
        elif tag == "testcase" and self._case is None:
            if len(self.found) >= MOST_TESTS:
                raise DataError(f"it holds more than {MOST_TESTS} tests")
            self._case, self._outcome, self._message = attributes, "passed", ""
        elif self._case is not None and tag in _OUTCOMES:
            outcome = _OUTCOMES[tag]
            if _WEIGHT[outcome] > _WEIGHT[self._outcome]:
                self._outcome, self._message = outcome, attributes.get("message", "")
                self._text, self._kept = [], 0

    def text(self, data: str) -> None:
        if self._text is not None and self._kept < _MESSAGE_CHARACTERS:
            self._text.append(data)
            self._kept += len(data)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in _OUTCOMES and self._text is not None:
            detail = "".join(self._text).strip()
            if detail and detail not in self._message:
                self._message = f"{self._message}\n{detail}".strip()
            self._text = None
        elif tag == "testcase" and self._case is not None:
            owner, name = self._case.get("classname", ""), self._case.get("name", "")
            self.found.append(
                TestOutcome(
                    name=f"{owner}::{name}" if owner else name,
                    outcome=self._outcome,
                    seconds=_seconds(self._case.get("time", "")),
                    message=self._message[:_MESSAGE_CHARACTERS],
                )
            )
            self._case = None


def _seconds(text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0.0 <= value < 1e9 else 0.0


def parse_junit(data: bytes) -> list[TestOutcome]:
    """The tests of one JUnit XML report, in its order.

    Raises:
        DataError: it is larger than 16 MB, no XML, no JUnit report, or declares a document type.
    """
    if len(data) > MOST_BYTES:
        raise DataError(f"not a JUnit report: larger than {MOST_BYTES >> 20} MB")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # a DataError is a ValueError
        raise DataError(f"not a JUnit report: {error}") from None
    if not reader.suites:
        raise DataError("not a JUnit report: it has no test suite")
    return reader.found
