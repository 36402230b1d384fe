from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from caretbench.build.sources.git.patches import PatchLimits
from caretbench.build.sources.git_mining import MiningPeriod
from caretbench.build.sources.github.client import MAX_ATTEMPTS, GithubClient, decide_retry
from caretbench.build.sources.github.github_mining import mine_github, parse_diff_files
from caretbench.build.sources.pull_request import PullRequest, read_pull_requests
from caretbench.errors import DataError
from tests.support.github_server import (
    NOW,
    Fault,
    GithubServer,
    broken,
    change,
    changed_file,
    secondary,
    status,
    truncated,
    used_up,
)

TOKEN = "ghp_" + "x" * 30


class House:
    """A server, and a client whose clock stands still and whose sleeps are counted."""

    def __init__(self, server: GithubServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.out = folder / "pull_requests.jsonl"
        self.slept: list[float] = []
        self.notes: list[str] = []

    def mine(self, max_requests: int | None = None, **options: Any) -> list[PullRequest]:
        client = GithubClient(
            self.server.url, token=TOKEN, max_requests=max_requests, folder=self.folder / "answers",
            notify=self.notes.append, sleep=self.slept.append, now=lambda: NOW,
        )  # fmt: skip
        mine_github("o/r", self.out, client=client, notify=self.notes.append, **options)
        return self.records()

    def records(self) -> list[PullRequest]:
        return list(read_pull_requests([self.out]))


@pytest.fixture
def house(tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def made(*pulls: dict[str, Any], page: int = 3) -> Iterator[House]:
        with GithubServer("o/r", pulls, page=page) as server:
            yield House(server, tmp_path)

    return made


def test_merged_pull_requests_of_the_default_branch_become_records(house: Callable[..., Any]) -> None:
    pulls = [
        *(change(number) for number in range(1, 8)),
        change(20, merged_at=None), change(21, base={"ref": "old", "sha": "d" * 40}),
        change(22, user={"login": "renovate[bot]", "type": "Bot"}),
    ]  # fmt: skip
    with house(*pulls) as there:
        records = there.mine()
        assert sorted(row.number or 0 for row in records) == [*range(1, 8), 22]
        one = next(row for row in records if row.number == 3)
        assert (one.kind, one.source, one.title, one.description) == ("pull", "api", "Change 3", "It does 3.")
        assert (one.trailers_removed, one.labels, one.license) == (1, ("bug",), "MIT")
        assert one.language_stats == {"python": 0.75, "go": 0.25}
        assert one.files[0].patch.startswith("@@ -1,2 +1,3 @@")
        assert [row.number for row in records if row.is_bot] == [22]
        text = there.out.read_text()
        assert "somebody" not in text
        assert "a@b.example" not in text
        assert all(asked.headers["authorization"] == f"Bearer {TOKEN}" for asked in there.server.asked)
        assert {asked.headers["x-github-api-version"] for asked in there.server.asked} == {"2022-11-28"}


def test_what_is_there_is_not_asked_again_and_unchanged_answers_cost_nothing(house: Callable[..., Any]) -> None:
    with house(*(change(number) for number in range(1, 6))) as there:
        first = there.mine()
        asked = len(there.server.asked)
        assert there.mine() == first
        again = there.server.asked[asked:]
        assert not [one for one in again if one.path.endswith("/files")]
        assert all("if-none-match" in one.headers for one in again)
        there.server.pulls.append(change(40))
        assert {row.number for row in there.mine()} == {1, 2, 3, 4, 5, 40}


@pytest.mark.parametrize(
    ("faults", "slept"),
    [
        ([used_up(30)], [31.0]),
        ([secondary(7)], [7.0]),
        ([status(429)], None),
        ([status(502), status(503)], None),
        ([truncated(), broken()], None),
        ([Fault(200, {}, b"\xff\xfe no json")], None),
    ],
)
def test_faults_that_pass_are_waited_for(
    house: Callable[..., Any], faults: list[Fault], slept: list[float] | None
) -> None:
    with house(change(1), change(2)) as there:
        there.server.faults["/repos/o/r/pulls"] = list(faults)
        there.server.faults["/repos/o/r/pulls/2/files"] = list(faults)
        assert {row.number for row in there.mine()} == {1, 2}
        assert len(there.slept) == 2 * len(faults)
        assert slept is None or there.slept == slept * 2
        assert any("waiting" in note for note in there.notes)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(401), "GITHUB_TOKEN"),
        (status(403, "Resource not accessible"), "forbids"),
        (used_up(90_000), "run the same command again"),
        (status(404), "no such repository"),
        (status(451), "no such repository"),
    ],
)
def test_what_does_not_pass_stops_with_a_message_and_no_token(
    house: Callable[..., Any], fault: Fault, words: str
) -> None:
    with house(change(1)) as there:
        there.server.faults["/repos/o/r"] = [fault]
        with pytest.raises(DataError, match=words) as stopped:
            there.mine()
        assert TOKEN not in str(stopped.value)
        assert there.slept == []


def test_a_server_that_never_recovers_is_given_up(house: Callable[..., Any]) -> None:
    with house(change(1)) as there:
        there.server.faults["/repos/o/r/pulls"] = [status(502)] * 50
        with pytest.raises(DataError, match="in a row"):
            there.mine()
        assert len(there.slept) == MAX_ATTEMPTS - 1
        assert there.slept == sorted(there.slept)


def test_one_pull_request_that_is_gone_is_passed_over_and_not_asked_again(house: Callable[..., Any]) -> None:
    with house(change(1), change(2), change(3)) as there:
        there.server.faults["/repos/o/r/pulls/2/files"] = [status(410)]
        assert {row.number for row in there.mine()} == {1, 3}
        assert [note for note in there.notes if "o/r#2" in note and "gone" in note]
        there.mine()
        assert there.server.paths("/pulls/2/files") == ["/repos/o/r/pulls/2/files"]


