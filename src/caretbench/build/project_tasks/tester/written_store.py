"""Outcomes of written tests in one file of a build's folder, stored as they come; their record in the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from caretbench.files import RowAppender, read_appended
from caretbench.problem import Row, StoredRow


class TesterRecord(Row):
    """Requests, answers and tests of a tester."""

    models: tuple[str, ...]
    prompt_version: int
    requests: int = 0
    malformed: Mapping[str, str] = {}
    """Faults of answers without a test, by request."""
    tests: int = 0
    """Number of examined tests."""
    kept: Mapping[str, int] = {}
    """Numbers of blocks that tests reach first, by the path of the test."""
    dropped: Mapping[str, str] = {}
    """Reasons of the other tests, by request and name."""

    def without(self, names: Collection[str]) -> TesterRecord:
        """Return the record where tests with these names do not stay: they were excluded with all tests together."""
        excluded = {path for path in self.kept if any(PurePosixPath(path).stem in name for name in names)}
        reasons = dict.fromkeys(sorted(excluded), "flaky: it does not pass three times with all other tests")
        kept = {path: count for path, count in self.kept.items() if path not in excluded}
        return self.model_copy(update={"kept": kept, "dropped": {**self.dropped, **reasons}})

    @property
    def summary(self) -> str:
        """Counts of the requests and tests as one line."""
        kinds = Counter(reason.partition(":")[0] for reason in self.dropped.values())
        reasons = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        malformed = f", {len(self.malformed)} malformed answers" if self.malformed else ""
        dropped = f"; dropped: {reasons}" if reasons else ""
        return (
            f"{', '.join(self.models)}: {self.requests} requests{malformed}, {self.tests} tests, {len(self.kept)} stay "
            f"for {sum(self.kept.values())} blocks{dropped}"
        )


WRITTEN_TESTS_FILE: Final = "written_tests.jsonl"


class WrittenTestRow(StoredRow):
    """Outcome of one test, a line of ``written_tests.jsonl``; of all together (``test`` is empty): those that stay.

    ``case`` identifies the project, its check and the prompts; ``after`` the tests that were kept before.
    """

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
        self._rows = {row.key: row for row in read_appended(self.path, WrittenTestRow)}

    def get(self, case: str, after: str, test: str = "") -> WrittenTestRow | None:
        """Return the row of an earlier attempt of the build, or None."""
        return self._rows.get((case, after, test))

    def add(self, row: WrittenTestRow) -> WrittenTestRow:
        """Append a row and return it."""
        with RowAppender(self.path) as appender:
            appender.append(row)
        self._rows[row.key] = row
        return row
