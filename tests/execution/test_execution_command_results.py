"""Comparison of printed and expected output; summaries of test runners and compilers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.execution.classification import reports_compile_error
from caretbench.execution.workspaces.command_results import console_test_count, output_difference
from caretbench.problem import ExpectedOutput
from tests.support.parity import parity_rows

DAY = "load 3 parcels\ncost: 12.50 (0.5%)\n"


@pytest.mark.parametrize(
    ("comparison", "printed", "says"),
    [
        ("exact", DAY, ""),
        ("exact", DAY.rstrip(), "blanks or line ends"),
        ("whitespace", " load  3\nparcels cost:\t12.50 (0.5%)", ""),
        ("whitespace", DAY.replace("12.50", "12.51"), "line 2 of the output is 'cost: 12.51 (0.5%)'"),
        ("whitespace", DAY + "more\n", "prints more than expected: line 3 is 'more'"),
        ("whitespace", "load 3 parcels\n", "prints less than expected: line 2"),
        ("last_line", "anything\ncost: 12.50 (0.5%)\n\n", ""),
        ("last_line", DAY + "done\n", "the last line is 'done'"),
        ("last_line", "", "the last line is ''"),
        ("numeric", "load 3 parcels cost: 12.5000001 (0.5%)", ""),
        ("numeric", DAY.replace("12.50", "12.52"), "12.52 in place of 12.50"),
        ("numeric", DAY.replace("parcels", "boxes"), "line 1"),
        ("numeric", DAY.replace("12.50", "nan"), "line 2"),
    ],
)
def test_outputs_are_compared_as_loosely_as_is_said(comparison: str, printed: str, says: str) -> None:
    expected = ExpectedOutput.model_validate({"text": DAY, "comparison": comparison})
    found = output_difference(expected, printed)
    assert says in found
    assert bool(found) == bool(says)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("YES\nno\n", ["yes NO", "Yes\r\nnO"], ["YES", "YES no no", "YES\nnone"]),
        ("Case 1 ok", ["Case 1.0  ok", "Case\n1 ok"], ["case 1 ok", "Case 2 ok", "Case 1 OK", "Case 1: ok"]),
        ("2.5", ["2.50", "02.5", "25e-1", "25@-1", "0x5p-1", "0b10.1", "2_5e-1"], ["2.500000000002", "2,5"]),
        ("1_0", ["10", "1e1", "0xA", "nan", "@NaN@"], ["1e", "0x", "ten", "inf", "1e9999", "10" + 5_000 * "0"]),
        ("inf", ["Infinity", "+@inf@", "nan(1)"], ["-inf", "infinit", "1e4000"]),
        # 2**129 and its neighbour: 129 bits cannot hold the odd ones.
        (str(2**129), [str(2**129 + 1)], [str(2**129 + 2), str(2**129 - 1)]),
        ("", ["\n \n"], ["0"]),
    ],
)
def test_contest_accepts_what_the_released_judge_does(text: str, accepted: list[str], refused: list[str]) -> None:
    expected = ExpectedOutput(text=text, comparison="contest")
    assert [printed for printed in accepted if output_difference(expected, printed)] == []
    assert [printed for printed in refused if not output_difference(expected, printed)] == []


def test_contest_equals_the_released_judge(test_data: Path) -> None:
    for row in parity_rows(test_data, "execeval_outputs"):
        expected = ExpectedOutput(text=row["expected"], comparison="contest")
        assert (not output_difference(expected, row["printed"])) == row["accepted"], row


@given(st.text(), st.sampled_from(["exact", "whitespace", "last_line", "numeric", "contest"]))
def test_every_text_is_like_itself(text: str, comparison: str) -> None:
    assert output_difference(ExpectedOutput.model_validate({"text": text, "comparison": comparison}), text) == ""


@given(st.floats(-1e6, 1e6), st.floats(-1, 1))
def test_numbers_may_differ_by_the_tolerance_and_no_more(value: float, share: float) -> None:
    expected = ExpectedOutput(text=f"[{value:.6f}]", comparison="numeric", relative=0, absolute=0.01)
    assert output_difference(expected, f"[ {value + 0.009 * share:.6f} ]") == ""
    assert output_difference(expected, f"[{value + 0.02:.6f}]") != ""


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("....\nRan 4 tests in 0.01s\n\nOK\n", 4),
        ("===== 12 passed, 1 skipped in 0.31s =====", 12),
        ("1 failed, 2 passed in 3.10s", 2),
        ("# tests 3\n# pass 3\n# fail 0\n", 3),
        ("  7 passing (12ms)", 7),
        ("Tests:       1 skipped, 5 passed, 6 total", 5),
        ("Tests run: 2, Failures: 0\nTests run: 9, Failures: 0", 9),
        ("100% tests passed, 0 tests failed out of 6", 6),
        ("Ran 4 tests in 0.01s\n\nOK (skipped=3)\n", 1),
        ("Ran 4 tests in 0.01s\n\nOK (expected failures=1, skipped=4)\n", 0),
        ("Tests run: 9, Failures: 0, Errors: 0, Skipped: 2", 7),
        ("100% tests passed, 0 tests failed out of 3\n\nThe following tests did not run:\n\t  2 - two (Skipped)\n", 2),
        ("[  PASSED  ] 3 tests.", 3),
        ("43 tests, 0 failed", 43),
        ("[doctest] test cases:  3 |  2 passed | 0 failed | 1 skipped", 2),
        ("All tests passed (5 assertions in 2 test cases)", 2),
        ("Success: 42 tests passed.", 42),
        ("hello", None),
    ],
)
def test_runners_say_how_many_tests_ran(said: str, count: int | None) -> None:
    assert console_test_count("", said) == count


@pytest.mark.parametrize(
    ("said", "does_not"),
    [
        ("src/shop/Prices.java:3: error: ';' expected", True),
        ("[ERROR] COMPILATION ERROR : ", True),
        ("/tmp/work/a.cpp:3:14: error: expected ';'", True),
        ("Program.cs(3,1): error CS1002: ; expected", True),
        ("src/a.ts(3,1): error TS1005: ';' expected.", True),
        ("  File 'a.py', line 1\nSyntaxError: invalid syntax", True),
        ("AssertionError: error: 3 is not 4", False),
        ("java.lang.AssertionError: error", False),
        ("ValueError: x", False),
    ],
)
def test_what_does_not_compile_is_told_from_what_fails(said: str, does_not: bool) -> None:
    assert reports_compile_error("", said) is does_not


def test_hostile_numbers_are_read_in_no_time() -> None:
    numeric = ExpectedOutput(text="1.0", comparison="numeric")
    assert output_difference(numeric, "1" * 100_000 + "x")
    assert console_test_count("Ran " + "1" * 5_000 + " tests in 1s", "") is None
