"""Table of words that mark lines, functions and bodies as checks."""

from __future__ import annotations

import re

_CLAIMS = "assert|expect|check|verify"
_FAILS = "panic|fail"
_LEAVES = "throw|raise|exit"

IN_A_LINE = re.compile(f"{_CLAIMS}|should|{_FAILS}", re.IGNORECASE)
"""Words of a line that checks something; one that only throws may as well be part of what is checked."""
IN_A_BODY = re.compile(f"{_CLAIMS}|{_FAILS}|{_LEAVES}", re.IGNORECASE)
"""Words of a body, or a value, that may refuse its input."""
IN_A_NAME = re.compile(f"{_CLAIMS}|test", re.IGNORECASE)
"""Words in the name of a function that checks something."""
