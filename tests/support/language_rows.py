"""Parameters of tests that take every language: those of Python and C++ are in `make check`, the others are long.

An interpreted and a compiled language take the same paths as the others through sandbox, scan and verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SHORT = ("python", "cpp")


def language_rows(rows: Iterable[Any]) -> list[Any]:
    """Return the rows, which begin with a language (or are one), with the mark ``long`` for most languages."""
    listed = ((row,) if isinstance(row, str) else row for row in rows)
    return [pytest.param(*row, marks=() if row[0] in SHORT else pytest.mark.long) for row in listed]
