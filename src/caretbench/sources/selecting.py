"""Which of many changes are wanted: by the moment of their merge, the newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from caretbench.sources.git.history import bounds
from caretbench.sources.pull_request import PullRequest


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
    """The changes that were merged within a time, by repository, the newest first.

    Args:
        pulls: In any order.
        since: Only what was merged at this date or moment (UTC) or later.
        until: Only what was merged before this date or moment.
        limit: At most so many of each repository.

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
