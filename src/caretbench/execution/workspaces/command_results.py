"""Results of commands in projects, from exit status, test reports or last output lines, and expected output."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import zip_longest

from caretbench.errors import DataError
from caretbench.execution.classification import classify, limit_fields, missing_module, reports_compile_error
from caretbench.execution.execution_types import CapturedOutput, Status, run_fields
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.workspaces.runner_reports import TestOutcome, parse_report
from caretbench.execution.workspaces.workspace_request import PlacementMode, WorkspaceRequest, WorkspaceResult
from caretbench.problem import ExpectedOutput


def command_result(
    request: WorkspaceRequest, ran: SandboxResult, placed: PlacementMode, attempt: int
) -> WorkspaceResult:
    """Return the result of a command; ``placed``: placement of the project (overlay or copy)."""
    tests, complaint = _tests(request, ran)
    of_failure = _failure(tests, ran.stdout.text)
    status, reason = classify(ran, sentinel=False, limits=request.run_limits, failure_status=of_failure)
    if status is Status.PASSED:
        status, reason = _of_reports(request, tests, complaint, (ran.stdout.text, ran.stderr.text))
    if status is Status.PASSED and request.expected is not None:
        status, reason = _of_output(request, request.expected, ran.stdout)
    missing = missing_module(ran.stderr.text) if status is Status.UNRESOLVED_IMPORT else None
    return WorkspaceResult(
        id=request.id,
        status=status,
        files=ran.files,
        tests=tests,
        missing_module=missing,
        wall_s=ran.wall_s,
        placed=placed,
        attempt=attempt,
        reason=reason,
        refusals=ran.refusals,
        **limit_fields(ran, request.limits, request.run_limits),
        **run_fields(ran),
    )


def _tests(request: WorkspaceRequest, ran: SandboxResult) -> tuple[tuple[TestOutcome, ...], str]:
    """Return the tests of all reports, and the fault of a bad report."""
    outcomes: list[TestOutcome] = []
    complaint = ""
    reports = [file for file in ran.files if file.pattern in request.junit]
    for file in reports:
        problem = file.problem
        try:
            outcomes += parse_report(file.data) if not problem else []
        except DataError as error:
            problem = str(error)
        complaint = complaint or (f"{file.path}: {problem}" if problem else "")
    if request.junit and not reports:
        complaint = f"no report {', '.join(request.junit)} was written"
    return tuple(outcomes), complaint


def _failure(tests: tuple[TestOutcome, ...], stdout: str) -> Callable[[str, int | None], Status]:
    def failure_status(stderr: str, exit_code: int | None) -> Status:
        outcomes = {test.outcome for test in tests}
        if not outcomes and reports_compile_error(stderr, stdout):
            return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.COMPILE_ERROR
        # Tests that ran to the end may skip those of absent packages: tilt's name 24 on standard error.
        ran = bool(console_test_count(stdout)) or not missing_module(stderr)
        # Test runners end with 1 where a test fails, and with other numbers where they could not run.
        if "failed" in outcomes or (not outcomes and exit_code == 1 and ran):
            return Status.FAILED
        return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.RUNTIME_ERROR

    return failure_status


def _of_reports(
    request: WorkspaceRequest, tests: tuple[TestOutcome, ...], complaint: str, said: tuple[str, str]
) -> tuple[Status, str]:
    """Return the status of a command that ended with exit status 0."""
    bad = next((test for test in tests if test.outcome in ("failed", "error")), None)
    if bad is not None:
        return Status.FAILED, f"exit status 0, but {bad.name} did not pass"
    if complaint:
        return Status.INCOMPLETE, f"exit status 0, but {complaint}"
    ran = sum(test.outcome == "passed" for test in tests) if request.junit else console_test_count(*said) or 0
    if ran < request.minimum_tests:
        return Status.INCOMPLETE, f"exit status 0, but {ran} of at least {request.minimum_tests} tests ran"
    return Status.PASSED, ""


def _of_output(request: WorkspaceRequest, expected: ExpectedOutput, stdout: CapturedOutput) -> tuple[Status, str]:
    """Return the status of a command that passed all other rules."""
    if stdout.truncated:
        kept = request.limits.output_kb
        return Status.OUTPUT_LIMIT, f"it prints more than the {kept} kB that are kept to be compared"
    differs = output_difference(expected, stdout.text)
    return (Status.FAILED, differs) if differs else (Status.PASSED, "")


# Numbers have at most nine digits: Python refuses to read more than 4,300, and a program prints what it wants.
_SUMMARIES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^Ran (\d{1,9}) tests? in ",  # unittest
        r"\b(\d{1,9}) passed\b.* in [\d.]+s",  # pytest
        r"^(?:#|ℹ) pass (\d{1,9})$",  # node --test  # noqa: RUF001
        r"^ *(\d{1,9}) passing\b",  # mocha
        r"^ *Tests: .*?\b(\d{1,9}) passed",  # jest
        r"^ *Tests +(\d{1,9}) passed",  # vitest
        r"^(?:\[\w+\] )?Tests run: (\d{1,9})",  # Maven, JUnit
        r"^\[ +(\d{1,9}) tests successful",  # JUnit's console launcher
        r"\btests failed out of (\d{1,9})$",  # CTest
        r"^\[ +PASSED +\] (\d{1,9}) tests?",  # GoogleTest
        r"^\[doctest\] test cases: +\d+ \| +(\d{1,9}) passed",
        r"^All tests passed \(\d+ assertions? in (\d{1,9}) test cases?\)",  # Catch2
        r"^test cases: +\d+ \| +(\d{1,9}) passed",  # Catch2, where not all do
        r"\bPassed: +(\d{1,9})\b",  # dotnet
        r"^OK \((\d{1,9}) tests?",  # JUnit 4
        r"^(\d{1,9}) (?:runs|tests|examples?), (?:\d+ assertions, )?\d+ failures",  # minitest, test-unit, RSpec: all
        r"^(?:\w+: |All )?(\d{1,9}) tests?(?: passed|, 0 failed|, 0 failures)",  # what people write themselves
    )
)


def console_test_count(*outputs: str) -> int | None:
    """Return the number of passed tests from the last summary line of a test runner; None if there is none.

    Skipped tests did not run; some runners count them (unittest, Maven, CTest).

    A program can print such a line itself. The count defeats accidents and simple tricks: a program that exits with
    status 0 before its tests have run prints no summary.
    """
    for pattern in _SUMMARIES:
        counts = [int(match[1]) for text in outputs for match in pattern.finditer(text)]
        if counts:
            skipped = [int(match[1] or match[2] or 1) for text in outputs for match in _SKIPPED.finditer(text)]
            listed = sum(1 for text in outputs for match in _SKIPPED.finditer(text) if match[3])
            return max(0, counts[-1] - (listed or (skipped[-1] if skipped else 0)))
    return None


_SKIPPED = re.compile(
    r"^OK \([^)\n]{0,80}\bskipped=(\d{1,9})"  # unittest
    r"|^(?:\[\w+\] )?Tests run: [^\n]{0,80}\bSkipped: (\d{1,9})"  # Maven
    r"|^\s{1,9}\d{1,9} - [^\n]{1,200} (\(Skipped\))",  # CTest names each
    re.MULTILINE,
)

# Possessive, so that a long row of digits is not tried again from each of its places.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.]*\w)")
_SHOWN = 120


def output_difference(expected: ExpectedOutput, printed: str) -> str:
    """Return a description of the first difference; empty if the output is as expected."""
    return _COMPARISONS[expected.comparison](expected, printed)


def _exact(expected: ExpectedOutput, printed: str) -> str:
    return "" if printed == expected.text else _first_line(expected.text, printed)


def _whitespace(expected: ExpectedOutput, printed: str) -> str:
    return "" if printed.split() == expected.text.split() else _first_line(expected.text, printed)


def _last_line(expected: ExpectedOutput, printed: str) -> str:
    expected_text, printed_text = _last(expected.text), _last(printed)
    return (
        "" if expected_text == printed_text else f"the last line is {_shown(printed_text)}, not {_shown(expected_text)}"
    )


def _numeric(expected: ExpectedOutput, printed: str) -> str:
    """Compare numbers anywhere in the text (``[0.25, 1e-3]``), and the text between them up to whitespace."""
    between = [text.split() for text in _NUMBER.split(expected.text)]
    if between != [text.split() for text in _NUMBER.split(printed)]:
        return _first_line(expected.text, printed)
    for expected_text, number in zip(_NUMBER.findall(expected.text), _NUMBER.findall(printed), strict=True):
        allowed = expected.absolute + expected.relative * abs(float(expected_text))
        if expected_text != number and not abs(float(expected_text) - float(number)) <= allowed:
            return f"it prints {number} in place of {expected_text}"
    return ""


_DECIMAL, _HEXADECIMAL, _BINARY = 10, 16, 2
# Possessive, as above; a power of a hexadecimal number is one of two.
_CONTEST_NUMBERS: Mapping[int, re.Pattern[str]] = {
    base: re.compile(rf"([-+]?){mark}({digit}*+)(?:\.({digit}*+))?(?:[{power}]([-+]?\d++))?", re.ASCII | re.IGNORECASE)
    for base, mark, digit, power in (
        (_DECIMAL, "", r"\d", "e@"),
        (_HEXADECIMAL, "0x", r"[\da-f]", "p"),
        (_BINARY, "0b", "[01]", "ep@"),
    )
}
_NOT_FINITE = re.compile(r"([-+]?)(?:(nan|@nan@)(?:\(\w*+\))?|inf|infinity|@inf@)", re.ASCII | re.IGNORECASE)
_WORDS_OF_ANY_CASE = frozenset({"yes", "no", "true", "false"})
_CONTEST_BITS, _CONTEST_TOLERANCE = 129, 1e-12
_MAX_DIGITS = 4_300  # Python reads no longer ones


def _contest(expected: ExpectedOutput, printed: str) -> str:
    """Compare lines without the blanks around them, or else words: ExecEval's rule (commit dd69386).

    Numbers may differ by 1e-12, and ``yes``, ``no``, ``true`` and ``false`` are equal in upper and lower case. As
    released, numbers are read with 129 bits, so that longer ones with the same first 38 digits are equal, and ``nan``
    is equal to every number. Those of more than 4,300 digits are compared as words.
    """
    ours, theirs = printed.strip(), expected.text.strip()
    if [line.strip() for line in ours.split("\n")] == [line.strip() for line in theirs.split("\n")]:
        return ""
    # Of 5,304 right outputs of SAFIM's references the lines alone refuse 146: YES for yes, 6.0000000 for 6.
    words, expected_words = ours.split(), theirs.split()
    if len(words) != len(expected_words):
        return f"it prints {len(words)} words in place of {len(expected_words)}"
    for word, other in zip(words, expected_words, strict=True):
        if word != other and not _equal_words(word, other):
            return f"it prints {_shown(word)} in place of {_shown(other)}"
    return ""


def _equal_words(word: str, other: str) -> bool:
    number, expected = _contest_number(word), _contest_number(other)
    if number is None or expected is None:
        return word.lower() == other.lower() and word.lower() in _WORDS_OF_ANY_CASE
    if isinstance(number, float) or isinstance(expected, float):
        # No difference to `nan` is greater than the tolerance.
        return number == expected or number != number or expected != expected
    difference = abs(number - expected)
    return difference < 1 and float(difference) <= _CONTEST_TOLERANCE


def _contest_number(word: str) -> Fraction | float | None:
    """Return the value of a word that MPFR reads as a number (``1@5``, ``1_000`` and ``_`` are such); else None."""
    word = word.replace("_", "") or "0"
    if match := _NOT_FINITE.fullmatch(word):
        return math.nan if match[2] else float(f"{match[1]}inf")
    for base, pattern in _CONTEST_NUMBERS.items():
        match = pattern.fullmatch(word)
        if match is None:
            continue
        sign, whole, decimals, power = (group or "" for group in match.groups())
        digits, exponent = whole + decimals, int(power[:9] or 0)
        if not digits or len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS:
            return None
        scale = Fraction(2 if base == _HEXADECIMAL else base) ** exponent / base ** len(decimals)
        return _rounded(int(sign + digits, base) * scale)
    return None


def _rounded(value: Fraction) -> Fraction:
    """Return the nearest number of 129 bits."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    power += abs(value) >= Fraction(2) ** power
    unit = Fraction(2) ** (power - _CONTEST_BITS)
    return round(value / unit) * unit


_COMPARISONS: Mapping[str, Callable[[ExpectedOutput, str], str]] = {
    "exact": _exact, "whitespace": _whitespace, "last_line": _last_line, "numeric": _numeric,
    "contest": _contest,
}  # fmt: skip


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _first_line(expected_text: str, printed: str) -> str:
    pairs = zip_longest(expected_text.splitlines(), printed.splitlines())
    for number, (left, right) in enumerate(pairs, start=1):
        if left is None:
            return f"it prints more than expected: line {number} is {_shown(right)}"
        if right is None:
            return f"it prints less than expected: line {number}, {_shown(left)}, is missing"
        if left.split() != right.split():
            return f"line {number} of the output is {_shown(right)}, not {_shown(left)}"
    return "the output differs in blanks or line ends"


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
