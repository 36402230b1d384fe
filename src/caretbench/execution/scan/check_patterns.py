"""Patterns that recognise lines, functions and bodies that check something."""

from __future__ import annotations

import re

_CLAIMS = "assert|expect|check|verify"
_FAILS = "panic|fail"
_LEAVES = "throw|raise|exit"

IN_A_LINE = re.compile(f"{_CLAIMS}|should|{_FAILS}", re.IGNORECASE)
"""Pattern of a line that checks something; a line that only throws may be part of the tested code."""
IN_A_BODY = re.compile(f"{_CLAIMS}|{_FAILS}|{_LEAVES}", re.IGNORECASE)
"""Pattern of a body or value that may reject its input."""
IN_A_NAME = re.compile(f"{_CLAIMS}|test", re.IGNORECASE)
"""Pattern of names of functions that check something."""
