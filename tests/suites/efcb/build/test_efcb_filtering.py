"""Filters of the two profiles: which changes pass, why others do not, and in what order nothing matters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from caretbench.build.sources.pull_request import FileChange, PullRequest, read_pull_requests
from caretbench.files import DataError
from caretbench.suites.efcb.build.changes import filter_changes, reject_reasons
from caretbench.suites.efcb.problem_metadata import seeded_random

PROSE = "The old one leaks memory whenever a session ends early."


def patch(lines: int, mark: str = "x") -> str:
    return f"@@ -0,0 +1,{lines} @@\n" + "".join(f"+{mark}{number}\n" for number in range(lines))


def change(
    sha: str = "a",
    *,
    lines: int = 20,
    mark: str = "x",
    title: str = "ipn: close sessions",
    description: str = PROSE,
    **fields: object,
) -> PullRequest:
    values = {
        "repo": "owner/name",
        "kind": "squash",
        "source": "git",
        "title": title,
        "description": description,
        "base_sha": "b" * 40,
        "merge_sha": sha * 40,
        "merged_at": f"2026-08-{10 + ord(sha) % 20}T00:00:00Z",
        "files": (FileChange(path=f"{mark}.go", additions=lines, patch=patch(lines, mark)),),
    }
    return PullRequest.model_validate(values | fields)


CUT = FileChange(path="a.go", additions=20, truncated=True, patch=patch(20))
DELETES = FileChange(path="a.go", additions=4, deletions=16, patch=patch(20))


@pytest.mark.parametrize(
    ("pull", "paper", "default"),
    [
        (change(), (), ()),
        (change(lines=12), (), ()),  # path, header and dashes count
        (change(lines=11), ("too_short",), ("too_short",)),
        (change(lines=2400), ("too_long",), ("too_long",)),
        (change(description=" \n"), ("no_description",), ("no_description",)),
        (change(description="Fixes #123"), (), ("little_prose",)),
        (change(is_bot=True), (), ("bot",)),
        (change(title='Revert "ipn: close sessions"'), (), ("revert",)),
        (change(files=(CUT,)), (), ("truncated_patch",)),
        (change(files=(DELETES,)), (), ("few_added_lines",)),
        (
            change(files=(FileChange(path="go.sum", additions=20, patch=patch(20)),)),
            (),
            ("too_short", "few_added_lines"),
        ),
    ],
    ids=lambda value: None if isinstance(value, PullRequest) else ",".join(value) or "passes",
)
def test_reasons(pull: PullRequest, paper: tuple[str, ...], default: tuple[str, ...]) -> None:
    assert reject_reasons(pull, "paper") == paper
    assert reject_reasons(pull, "default") == default


def test_a_patch_of_just_the_longest_length_passes() -> None:
    def of(characters: int) -> PullRequest:
        text = patch(20)
        around = len("a.go\n") + len("---\n") + len(text) + len("+\n")
        filler = f"+{'y' * (characters - around)}\n"
        return change(files=(FileChange(path="a.go", additions=20, patch=text + filler),))

    assert reject_reasons(of(7500), "paper") == ()
    assert reject_reasons(of(7501), "paper") == ("too_long",)


def test_carriage_returns_are_not_counted() -> None:
    lines = 1240
    text = patch(lines, "").replace("\n", "\r\n")
    pull = change(files=(FileChange(path="a.go", additions=lines, patch=text),))
    assert len(text) > 7500
    assert reject_reasons(pull, "paper") == ()


def test_a_change_is_rejected_by_each_filter_that_it_fails() -> None:
    found = filter_changes([change("a"), change("b", lines=3), change("c", lines=3, description="", mark="z")], "paper")
    assert [pull.merge_sha[0] for pull in found.pulls] == ["a"]
    assert [(entry.merge_sha[0], entry.reason) for entry in found.rejected] == [
        ("c", "too_short"), ("c", "no_description"), ("b", "too_short"),
    ]  # fmt: skip


def test_a_change_that_repeats_an_earlier_one_goes() -> None:
    pulls = [change("c"), change("b"), change("d", mark="other")]
    found = filter_changes(pulls, "default")
    assert [pull.merge_sha[0] for pull in found.pulls] == ["b", "d"]
    assert [(entry.merge_sha[0], entry.reason) for entry in found.rejected] == [("c", "near_duplicate")]
    assert len(filter_changes(pulls, "paper").pulls) == 3


def test_the_same_change_twice_counts_once() -> None:
    assert len(filter_changes([change("a"), change("a")], "default").pulls) == 1
    with pytest.raises(DataError, match="with differences"):
        filter_changes([change("a"), change("a", title="another")], "default")


@pytest.fixture(scope="module")
def records(test_data: Path) -> list[PullRequest]:
    return list(read_pull_requests(sorted((test_data / "pull_requests").glob("*.jsonl.gz"))))


@pytest.mark.data
def test_on_real_records_as_many_pass_the_length_filter_as_were_counted(records: list[PullRequest]) -> None:
    left = Counter(pull.repo for pull in records if {"too_short", "too_long"}.isdisjoint(reject_reasons(pull, "paper")))
    assert left == {"tailscale/tailscale": 114, "bluesky-social/indigo": 94}
    for pull in records:
        if not reject_reasons(pull, "paper"):
            assert pull.patch_chars is not None
            assert pull.patch_chars <= 7500


@pytest.mark.data
def test_the_order_of_real_records_does_not_matter(records: list[PullRequest]) -> None:
    shuffled = seeded_random(1, "order", "records").sample(records, len(records))
    assert filter_changes(shuffled, "default") == filter_changes(records, "default")
