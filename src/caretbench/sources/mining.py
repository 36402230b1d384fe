"""From a clone to ``pull_requests.jsonl``: appends what is missing, and may be killed at any moment."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.files import Appender, read_lines
from caretbench.problem import Row
from caretbench.sources.git.access import opened
from caretbench.sources.git.diffs import SkippedCommit
from caretbench.sources.git.history import bounds, list_commits, read_changes, utc_moment, within
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import RepositoryFacts, repository_facts


@dataclass(frozen=True, slots=True)
class Period:
    """The changes that are wanted of each repository: merged from ``since`` to before ``until``, at most ``limit``.

    Dates or moments (UTC); the limit counts the records that a file contains already.
    """

    since: str | None = None
    until: str | None = None
    limit: int | None = None


WHOLE_HISTORY: Final = Period()


def newest(
    pulls: Iterable[PullRequest], since: str | None = None, until: str | None = None, limit: int | None = None
) -> list[PullRequest]:
    """Return the changes that were merged within a time, by repository, the newest first.

    At most ``limit`` of each repository.

    Raises:
        DataError: a date is none.
    """
    first, end = bounds(since, until)
    found: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: pull.newest_first, reverse=True):
        merged = datetime.fromisoformat(pull.merged_at)
        inside = (first is None or merged >= first) and (end is None or merged < end)
        if inside and (limit is None or len(found[pull.repo]) < limit):
            found[pull.repo].append(pull)
    return [pull for _, members in sorted(found.items()) for pull in members]


_AT_ONCE = 100
_AT_ONCE_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class MiningProgress:
    """How far a mining is: commits looked at, commits to look at, records written."""

    done: int
    total: int
    written: int


class MiningYield(Row):
    """What became of the commits of a history.

    ``commits`` is the first-parent history; ``outside`` lies before or after the wanted time, ``known`` stood in the
    file before, ``written`` was added, ``skipped`` gave no record, ``not_reached`` lies beyond the limit: these add up.
    """

    repository: RepositoryFacts
    commits: int
    outside: int
    known: int
    written: int
    not_reached: int
    skipped: tuple[SkippedCommit, ...] = ()

    @property
    def skipped_by_reason(self) -> dict[str, int]:
        """Return how many commits each reason took."""
        return dict(Counter(commit.reason for commit in self.skipped).most_common())


@dataclass
class _Batches:
    """The records of a history on their way to the file, appended many at a time."""

    appender: Appender
    room: int
    skipped: list[SkippedCommit] = field(default_factory=list)
    written: int = 0
    _rows: list[PullRequest] = field(default_factory=list)
    _size: int = 0

    @property
    def is_full(self) -> bool:
        """Return whether no more records are wanted."""
        return self.written + len(self._rows) == self.room

    def take(self, change: PullRequest | SkippedCommit) -> None:
        """Add a record, or count the commit that gave none."""
        if isinstance(change, SkippedCommit):
            self.skipped.append(change)
        else:
            self._rows.append(change)
            self._size += change.patch_chars or 0
        if self.is_full or len(self._rows) == _AT_ONCE or self._size > _AT_ONCE_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Append what waits."""
        self.appender.append(*self._rows)
        self.written += len(self._rows)
        self._rows, self._size = [], 0


def mine_git(
    path: Path,
    out_file: Path,
    period: Period = WHOLE_HISTORY,
    *,
    name: str | None = None,
    progress: Callable[[MiningProgress], None] | None = None,
) -> MiningYield:
    """Append the merged changes of a clone to a file, newest first; no network is used, and the clone stays untouched.

    Changes that stand in the file are not written again, so that a run that was stopped goes on.

    ``name`` is ``owner/name``, where the remote does not say it.

    Raises:
        DataError: no clone, an empty one, a date that is none, a file that another process writes.
    """
    bounds(period.since, period.until)
    if period.limit is not None and period.limit < 0:
        raise DataError(f"a limit of {period.limit} records is none")
    with contextlib.ExitStack() as stack:
        repository = stack.enter_context(opened(path))
        appender = stack.enter_context(Appender(out_file))
        history = list_commits(repository)
        wanted = within(history, period.since, period.until)
        facts = _dated(repository_facts(repository, name), [commit.time for commit in history])
        there = _known(out_file, facts.repo, {commit.sha for commit in history})
        pending = [commit for commit in wanted if commit.sha not in there]
        known = len(wanted) - len(pending)
        room = len(pending) if period.limit is None else max(0, period.limit - known)
        changes = stack.enter_context(
            contextlib.closing(read_changes(repository, facts, pending if room else [], history=history))
        )
        batches = _Batches(appender, room)
        for done, change in enumerate(changes, start=1):
            batches.take(change)
            if progress:
                progress(MiningProgress(done=done, total=len(pending), written=batches.written))
            if batches.is_full:
                break
        batches.flush()
    return MiningYield(
        repository=facts,
        commits=len(history),
        outside=len(history) - len(wanted),
        known=known,
        written=batches.written,
        not_reached=len(pending) - batches.written - len(batches.skipped),
        skipped=tuple(batches.skipped),
    )


def _known(path: Path, repo: str, history: Set[str]) -> set[str]:
    """Return the changes of a repository that stand in a file.

    Raises:
        DataError: none of them belongs to this history: two clones go by the same name.
    """
    known: set[str] = set()
    mined = False
    for _, row in read_lines(path):
        if row.get("repo") == repo:
            known.add(str(row.get("merge_sha")))
            mined = mined or row.get("source") == "git"
    if mined and not known & history:
        raise DataError(
            f"{path}: {len(known)} changes of another repository that is called {repo!r} too stand there; "
            "rename the clone's folder, or mine it into another file"
        )
    return known


def _dated(facts: RepositoryFacts, times: list[int]) -> RepositoryFacts:
    """Return the facts with the length and the ends of the history."""
    ends = {"first_merged_at": min(times), "last_merged_at": max(times)} if times else {}
    return facts.model_copy(
        update={"commits": len(times)} | {name: utc_moment(time) for name, time in ends.items()}
    )
