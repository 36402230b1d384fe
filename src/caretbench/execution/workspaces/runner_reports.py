"""Outcomes of tests, and the parser of JUnit XML reports, which treats them as hostile text.

Tests and the code they test share processes, so a report is the program's claim, and counts only together with the exit
status. Nothing in it is expanded or followed: a document type, which entities need, is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal
from xml.parsers import expat

from caretbench.errors import DataError
from caretbench.execution.execution_types import FrozenModel

MOST_BYTES = 16 << 20
MOST_TESTS = 100_000
DEEPEST = 64
MESSAGE_CHARACTERS = 2_000
"""Maximum length of a test's message."""

Outcome = Literal["passed", "failed", "error", "skipped"]
_OUTCOMES: Mapping[str, Outcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_SAID: Mapping[str, Outcome] = {
    "notrun": "skipped", "disabled": "skipped", "skipped": "skipped", "fail": "failed", "failed": "failed",
    "error": "error",
}  # fmt: skip
"""Attributes by which some runners (CTest, GoogleTest) report a test's outcome, with or without an element."""
_WEIGHT: Mapping[Outcome, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}


_NODE_CLASS = "test"
"""Class that Node's reporter gives to every test; the suites around the test tell more."""


class TestOutcome(FrozenModel):
    """One test: ``CLASS::NAME``, its outcome, seconds, and the head of its message."""

    __test__ = False  # not a test itself

    name: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


class TestCounts(FrozenModel):
    """Counts of tests by outcome, and all tests by name."""

    __test__ = False  # not a test itself

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    outcomes_by_name: Mapping[str, TestOutcome] = {}
    """Outcomes by name; the worst one if a name occurs several times."""

    @classmethod
    def from_outcomes(cls, tests: Iterable[TestOutcome]) -> TestCounts:
        """Return the counts of these tests; tests of one name are counted each."""
        found = Counter[str]()
        outcomes_by_name: dict[str, TestOutcome] = {}
        for test in tests:
            found[test.outcome] += 1
            known = outcomes_by_name.get(test.name)
            if known is None or _WEIGHT[test.outcome] > _WEIGHT[known.outcome]:
                outcomes_by_name[test.name] = test
        return cls(
            passed=found["passed"],
            failed=found["failed"],
            errors=found["error"],
            skipped=found["skipped"],
            outcomes_by_name=outcomes_by_name,
        )

    def names(self, outcome: Outcome) -> tuple[str, ...]:
        """Return the names of the tests with this outcome, sorted."""
        return tuple(sorted(name for name, test in self.outcomes_by_name.items() if test.outcome == outcome))


class _Reader:
    """Collector of test cases while expat reads; suites may be nested, everything else is ignored."""

    def __init__(self) -> None:
        self.found: list[TestOutcome] = []
        self.suites = 0
        self._open: list[tuple[int, str]] = []  # depth and name of the suites around
        self._depth = 0
        self._case: dict[str, str] | None = None
        self._outcome: Outcome = "passed"
        self._message = ""
        self._text: list[str] | None = None
        self._kept = 0

    def doctype(self, *_: object) -> None:
        raise DataError("it declares a document type")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        tag = tag.rpartition("}")[2].rpartition(":")[2]  # some reports use a name space
        if self._depth > DEEPEST:
            raise DataError(f"it nests deeper than {DEEPEST}")
        if tag in ("testsuite", "testsuites"):
            self.suites += 1
            self._open.append((self._depth, attributes.get("name", "")))
        elif tag == "testcase" and self._case is None:
            if len(self.found) >= MOST_TESTS:
                raise DataError(f"it holds more than {MOST_TESTS} tests")
            self._case, self._message = attributes, ""
            self._outcome = _SAID.get(attributes.get("status", "").lower(), "passed")
        elif self._case is not None and tag in _OUTCOMES:
            outcome = _OUTCOMES[tag]
            if _WEIGHT[outcome] > _WEIGHT[self._outcome]:
                self._outcome, self._message = outcome, attributes.get("message", "")
                self._text, self._kept = [], 0

    def text(self, data: str) -> None:
        if self._text is not None and self._kept < MESSAGE_CHARACTERS:
            self._text.append(data)
            self._kept += len(data)

    def end(self, tag: str) -> None:
        if self._open and self._open[-1][0] == self._depth:
            self._open.pop()
        self._depth -= 1
        tag = tag.rpartition("}")[2].rpartition(":")[2]
        if tag in _OUTCOMES and self._text is not None:
            detail = "".join(self._text).strip()
            if detail and detail not in self._message:
                self._message = f"{self._message}\n{detail}".strip()
            self._text = None
        elif tag == "testcase" and self._case is not None:
            owner, name = self._case.get("classname", ""), self._case.get("name", "")
            if owner == _NODE_CLASS:
                owner = " > ".join(suite for _, suite in self._open if suite) or owner
            self.found.append(
                TestOutcome(
                    name=f"{owner}::{name}" if owner else name,
                    outcome=self._outcome,
                    seconds=report_seconds(self._case.get("time", "")),
                    message=self._message[:MESSAGE_CHARACTERS],
                )
            )
            self._case = None


def report_seconds(text: str) -> float:
    """Return the seconds in a report; 0 if they are no sensible number."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0.0 <= value < 1e9 else 0.0


def parse_junit(data: bytes) -> list[TestOutcome]:
    """Return the tests of one JUnit XML report, in its order.

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
