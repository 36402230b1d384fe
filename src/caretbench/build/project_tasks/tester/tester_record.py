"""Record of a tester in a build's manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from caretbench.problem import Row


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

    @property
    def reasons(self) -> Counter[str]:
        """Number of dropped tests by kind of reason."""
        return Counter(reason.partition(":")[0] for reason in self.dropped.values())

    def without(self, names: Collection[str]) -> TesterRecord:
        """Return the record where tests with these names do not stay: they were excluded with all tests together."""
        excluded = {path for path in self.kept if any(PurePosixPath(path).stem in name for name in names)}
        reasons = dict.fromkeys(sorted(excluded), "flaky: it does not pass three times with all other tests")
        kept = {path: count for path, count in self.kept.items() if path not in excluded}
        return self.model_copy(update={"kept": kept, "dropped": {**self.dropped, **reasons}})

    @property
    def summary(self) -> str:
        """Counts of the requests and tests as one line."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.reasons.items()))
        malformed = f", {len(self.malformed)} malformed answers" if self.malformed else ""
        dropped = f"; dropped: {reasons}" if reasons else ""
        return (
            f"{', '.join(self.models)}: {self.requests} requests{malformed}, {self.tests} tests, {len(self.kept)} stay "
            f"for {sum(self.kept.values())} blocks{dropped}"
        )
