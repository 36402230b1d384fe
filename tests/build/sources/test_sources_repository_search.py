from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.sources.github import repository_crawl
from caretbench.build.sources.github.client import GithubClient
from caretbench.build.sources.github.repository_crawl import MAX_RESULTS, RepositorySearch
from caretbench.errors import DataError
from tests.support.github_search_server import SearchServer, hosted
from tests.support.github_server import NOW, secondary, status, used_up

FIRST, LAST = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
SEARCH = "/search/repositories"


class Search:
    """A search with a client whose waits are counted."""

    def __init__(self, server: SearchServer, folder: Path) -> None:
        self.slept: list[float] = []
        self.notes: list[str] = []
        self.client = GithubClient(
            server.url, token="", folder=folder, notify=self.notes.append, sleep=self.slept.append, now=lambda: NOW
        )

    def names(self, words: str = "stars:>50") -> list[str]:
        with self.client:
            found = RepositorySearch(self.client, self.notes.append).find(words, FIRST, LAST)
            return [str(row["full_name"]) for row in found]


def test_more_than_1000_results_are_found_by_parts_of_the_period(tmp_path: Path) -> None:
    moment = (FIRST + timedelta(days=60)).strftime("%Y-%m-%dT%H:%M:")
    # 1,400 in two minutes, the rest over the whole period.
    dense = [hosted(f"o/dense{n}", f"{moment}{n % 60:02d}Z", stars=100 + n) for n in range(1400)]
    days = [(FIRST + timedelta(hours=2 * n)).strftime("%Y-%m-%dT%H:%M:%SZ") for n in range(1300)]
    spread = [hosted(f"o/spread{n}", day, stars=90) for n, day in enumerate(days)]
    outside = [hosted("o/before", "2026-03-31T23:59:59Z"), hosted("o/after", "2026-08-01T00:00:01Z"),
               hosted("o/dim", stars=50)]  # fmt: skip
    with SearchServer([*dense, *spread, *outside]) as server:
        search = Search(server, tmp_path)
        found = search.names()
        assert len(found) == len(set(found)) == 2700
        assert set(found) == {one.repo for one in (*dense, *spread)}
        assert search.notes == []
        assert max(int(asked.query.get("page", "1")) for asked in server.asked) <= 10


def test_more_than_1000_results_in_one_second_are_cut_with_a_note(tmp_path: Path) -> None:
    with SearchServer([hosted(f"o/r{n}", stars=100 + n) for n in range(1005)]) as server:
        search = Search(server, tmp_path)
        found = search.names()
        assert found == [f"o/r{n}" for n in range(1004, 4, -1)]
        assert [note for note in search.notes if "1005 results, of which it shows 1000" in note]


def test_limits_of_the_search_are_waited_for_and_gaps_are_noted(tmp_path: Path) -> None:
    with SearchServer([hosted("o/one"), hosted("o/two"), hosted("o/three")], page=2) as server:
        server.faults[SEARCH] = [used_up(30), secondary(7), status(502)]
        server.incomplete = True
        search = Search(server, tmp_path)
        assert sorted(search.names()) == ["o/one", "o/three", "o/two"]
        assert search.slept[:2] == [31.0, 7.0]
        assert len(search.slept) == 3
        assert sum("GitHub has not searched everything" in note for note in search.notes) == 2


@pytest.mark.parametrize(
    ("fault", "cause"),
    [(status(422), "refuses 'stars:>50'"), (status(401), "GITHUB_TOKEN"), (status(200), "unknown form")],
)
def test_a_search_that_fails_stops_with_its_cause(tmp_path: Path, fault: Any, cause: str) -> None:
    with SearchServer([hosted("o/one")]) as server:
        server.faults[SEARCH] = [fault]
        with pytest.raises(DataError, match=re.escape(cause)):
            Search(server, tmp_path).names()


class _Index:
    """The client of a search over times of creation, which shows ``shown`` results."""

    def __init__(self, times: list[datetime], shown: int) -> None:
        self.times, self.shown = times, shown

    def get_values(self, path: str) -> Iterator[Any]:
        query = parse_qs(urlsplit(path).query)["q"][0]
        begin, end = (datetime.fromisoformat(text) for text in query.removeprefix("created:").split(".."))
        rows = [{"id": number} for number, time in enumerate(self.times) if begin <= time <= end]
        assert begin <= end
        for start in range(0, max(1, min(len(rows), self.shown)), 2):
            page = rows[: self.shown][start : start + 2]
            yield {"total_count": len(rows), "items": page}


@given(st.lists(st.integers(-5, 70), max_size=40), st.integers(0, 60), st.floats(0, 0.999))
def test_whatever_the_times_each_repository_is_found_once(seconds: list[int], length: int, fraction: float) -> None:
    most = max((seconds.count(one) for one in seconds), default=1)
    begin = FIRST + timedelta(seconds=fraction)
    index = _Index([FIRST + timedelta(seconds=one) for one in seconds], most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repository_crawl, "MAX_RESULTS", most)
        found = RepositorySearch(index).find("", begin, begin + timedelta(seconds=length))  # type: ignore[arg-type]
        numbers = [row["id"] for row in found]
    assert sorted(numbers) == [number for number, one in enumerate(seconds) if 0 <= one <= length]


def test_the_bound_is_that_of_github() -> None:
    assert MAX_RESULTS == 1000
