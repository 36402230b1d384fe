"""Outcomes of written tests in one file of a build's folder, stored as they come.

A resumed build examines no test again whose row is there: a flaky test could end otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from caretbench.files import RowAppender, read_rows
from caretbench.problem import SCHEMA_VERSION, Row

WRITTEN_TESTS_FILE: Final = "written_tests.jsonl"


class WrittenTestRow(Row):
    """Outcome of one test, a line of ``written_tests.jsonl``; of all together (``test`` is empty): those that stay.

    ``case`` identifies the project, its check and the prompts; ``after`` the tests that were kept before.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    case: str
    after: str
    test: str = ""
    name: str = ""
    target: str = ""
    reason: str = ""
    """Reason why it does not stay, as ``kind: explanation``; empty if it does."""
    blocks: tuple[tuple[int, int], ...] = ()
    """Bytes of the blocks that it reaches first, and of which it fails under every mask."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Of all together: keys of tests that do not stay, with reasons."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Unique key of the row."""
        return (self.case, self.after, self.test)


class WrittenTestStore:
    """The file of outcomes.

    Raises:
        DataError: a line is malformed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / WRITTEN_TESTS_FILE
        known = read_rows(self.path, WrittenTestRow, allow_partial_last_line=True) if self.path.exists() else ()
        self._rows = {row.key: row for row in known}

    def get(self, case: str, after: str, test: str = "") -> WrittenTestRow | None:
        """Return the row of an earlier attempt of the build, or None."""
        return self._rows.get((case, after, test))

    def add(self, row: WrittenTestRow) -> WrittenTestRow:
        """Append a row and return it."""
        with RowAppender(self.path) as appender:
            appender.append(row)
        self._rows[row.key] = row
        return row
