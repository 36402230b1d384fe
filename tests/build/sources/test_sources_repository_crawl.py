"""The crawl against a local GitHub: requirements, renamed and vanished repositories, limits, stops."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.build.sources.github.client import GithubClient, RequestLimitError
from caretbench.build.sources.github.repository_crawl import (
    CrawledRepository,
    CrawlSettings,
    StoredCrawl,
    crawl,
    months_before,
)
from caretbench.errors import DataError
from tests.support.github_search_server import Hosted, SearchServer, hosted
from tests.support.github_server import NOW, status, used_up

UNTIL = datetime(2026, 8, 1, tzinfo=UTC)


class Crawling:
    """Crawls of one server; each has a client of its own, with the same stored responses."""

    def __init__(self, server: SearchServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.slept: list[float] = []
        self.notes: list[str] = []

    def client(self, max_requests: int | None = None) -> GithubClient:
        return GithubClient(
            self.server.url, token="", folder=self.folder / "answers", max_requests=max_requests,
            sleep=self.slept.append, now=lambda: NOW,
        )  # fmt: skip

    def rows(self, **settings: Any) -> dict[str, CrawledRepository]:
        with self.client() as client:
            found = list(crawl(client, CrawlSettings(**settings), UNTIL, notify=self.notes.append))
        assert len({one.named for one in found}) == len(found)
        return {one.repo: one for one in found}


REFUSED = {
    "o/young": (hosted("o/young", size_kb=200_000), "larger than 100,000 KB", {"max_size_kb": 200_000}),
    "o/bare": (hosted("o/bare", licence=None), "no licence that GitHub recognises", {"with_licence": False}),
    "o/odd": (hosted("o/odd", licence="NOASSERTION"), "no licence that GitHub recognises", {"with_licence": False}),
    "o/untested": (
        hosted("o/untested", files={"lib.py": "", "tests/data.json": "", "test/run.sh": ""}),
        "no test file in Python", {"with_tests": False},
    ),
    "o/large": (
        hosted("o/large", files={"lib.py": ""}, truncated=True),
        "no test file in Python among the files that GitHub lists", {"with_tests": False},
    ),
    "o/heavy": (hosted("o/heavy", readme="Needs CUDA."), "needs a graphics card (README: CUDA)",
                {"light_needs": False}),
    "o/torch": (
        hosted("o/torch", files={"test_x.py": "", "requirements.txt": "torch\n"}), "needs large packages (torch)",
        {"light_needs": False},
    ),
}  # fmt: skip


def test_each_repository_is_accepted_or_refused_with_its_reason(tmp_path: Path) -> None:
    others = [hosted("o/old", "2026-03-31T12:00:00Z"), hosted("o/new", "2026-08-01T00:00:01Z"),
              hosted("o/dim", stars=50), hosted("o/ruby", language="Ruby")]  # fmt: skip
    refused = [one for one, _, _ in REFUSED.values()]
    copies = [hosted("o/fork", fork=True), hosted("o/kept", archived=True)]
    with SearchServer([hosted("o/good", stars=51), *others, *refused, *copies]) as server:
        crawling = Crawling(server, tmp_path)
        rows = crawling.rows()
        assert {name: one.reasons for name, one in rows.items()} == {
            "o/good": (), "o/fork": ("a fork",), "o/kept": ("archived",),
            **{name: (reason,) for name, (_, reason, _) in REFUSED.items()},
        }  # fmt: skip
        good = rows["o/good"]
        assert (good.stars, good.licence, good.created_at) == (51, "MIT", "2026-06-01T12:00:00Z")
        assert good.source() == parse_source(f"o/good@{0:040x}")
        with pytest.raises(ValueError, match="o/fork was refused: a fork"):
            rows["o/fork"].source()
        asked = set(server.paths())
        assert not {f"/repos/{name}" for name in ("o/fork", "o/bare", "o/young")} & asked, "the search tells it"
        assert crawling.slept == []


@pytest.mark.parametrize("name", REFUSED)
def test_each_requirement_can_be_dropped_or_changed(tmp_path: Path, name: str) -> None:
    repository, _, settings = REFUSED[name]
    with SearchServer([repository]) as server:
        assert Crawling(server, tmp_path).rows(**settings)[name].reasons == ()


def test_licences_stars_age_and_languages_can_be_chosen(tmp_path: Path) -> None:
    repositories = [
        hosted("o/gpl", licence="GPL-3.0"), hosted("o/mit"), hosted("o/dim", stars=11), hosted("o/dark", stars=10),
        hosted("o/old", "2025-08-01T00:00:00Z"), hosted("o/older", "2025-07-31T23:59:59Z"),
        hosted("o/sharp", language="C#", files={"src/A.cs": "", "tests/ATests.cs": ""}),
    ]  # fmt: skip
    with SearchServer(repositories) as server:
        crawling = Crawling(server, tmp_path)
        rows = crawling.rows(licences=("MIT",), more_stars_than=10, months=12, languages=("python", "csharp"))
        assert {name for name, one in rows.items() if not one.reasons} == {"o/mit", "o/dim", "o/old", "o/sharp"}
        assert rows["o/gpl"].reasons == ("the licence GPL-3.0",)
        assert set(rows) == {"o/gpl", "o/mit", "o/dim", "o/old", "o/sharp"}
        assert rows["o/sharp"].language == "csharp"
        assert [one.reasons for one in crawling.rows(limit=2).values()].count(()) == 2


def test_renamed_repositories_have_their_new_name_and_come_once(tmp_path: Path) -> None:
    repositories = [hosted("o/new", listed="o/old", stars=300), hosted("o/new", listed="o/older", stars=200),
                    hosted("o/two")]  # fmt: skip
    with SearchServer(repositories) as server:
        server.moved = {"/repos/o/old": "/repositories/0", "/repos/o/older": "/repositories/0"}
        rows = Crawling(server, tmp_path).rows()
        assert {one.named: one.repo for one in rows.values()} == {"o/old": "o/new", "o/two": "o/two"}
        assert rows["o/new"].source().location == "o/new"


def test_vanished_empty_and_blocked_repositories_are_rows_and_the_others_go_on(tmp_path: Path) -> None:
    names = ["gone", "halfway", "law", "empty", "blocked", "strange"]
    odd = hosted("o/odd", commit="+refs/heads/*:x")
    with SearchServer([*(hosted(f"o/{name}") for name in names), odd, hosted("o/good", stars=60)]) as server:
        server.vanished.add("o/gone")
        server.faults["/repos/o/halfway/commits/main"] = [status(404)]
        server.faults["/repos/o/law"] = [status(451)]
        server.faults["/repos/o/empty/commits/main"] = [status(409, "Git Repository is empty.")]
        server.faults["/repos/o/blocked"] = [status(403, "Repository access blocked")]
        server.faults["/repos/o/strange"] = [status(200)]
        rows = Crawling(server, tmp_path).rows()
        assert {name: one.reasons[0].split("(")[0] for name, one in rows.items() if one.reasons} == {
            "o/gone": "gone ", "o/halfway": "gone ", "o/law": "gone ", "o/empty": "GitHub does not show it ",
            "o/blocked": "blocked by GitHub ", "o/strange": "GitHub's description has an unknown form ",
            "o/odd": "GitHub's description has an unknown form ",
        }  # fmt: skip
        assert rows["o/good"].reasons == ()


def test_a_readme_that_is_missing_is_no_sign(tmp_path: Path) -> None:
    with SearchServer([hosted("o/one", readme="")]) as server:
        assert Crawling(server, tmp_path).rows()["o/one"].reasons == ()


def test_the_limit_of_requests_is_waited_for(tmp_path: Path) -> None:
    with SearchServer([hosted("o/one")]) as server:
        server.faults["/repos/o/one"] = [used_up(1200)]
        crawling = Crawling(server, tmp_path)
        assert crawling.rows()["o/one"].reasons == ()
        assert crawling.slept == [1201.0]


# --- a crawl in a folder ----------------------------------------------------------------------------------------------


def many() -> list[Hosted]:
    return [hosted(f"o/r{n}", stars=100 - n, readme="Needs CUDA." if n % 3 == 0 else "# R") for n in range(6)]


def test_a_crawl_that_stops_at_any_request_goes_on_where_it_was(tmp_path: Path) -> None:
    settings = CrawlSettings(limit=2)
    with SearchServer(many()[:4], page=2) as server:
        whole = Crawling(server, tmp_path / "whole")
        expected = list(StoredCrawl(tmp_path / "whole", settings, UNTIL).repositories(whole.client))
        assert [one.repo for one in expected if not one.reasons] == ["o/r1", "o/r2"]
        requests = len(server.asked)
        stops = 0
        for bound in range(1, requests):
            folder = tmp_path / str(bound)
            crawling = Crawling(server, folder)
            with pytest.raises(RequestLimitError):
                list(StoredCrawl(folder, settings, UNTIL).repositories(partial(crawling.client, bound)))
            stops += 1
            begin = len(server.asked)
            later = datetime(2027, 1, 1, tzinfo=UTC)
            assert list(StoredCrawl(folder, settings, later).repositories(crawling.client)) == expected
            again = [asked.path for asked in server.asked[begin:] if asked.path.endswith("/readme")]
            assert len(again) == len(set(again))
            rows = (folder / "crawl.jsonl").read_bytes()
            assert rows == (tmp_path / "whole/crawl.jsonl").read_bytes()
        assert stops == requests - 1


def test_a_complete_crawl_needs_no_request_and_other_settings_are_refused(tmp_path: Path) -> None:
    with SearchServer(many()) as server:
        crawling = Crawling(server, tmp_path)
        first = list(StoredCrawl(tmp_path / "a", CrawlSettings(), UNTIL).repositories(crawling.client))
        assert len(first) == 6
        asked = len(server.asked)
        assert list(StoredCrawl(tmp_path / "a", CrawlSettings()).repositories(crawling.client)) == first
        assert len(server.asked) == asked
        with pytest.raises(DataError, match=r"crawl\.json: a crawl with other settings \(months, limit differ\)"):
            StoredCrawl(tmp_path / "a", CrawlSettings(months=5, limit=1))
        manifest = tmp_path / "a/crawl.json"
        assert json.loads(manifest.read_text())["complete"] is True
        manifest.write_text("{")
        with pytest.raises(DataError, match=r"crawl\.json: "):
            StoredCrawl(tmp_path / "a", CrawlSettings())


@pytest.mark.parametrize(
    ("moment", "months", "before"),
    [
        ("2026-08-01", 4, "2026-04-01"), ("2026-03-15", 4, "2025-11-15"), ("2026-06-30", 4, "2026-02-28"),
        ("2024-06-30", 4, "2024-02-29"), ("2026-12-31", 12, "2025-12-31"), ("2026-12-31", 1, "2026-11-30"),
    ],
)  # fmt: skip
def test_months_are_those_of_the_calendar(moment: str, months: int, before: str) -> None:
    day = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert months_before(day, months).date().isoformat() == before
