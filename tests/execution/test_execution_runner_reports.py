"""JUnit reports are what a hostile program wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.errors import DataError
from caretbench.execution.workspaces.runner_reports import (
    TestCounts,
    TestOutcome,
    parse_go_events,
    parse_jest_results,
    parse_junit,
    parse_report,
)

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
        (b"\x00\xff", "not a JUnit report"),
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


def test_characters_that_xml_does_not_have_are_left_out_of_names() -> None:
    assert parse_junit(b"<testsuite><testcase name='#\x02\x7f\x1b'/></testsuite>")[0].name == "#\x7f"


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


def test_a_report_may_stand_in_a_name_space_and_say_more_in_attributes() -> None:
    data = (
        b'<t:testsuites xmlns:t="urn:x"><t:testsuite><t:testcase name="a"><t:failure>no</t:failure></t:testcase>'
        b'<t:testcase name="b" status="run"/><t:testcase name="c" status="notrun"/><t:testcase name="d" status="fail">'
        b'<t:failure message="no">why</t:failure></t:testcase>'
        b'<t:testcase name="e" status="disabled"><t:skipped/></t:testcase></t:testsuite></t:testsuites>'
    )
    outcomes = [(test.name, test.outcome, test.message) for test in parse_report(data)]
    assert outcomes == [
        ("a", "failed", "no"), ("b", "passed", ""), ("c", "skipped", ""), ("d", "failed", "no\nwhy"),
        ("e", "skipped", ""),
    ]  # fmt: skip


def test_tests_are_counted_and_found_by_name() -> None:
    tests = [
        *parse_junit(REPORT),
        TestOutcome(name="a.B::one", outcome="failed"),
        TestOutcome(name="z", outcome="passed"),
    ]
    counts = TestCounts.from_outcomes(tests)
    assert (counts.passed, counts.failed, counts.errors, counts.skipped) == (2, 2, 2, 1)
    assert counts.names("failed") == ("a.B::one", "a.B::two")
    assert counts.names("passed") == ("z",)
    assert counts.outcomes_by_name["a.B::one"].outcome == "failed"
    assert TestCounts.from_outcomes(()) == TestCounts()


EVENTS = b"""go: downloading nothing
{"Action":"run","Package":"shop","Test":"TestSum"}
{"Action":"output","Package":"shop","Test":"TestSum","Output":"    shop_test.go:5: 3 != 6\\n"}
{"Action":"fail","Package":"shop","Test":"TestSum","Elapsed":0.5}
{"Action":"run","Package":"shop","Test":"TestSum/inner"}
{"Action":"pass","Package":"shop","Test":"TestSum/inner","Elapsed":0}
{"Action":"skip","Package":"shop","Test":"TestLater","Elapsed":0}
{"Action":"output","Package":"shop","Output":"FAIL\\n"}
{"Action":"fail","Package":"shop","Elapsed":0.7}
{"Action":"output","Package":"till","Output":"till.go:3: \\ud800 undefined: x\\n"}
{"Action":"fail","Package":"till","Elapsed":0}
{"Action":"pass","Package":"other","Elapsed":0}
{"Action":["pass"],"Test":7}
{broken
"""


def test_the_events_of_go_are_read() -> None:
    assert parse_report(b"\n" + EVENTS[EVENTS.index(b"{") :]) == [
        TestOutcome(name="shop::TestSum", outcome="failed", seconds=0.5, message="    shop_test.go:5: 3 != 6\n"),
        TestOutcome(name="shop::TestSum/inner", outcome="passed"),
        TestOutcome(name="shop::TestLater", outcome="skipped"),
        TestOutcome(name="till", outcome="error", message="till.go:3: ? undefined: x\n"),
    ]
    assert parse_go_events(EVENTS) == parse_report(EVENTS[EVENTS.index(b"{") :])


@given(st.binary(max_size=200))
def test_any_bytes_give_events_or_a_complaint(data: bytes) -> None:
    for text in (b"{" + data, EVENTS + data):
        try:
            parse_report(text)
            parse_go_events(text)
        except DataError:
            continue


JEST = b"""{"numTotalTests":3,"success":false,"testResults":[
{"name":"/tmp/work/test/a.test.js","status":"failed","message":"long","assertionResults":[
{"fullName":"list is empty","status":"passed","duration":1500,"ancestorTitles":["list"]},
{"fullName":"list fails","status":"failed","duration":null,"failureMessages":["expected 1"]},
{"fullName":"later","status":"pending"}]},
{"name":"/tmp/work/b.test.js","status":"failed","message":"Cannot find module","assertionResults":[]}]}"""


def test_a_report_of_jest_is_read() -> None:
    data = JEST.replace(b"\n", b"").replace(b"expected 1", b"expected \\ud83d")
    assert parse_report(data) == parse_jest_results(data) == [
        TestOutcome(name="test/a.test.js::list is empty", outcome="passed", seconds=1.5),
        TestOutcome(name="test/a.test.js::list fails", outcome="failed", message="expected ?"),
        TestOutcome(name="test/a.test.js::later", outcome="skipped"),
        TestOutcome(name="b.test.js", outcome="error", message="Cannot find module"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data", [b'{"testResults": 3}', b'{"testResults": [{}]}', b'{"testResults": [' + b"[" * 99_999]
)
def test_a_malformed_report_of_jest_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="not a report of jest"):
        parse_report(data)


def test_suites_of_node_are_part_of_a_tests_name() -> None:
    report = (
        b'<testsuites><testcase name="a" classname="test"/><testsuite name="S"><testsuite name="T">'
        b'<testcase name="b" classname="test"/></testsuite><testcase name="c" classname="test"/></testsuite>'
        b'<testcase name="d" classname="test"/></testsuites>'
    )
    assert [test.name for test in parse_junit(report)] == ["test::a", "S > T::b", "S::c", "test::d"]
