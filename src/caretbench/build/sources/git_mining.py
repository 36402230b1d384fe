"""Mining of a clone into ``pull_requests.jsonl``: appends missing records and may be interrupted."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.git.history import commits_in_period, format_utc, list_commits, parse_period, read_changes
from caretbench.build.sources.git.patches import SkippedCommit
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import RepositoryFacts, read_repository_facts
from caretbench.errors import DataError
from caretbench.files import RowAppender, read_lines
from caretbench.problem import Row


@dataclass(frozen=True, slots=True)
class MiningPeriod:
    """The changes to mine of each repository: merged from ``since`` to before ``until``, at most ``limit``.

    Dates or times (UTC). The limit includes records that the file has already.
    """

    since: str | None = None
    until: str | None = None
    limit: int | None = None


WHOLE_HISTORY: Final = MiningPeriod()


def newest_changes(pulls: Iterable[PullRequest], period: MiningPeriod) -> list[PullRequest]:
    """Return the changes that were merged in a period, by repository, newest first.

    Raises:
        DataError: a date is invalid.
    """
    first, end = parse_period(period.since, period.until)
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: pull.merge_order, reverse=True):
        merged = datetime.fromisoformat(pull.merged_at)
        inside = (first is None or merged >= first) and (end is None or merged < end)
        if inside and (period.limit is None or len(by_repository[pull.repo]) < period.limit):
            by_repository[pull.repo].append(pull)
    return [pull for _, members in sorted(by_repository.items()) for pull in members]


# A batch is written in one go: one flush to disk for each record would cost more than reading it.
_BATCH_RECORDS = 100
_BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class MiningProgress:
    """Progress of mining: commits processed, commits in total, records written."""

    processed: int
    total: int
    written: int


class MiningResult(Row):
    """Counts of a history's commits, by what mining did with them; they add up to ``commits``.

    ``commits`` is the first-parent history; ``outside_period`` were merged before or after the period,
    ``already_stored`` were in the file before, ``written`` were added, ``skipped`` have no record, ``not_reached`` are
    beyond the limit.
    """

    repository: RepositoryFacts
    commits: int
    outside_period: int
    already_stored: int
    written: int
    not_reached: int
    skipped: tuple[SkippedCommit, ...] = ()

    @property
    def skipped_by_reason(self) -> dict[str, int]:
        """Number of skipped commits by reason."""
        return dict(Counter(commit.reason for commit in self.skipped).most_common())


@dataclass
class _BatchWriter:
    """Appends the records of a history in batches."""

    appender: RowAppender
    max_records: int
    skipped: list[SkippedCommit] = field(default_factory=list)
    written: int = 0
    _rows: list[PullRequest] = field(default_factory=list)
    _size: int = 0

    @property
    def is_full(self) -> bool:
        """Return whether the maximum number of records is reached."""
        return self.written + len(self._rows) == self.max_records

    def add(self, change: PullRequest | SkippedCommit) -> None:
        """Add a record, or count the commit without one."""
        if isinstance(change, SkippedCommit):
            self.skipped.append(change)
        else:
            self._rows.append(change)
            self._size += change.patch_chars or 0
        if self.is_full or len(self._rows) == _BATCH_RECORDS or self._size > _BATCH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Append the pending records."""
        self.appender.append(*self._rows)
        self.written += len(self._rows)
        self._rows, self._size = [], 0


def mine_git(
    path: Path,
    out_file: Path,
    period: MiningPeriod = WHOLE_HISTORY,
    *,
    name: str | None = None,
    progress: Callable[[MiningProgress], None] | None = None,
) -> MiningResult:
    """Append the merged changes of a clone to a file, newest first, without network or changes to the clone.

    Changes that are in the file are not written again: an interrupted run continues.

    ``name`` is ``owner/name`` if the remote does not give it.

    Raises:
        DataError: no clone, an empty one, an invalid date, or a file that another process writes.
    """
    # A wrong date is told before the history is read, which takes minutes in a large clone.
    parse_period(period.since, period.until)
    if period.limit is not None and period.limit < 0:
        raise DataError(f"a limit of {period.limit} records is negative")
    with contextlib.ExitStack() as stack:
        repository = stack.enter_context(open_repository(path))
        appender = stack.enter_context(RowAppender(out_file))
        history = list_commits(repository)
        wanted = commits_in_period(history, period.since, period.until)
        facts = _with_history_dates(read_repository_facts(repository, name), [commit.time for commit in history])
        there = _stored_commits(out_file, facts.repo, {commit.sha for commit in history})
        pending = [commit for commit in wanted if commit.sha not in there]
        stored_count = len(wanted) - len(pending)
        # The limit is one of the file: a second call with the same limit adds nothing.
        room = len(pending) if period.limit is None else max(0, period.limit - stored_count)
        changes = stack.enter_context(
            contextlib.closing(read_changes(repository, facts, pending if room else [], history=history))
        )
        batches = _BatchWriter(appender, room)
        for done, change in enumerate(changes, start=1):
            batches.add(change)
            if progress:
                progress(MiningProgress(processed=done, total=len(pending), written=batches.written))
            if batches.is_full:
                break
        batches.flush()
    return MiningResult(
        repository=facts,
        commits=len(history),
        outside_period=len(history) - len(wanted),
        already_stored=stored_count,
        written=batches.written,
        not_reached=len(pending) - batches.written - len(batches.skipped),
        skipped=tuple(batches.skipped),
    )


def _stored_commits(path: Path, repo: str, history: Set[str]) -> set[str]:
    """Return the hashes of a repository's changes in a file.

    Raises:
        DataError: none of them is in this history, so two clones have the same name.
    """
    commits: set[str] = set()
    mined = False
    for _, row in read_lines(path):
        if row.get("repo") == repo:
            commits.add(str(row.get("merge_sha")))
            mined = mined or row.get("source") == "git"
    # Two clones in folders called `repository` would mix their changes under one name.
    if mined and commits.isdisjoint(history):
        raise DataError(
            f"{path}: {len(commits)} changes in it are of another repository that is called {repo!r}, too; "
            "rename the clone's folder, or mine it into another file"
        )
    return commits


def _with_history_dates(facts: RepositoryFacts, times: list[int]) -> RepositoryFacts:
    """Return the facts with number, first and last time of the commits."""
    ends = {"first_merged_at": min(times), "last_merged_at": max(times)} if times else {}
    return facts.model_copy(update={"commits": len(times)} | {name: format_utc(time) for name, time in ends.items()})
