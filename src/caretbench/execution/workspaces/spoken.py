"""How many tests ran, from what test runners print last, where they write no report.

Who wants to lie can print such a line too. What it defeats is the accident and the lazy trick: a program that leaves
with exit status 0 before its tests have run prints none.
"""

from __future__ import annotations

import re

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
        r"^(?:\w+: |All )?(\d{1,9}) tests?(?: passed|, 0 failed|, 0 failures)",  # what people write themselves
    )
)


def spoken_tests(*outputs: str) -> int | None:
    """How many tests ran well, by the last line that says so; None where none does."""
    for pattern in _SUMMARIES:
        found = [int(match[1]) for text in outputs for match in pattern.finditer(text)]
        if found:
            return found[-1]
    return None
