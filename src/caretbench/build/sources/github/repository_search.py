"""Search for repositories of GitHub by words and time of creation, also beyond 1,000 results.

GitHub shows the first 1,000 results of a search. A period with more is halved until each part has fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote_plus

from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.errors import DataError

MAX_RESULTS: Final = 1000
"""Maximum number of results that GitHub shows of one search."""
_SECOND: Final = timedelta(seconds=1)


class RepositorySearch:
    """Search with a client; ``notify`` receives messages about results that GitHub does not show."""

    def __init__(self, client: GithubClient, notify: Callable[[str], None] = lambda _line: None) -> None:
        self._client = client
        self._note = notify

    def find(self, words: str, first: datetime, last: datetime) -> Iterator[Mapping[str, Any]]:
        """Yield each repository that was created from ``first`` to ``last`` (both included, in seconds), once.

        Within a part of the period those with the most stars come first; earlier parts come first.

        Args:
            words: The search in GitHub's notation, without ``created:``.
            first: Time of the earliest creation.
            last: Time of the latest creation.

        Raises:
            DataError: GitHub refuses the search or fails, or the response has an unknown form.
        """
        known: set[int] = set()
        periods = [(_whole_seconds(first), _whole_seconds(last))]
        while periods:
            begin, end = periods.pop()
            for row in self._rows(words, begin, end, periods):
                try:
                    number = int(row["id"])
                except (KeyError, TypeError, ValueError) as error:
                    raise DataError(f"GitHub's search: a result has an unknown form ({error!r})") from None
                if number not in known:  # pages shift while they are read
                    known.add(number)
                    yield row

    def _rows(
        self, words: str, begin: datetime, end: datetime, periods: list[tuple[datetime, datetime]]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the results of a period; if there are too many, add its halves to ``periods`` instead."""
        created = f"created:{_time(begin)}..{_time(end)}"
        query = quote_plus(f"{words} {created}".strip())
        shown = 0
        try:
            for page in self._client.get_values(f"/search/repositories?q={query}&sort=stars&order=desc&per_page=100"):
                total, rows = int(page["total_count"]), page["items"]
                if not shown and total > MAX_RESULTS:
                    if end > begin:
                        middle = (begin + (end - begin) / 2).replace(microsecond=0)
                        periods += [(middle + _SECOND, end), (begin, middle)]
                        return
                    self._note(f"GitHub's search, {created}: {total} results, of which it shows {MAX_RESULTS}")
                if page.get("incomplete_results"):
                    self._note(f"GitHub's search, {created}: GitHub has not searched everything")
                yield from rows[: MAX_RESULTS - shown]
                shown += len(rows)
                if shown >= MAX_RESULTS:
                    return
        except UnavailableError as reason:
            raise DataError(f"GitHub's search refuses {words!r}: {reason}") from None
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"GitHub's search: the response has an unknown form ({error!r})") from None


def _whole_seconds(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
