"""How many tests ran, from what test runners print last, where they write no report.

Who wants to lie can print such a line too. What it defeats is the accident and the lazy trick: a program that leaves
with exit status 0 before its tests have run prints none.
"""

from __future__ import annotations

import re

_SUMMARIES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^Ran (\d+) tests? in ",  # unittest
        r"\b(\d+) passed\b.* in [\d.]+s",  # pytest
        r"^(?:#|ℹ) pass (\d+)$",  # node --test  # noqa: RUF001
        r"^ *(\d+) passing\b",  # mocha
        r"^ *Tests: .*?\b(\d+) passed",  # jest
        r"^ *Tests +(\d+) passed",  # vitest
        r"^(?:\[\w+\] )?Tests run: (\d+)",  # Maven, JUnit
        r"^\[ +(\d+) tests successful",  # JUnit's console launcher
        r"\btests failed out of (\d+)$",  # CTest
        r"^\[ +PASSED +\] (\d+) tests?",  # GoogleTest
        r"\bPassed: +(\d+)\b",  # dotnet
        r"^OK \((\d+) tests?",  # JUnit 4
        r"^(\d+) tests?(?: passed|, 0 failed|, 0 failures)",  # what people write themselves
    )
)


def spoken_tests(*outputs: str) -> int | None:
    """How many tests ran well, by the last line that says so; None where none does."""
    for pattern in _SUMMARIES:
        found = [int(match[1]) for text in outputs for match in pattern.finditer(text)]
        if found:
            return found[-1]
    return None
