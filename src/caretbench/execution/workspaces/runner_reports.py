"""Outcomes of tests, and the parsers of their reports: JUnit XML, ``go test -json``, ``jest --json``.

Tests and the code they test share processes, so a report is hostile text and the program's claim, and counts only
together with the exit status. Nothing in it is expanded or followed: a document type, which entities need, is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from xml.parsers import expat

from pydantic import BaseModel

from caretbench.errors import DataError
from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.program_sandbox import WORK

# html5lib's report of 33,439 tests was above the former 4 MB.
MAX_REPORT_BYTES = 16 << 20
MAX_TESTS = 100_000
MAX_DEPTH = 64
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
    """One test: ``CLASS::NAME``, its outcome, seconds, the head of its message, and CPU seconds if they are known."""

    __test__ = False  # not a test itself

    name: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""
    cpu_s: float = 0.0


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
        counts = Counter[str]()
        outcomes_by_name: dict[str, TestOutcome] = {}
        for test in tests:
            counts[test.outcome] += 1
            worst = outcomes_by_name.get(test.name)
            if worst is None or _WEIGHT[test.outcome] > _WEIGHT[worst.outcome]:
                outcomes_by_name[test.name] = test
        return cls(
            passed=counts["passed"],
            failed=counts["failed"],
            errors=counts["error"],
            skipped=counts["skipped"],
            outcomes_by_name=outcomes_by_name,
        )

    def names(self, outcome: Outcome) -> tuple[str, ...]:
        """Return the names of the tests with this outcome, sorted."""
        return tuple(sorted(name for name, test in self.outcomes_by_name.items() if test.outcome == outcome))


class _Reader:
    """Collector of test cases while expat reads; suites may be nested, everything else is ignored."""

    def __init__(self) -> None:
        self.outcomes: list[TestOutcome] = []
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
        if self._depth > MAX_DEPTH:
            raise DataError(f"it nests deeper than {MAX_DEPTH}")
        if tag in ("testsuite", "testsuites"):
            self.suites += 1
            self._open.append((self._depth, attributes.get("name", "")))
        elif tag == "testcase" and self._case is None:
            if len(self.outcomes) >= MAX_TESTS:
                raise DataError(f"it holds more than {MAX_TESTS} tests")
            self._case, self._message = attributes, ""
            self._outcome = _SAID.get(attributes.get("status", "").lower(), "passed")
        elif self._case is not None and tag in _OUTCOMES:
            outcome = _OUTCOMES[tag]
            # CTest tells a failure twice: in an attribute of the test, and by this element, which has the message.
            if _WEIGHT[outcome] > _WEIGHT[self._outcome] or (outcome == self._outcome and not self._message):
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
            self.outcomes.append(
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
        # Maven writes 1,234.5 for a test that takes long.
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0.0 <= value < 1e9 else 0.0


# XML has no place for them, but Node writes names of tests as they are: those of css-what are any characters.
_CONTROLS = bytes({*range(32)} - {*b"\t\n\r"})


def parse_junit(data: bytes) -> list[TestOutcome]:
    """Return the tests of one JUnit XML report, in its order.

    Raises:
        DataError: it is larger than 16 MB, no XML, no JUnit report, or declares a document type.
    """
    if len(data) > MAX_REPORT_BYTES:
        raise DataError(f"not a JUnit report: larger than {MAX_REPORT_BYTES >> 20} MB")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    plain = data if data.startswith((b"\xff\xfe", b"\xfe\xff")) else data.translate(None, _CONTROLS)
    try:
        parser.Parse(plain, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # a DataError is a ValueError
        raise DataError(f"not a JUnit report: {error}") from None
    if not reader.suites:
        raise DataError("not a JUnit report: it has no test suite")
    return reader.outcomes


_MAX_LINE_BYTES = 1 << 20

_GO: Mapping[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def parse_go_events(data: bytes) -> list[TestOutcome]:
    """Return the tests in the output of ``go test -json``: ``PACKAGE::TEST``, with the end of each test's output.

    A package that fails without a failed test (it does not build) counts as an error of its own name. Lines that
    are no JSON are passed over: compilers and programs write between.

    Raises:
        DataError: it is larger than 16 MB, holds no event, or more than 100,000 tests.
    """
    if len(data) > MAX_REPORT_BYTES:
        raise DataError(f"not a report of go test: larger than {MAX_REPORT_BYTES >> 20} MB")
    outcomes: list[TestOutcome] = []
    output: dict[str, str] = {}
    failed: set[str] = set()
    events = 0
    for line in data.split(b"\n"):
        event = _object(line)
        action = event.get("Action")
        package, name = _text(event.get("Package")), _text(event.get("Test"))
        events += isinstance(action, str)
        identity = f"{package}::{name}" if name else package
        if action == "output":
            output[identity] = (output.get(identity, "") + _text(event.get("Output")))[-MESSAGE_CHARACTERS:]
        outcome = _GO.get(action) if isinstance(action, str) else None
        if outcome is None or (not name and (action != "fail" or package in failed)):
            continue
        if len(outcomes) >= MAX_TESTS:
            raise DataError(f"not a report of go test: it holds more than {MAX_TESTS} tests")
        if outcome == "failed" and name:
            failed.add(package)
        message = output.pop(identity, "") if outcome != "passed" else ""
        outcomes.append(
            TestOutcome(
                name=identity,
                outcome=outcome if name else "error",
                seconds=report_seconds(str(event.get("Elapsed"))),
                message=message,
            )
        )
    if not events:
        raise DataError("not a report of go test: it holds no event")
    return outcomes


_JEST: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}


def parse_jest_results(data: bytes) -> list[TestOutcome]:
    """Return the tests of jest's ``--json`` report: ``FILE::TEST`` with the names of the suites around the test.

    A file that fails without a failed test (it cannot be loaded) counts as an error of its own name.

    Raises:
        DataError: it is larger than 16 MB, no such report, or holds more than 100,000 tests.
    """
    if len(data) > MAX_REPORT_BYTES:
        raise DataError(f"not a report of jest: larger than {MAX_REPORT_BYTES >> 20} MB")
    try:
        # Failures that quote half an emoji have half a surrogate pair, which pydantic's reader refuses.
        whole = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
        report = _JestReport.model_validate_json(whole)
    except (ValueError, RecursionError):  # a ValidationError is a ValueError
        raise DataError("not a report of jest") from None
    outcomes: list[TestOutcome] = []
    for file in report.testResults:
        path = file.name.removeprefix(f"{WORK}/")
        outcomes += [
            TestOutcome(
                name=f"{path}::{test.fullName}",
                outcome=_JEST.get(test.status, "skipped"),
                seconds=report_seconds(str((test.duration or 0) / 1000)),
                message="\n".join(test.failureMessages)[:MESSAGE_CHARACTERS],
            )
            for test in file.assertionResults
        ]
        if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
            outcomes.append(TestOutcome(name=path, outcome="error", message=file.message[:MESSAGE_CHARACTERS]))
    if len(outcomes) > MAX_TESTS:
        raise DataError(f"not a report of jest: it holds more than {MAX_TESTS} tests")
    return outcomes


class _JestTest(BaseModel):
    fullName: str  # noqa: N815  jest's names
    status: str
    duration: float | None = None
    failureMessages: list[str] = []  # noqa: N815


class _JestFile(BaseModel):
    name: str
    status: str
    message: str = ""
    assertionResults: list[_JestTest]  # noqa: N815


class _JestReport(BaseModel):
    testResults: list[_JestFile]  # noqa: N815


def _object(line: bytes) -> Mapping[str, Any]:
    if not line.startswith(b"{") or len(line) > _MAX_LINE_BYTES:
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        # A line of opened brackets exceeds the depth of the parser.
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return text with half surrogate pairs replaced: JSON can contain them, files cannot."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def parse_report(data: bytes) -> list[TestOutcome]:
    """Return the tests of a report in any form, by how it begins, or raise DataError where it is none."""
    if data.lstrip()[:1] != b"{":
        return parse_junit(data)
    return parse_jest_results(data) if b'"testResults"' in data.partition(b"\n")[0] else parse_go_events(data)