def test_files_come_page_by_page_and_missing_hunks_from_the_diff(house: Callable[..., Any]) -> None:
    long = changed_file("big.py", patch=None, additions=900)
    files = [changed_file(f"f{number}.py") for number in range(4)] + [
        long, changed_file("picture.png", patch=None, additions=0, status="added"),
        changed_file("new.py", previous_filename="old.py", status="renamed"),
    ]  # fmt: skip
    with house(change(1, files), change(2, [long])) as there:
        there.server.diffs[1] = (
            "diff --git a/big.py b/big.py\nindex 1..2 100644\n--- a/big.py\n+++ b/big.py\n@@ -1 +1,2 @@\n one\n+two\n"
        )
        records = {row.number: {file.path: file for file in row.files} for row in there.mine()}
        assert len(records[1]) == 7
        assert records[1]["big.py"].patch == "@@ -1 +1,2 @@\n one\n+two"
        assert not records[1]["big.py"].truncated
        assert records[1]["picture.png"].binary
        assert records[1]["new.py"].old_path == "old.py"
        assert records[2]["big.py"].truncated
        assert records[2]["big.py"].patch == ""


def test_more_files_than_github_shows_are_noted(house: Callable[..., Any]) -> None:
    with house(change(1, [changed_file(f"f{number}.py") for number in range(3000)]), page=1000) as there:
        [record] = there.mine()
        assert record.reject_reasons == ("too_many_files",)


def test_a_budget_ends_a_run_which_then_goes_on(house: Callable[..., Any]) -> None:
    with house(*(change(number) for number in range(1, 10))) as there:
        with pytest.raises(DataError, match="--max-requests"):
            there.mine(max_requests=7)
        some = there.records()
        assert 0 < len(some) < 9
        assert len(there.server.asked) == 7
        everything = there.mine()
        assert everything[: len(some)] == some
        assert sorted(row.number or 0 for row in everything) == [*range(1, 10)]


def test_dates_and_limits_choose(house: Callable[..., Any]) -> None:
    with house(*(change(number) for number in range(1, 25))) as there:
        chosen = there.mine(period=MiningPeriod(since="2026-01-11", until="2026-01-15T00:00:00Z"))
        assert sorted(row.number or 0 for row in chosen) == [10, 11, 12, 13]
        there.out.unlink()
        assert [row.number for row in there.mine(period=MiningPeriod(limit=2))] == [24, 23]


def test_no_other_host_gets_the_token(house: Callable[..., Any]) -> None:
    with house(change(1)) as there:
        there.server.faults["/repos/o/r"] = [Fault(301, {"Location": "https://elsewhere.example/repos/o/r"})]
        with pytest.raises(DataError, match=r"elsewhere\.example, .*token"):
            there.mine()
        there.server.faults["/repos/o/r"] = [Fault(301, {"Location": "/repos/o/r"})]
        assert len(there.mine()) == 1


@pytest.mark.parametrize("value", [{"base": {"ref": "main"}}, {"title": None}, {"head": None}, {"created_at": "soon"}])
def test_an_answer_of_another_form_is_passed_over(house: Callable[..., Any], value: dict[str, Any]) -> None:
    with house(change(1), change(2, **value)) as there:
        expected = {1, 2} if value == {"title": None} else {1}
        assert {row.number for row in there.mine()} == expected


def test_every_wait_is_bounded_and_grows() -> None:
    draw = random.Random(1)  # noqa: S311
    for code in (403, 429):
        waits = [
            decide_retry(code, httpx.Headers(), "secondary rate limit", attempt, NOW, draw)
            for attempt in range(1, MAX_ATTEMPTS + 1)
        ]
        assert [step.action for step in waits] == ["wait"] * (MAX_ATTEMPTS - 1) + ["stop"]
        assert all(60 <= step.wait_s <= 4000 for step in waits[:-1])
    assert decide_retry(403, httpx.Headers({"Retry-After": "99999"}), "", 1, NOW, draw).action == "stop"
    assert decide_retry(403, httpx.Headers({"retry-after": "soon"}), "rate limit", 1, NOW, draw).action == "wait"


def test_a_diff_gives_its_files() -> None:
    text = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-diff --git a b\n+++ b/no\n"
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
    )
    found = parse_diff_files(text, PatchLimits())
    assert set(found) == {"x.py", "new"}
    assert (found["x.py"].additions, found["x.py"].deletions) == (1, 1)
    assert (found["new"].status, found["new"].old_path) == ("renamed", "old")


_KILLED = """
import sys
from pathlib import Path
from caretbench.build.sources.github.client import GithubClient
from caretbench.build.sources.github.github_mining import mine_github
out = Path(sys.argv[2])
client = GithubClient(sys.argv[1], token="", folder=out.parent / "answers")
mine_github("o/r", out, client=client, progress=lambda step, added, total: print(added, flush=True))
"""


def test_a_killed_run_goes_on_without_a_duplicate(house: Callable[..., Any]) -> None:
    with house(*(change(number) for number in range(1, 31))) as there:
        for wanted in (2, 5, 9):
            command = [sys.executable, "-c", _KILLED, there.server.url, str(there.out)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                seen = 0
                for line in process.stdout:
                    seen += int(line)
                    if seen >= wanted:
                        process.kill()
                        break
            assert seen >= wanted
        records = there.mine()
        numbers = [row.number for row in records]
        assert sorted(numbers) == [*range(1, 31)]
        assert len(set(numbers)) == 30
        assert json.loads((there.folder / "github_cursor.json").read_text())
