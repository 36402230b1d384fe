"""JUnit reports are what a hostile program wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.errors import DataError
from caretbench.execution.results import TestOutcome, parse_junit

REPORT = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="outer"><properties><property name="testcase" value="x"/></properties>
<testsuite name="inner" tests="5">
<testcase classname="a.B" name="one" time="0.25"/>
<testcase classname="a.B" name="two" time="1,000.5"><failure message="no" type="AssertionError">assert 1 == 2</failure>
  <system-out>noise</system-out></testcase>
<testcase name="three" time="soon"><skipped message="later"/></testcase>
<testcase classname="a.B" name="four"><error>Traceback</error></testcase>
<testcase classname="a.B" name="five"><skipped/><failure message="first"/><error message="then"/></testcase>
</testsuite></testsuite></testsuites>
"""


def test_a_report_is_read() -> None:
    assert parse_junit(REPORT) == [
        TestOutcome(name="a.B::one", outcome="passed", seconds=0.25),
        TestOutcome(name="a.B::two", outcome="failed", seconds=1000.5, message="no\nassert 1 == 2"),
        TestOutcome(name="three", outcome="skipped", message="later"),
        TestOutcome(name="a.B::four", outcome="error", message="Traceback"),
        TestOutcome(name="a.B::five", outcome="error", message="then"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "no element found"),
        (b"<testsuite><testcase name='a'/>", "no element found"),
        (b"<html></html>", "no test suite"),
        (b"\x00\xff", "syntax error|not well-formed"),
        (b'<?xml version="1.0" encoding="klingon"?><testsuite/>', "encoding"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite name="&a;"/>', "document type"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>', "document type"),
        (b"<testsuite name='&a;'/>", "undefined entity"),
        (b"<testsuite>" + b"<a>" * 70 + b"</a>" * 70 + b"</testsuite>", "deeper"),
        (b"<testsuite>" + b"<testcase name='a'/>" * 100_001 + b"</testsuite>", "more than 100000 tests"),
        (b"<testsuite>" + b" " * (16 << 20) + b"</testsuite>", "larger than 16 MB"),
    ],
)
def test_what_is_no_report_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_junit(text)


def test_a_message_is_cut() -> None:
    data = b"<testsuite><testcase name='a'><failure>" + b"x" * 100_000 + b"</failure></testcase></testsuite>"
    assert len(parse_junit(data)[0].message) == 2000


@given(st.binary(max_size=200))
def test_any_bytes_give_tests_or_a_complaint(data: bytes) -> None:
    for text in (data, b"<testsuite><testcase name='" + data + b"'/></testsuite>"):
        try:
            found = parse_junit(text)
        except DataError:
            continue
        assert all(test.outcome == "passed" for test in found)
