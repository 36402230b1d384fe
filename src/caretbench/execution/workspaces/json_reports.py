"""Parsers of test reports in JSON (events of ``go test -json``, results of ``jest --json``), which are hostile text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from caretbench.errors import DataError
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.runner_reports import (
    MESSAGE_CHARACTERS,
    MOST_BYTES,
    MOST_TESTS,
    Outcome,
    TestOutcome,
    parse_junit,
    report_seconds,
)

_LONGEST_LINE = 1 << 20

_GO: Mapping[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def parse_go_events(data: bytes) -> list[TestOutcome]:
    """Return the tests in the output of ``go test -json``: ``PACKAGE::TEST``, with the end of each test's output.

    A package that fails without a failed test (it does not build) counts as an error of its own name. Lines that
    are no JSON are passed over: compilers and programs write between.

    Raises:
        DataError: it is larger than 16 MB, holds no event, or more than 100,000 tests.
    """
    if len(data) > MOST_BYTES:
        raise DataError(f"not a report of go test: larger than {MOST_BYTES >> 20} MB")
    found: list[TestOutcome] = []
    said: dict[str, str] = {}
    failed: set[str] = set()
    events = 0
    for line in data.split(b"\n"):
        event = _object(line)
        action = event.get("Action")
        package, name = _text(event.get("Package")), _text(event.get("Test"))
        events += isinstance(action, str)
        identity = f"{package}::{name}" if name else package
        if action == "output":
            said[identity] = (said.get(identity, "") + _text(event.get("Output")))[-MESSAGE_CHARACTERS:]
        outcome = _GO.get(action) if isinstance(action, str) else None
        if outcome is None or (not name and (action != "fail" or package in failed)):
            continue
        if len(found) >= MOST_TESTS:
            raise DataError(f"not a report of go test: it holds more than {MOST_TESTS} tests")
        if outcome == "failed" and name:
            failed.add(package)
        message = said.pop(identity, "") if outcome != "passed" else ""
        found.append(
            TestOutcome(
                name=identity,
                outcome=outcome if name else "error",
                seconds=report_seconds(str(event.get("Elapsed"))),
                message=message,
            )
        )
    if not events:
        raise DataError("not a report of go test: it holds no event")
    return found


_JEST: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}


def parse_jest_results(data: bytes) -> list[TestOutcome]:
    """Return the tests of jest's ``--json`` report: ``FILE::TEST`` with the names of the suites around the test.

    A file that fails without a failed test (it cannot be loaded) counts as an error of its own name.

    Raises:
        DataError: it is larger than 16 MB, no such report, or holds more than 100,000 tests.
    """
    if len(data) > MOST_BYTES:
        raise DataError(f"not a report of jest: larger than {MOST_BYTES >> 20} MB")
    try:
        report = _JestReport.model_validate_json(data)
    except ValidationError:
        raise DataError("not a report of jest") from None
    found: list[TestOutcome] = []
    for file in report.testResults:
        path = _text(file.name).removeprefix(f"{WORK}/")
        found += [
            TestOutcome(
                name=f"{path}::{_text(test.fullName)}",
                outcome=_JEST.get(test.status, "skipped"),
                seconds=report_seconds(str((test.duration or 0) / 1000)),
                message="\n".join(map(_text, test.failureMessages))[:MESSAGE_CHARACTERS],
            )
            for test in file.assertionResults
        ]
        if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
            found.append(TestOutcome(name=path, outcome="error", message=_text(file.message)[:MESSAGE_CHARACTERS]))
    if len(found) > MOST_TESTS:
        raise DataError(f"not a report of jest: it holds more than {MOST_TESTS} tests")
    return found


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
    if not line.startswith(b"{") or len(line) > _LONGEST_LINE:
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
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
