"""Changes that belong together are found by their references, titles and numbers."""

from __future__ import annotations

import pytest

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.choices.sets_of_four import ChangeReferences, PairFairness
from tests.support.efcb_programs import added


def change(title: str, description: str = "", number: int | None = None) -> PullRequest:
    return PullRequest(
        repo="owner/name", number=number, kind="squash", source="git", title=title, description=description,
        base_sha="b", merge_sha="a", merged_at="2026-08-21T20:36:59Z",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (change("a b", number=7), change("c d", "Follows #7", number=8), True),
        (change("a b", "see owner/name#8", number=7), change("c d", number=8), True),
        (change("a b", "see https://github.com/Owner/Name/pull/8"), change("c d", number=8), True),
        (change("a b", "Fixes #5"), change("c d", "Updates #5"), True),
        (change("a b", "Fixes other/name#5"), change("c d", "Updates #5"), False),
        (change("dns: move cache (part 1)"), change("dns: move cache (part 2/3)"), True),
        (change("dns: move cache"), change("dns: drop cache"), False),
        (change("bump to 1.2"), change("bump to 1.3"), True),
        (change("a b (#7)", number=7), change("c d (#8)", number=8), False),
        (change("..."), change("!!!"), False),
    ],
)
def test_changes_that_belong_together(first: PullRequest, second: PullRequest, together: bool) -> None:
    pulls = [
        pull.model_copy(update={"files": (FileChange(path="a.go", patch=added(f"step{number}()")),)})
        for number, pull in enumerate((first, second))
    ]
    fairness = PairFairness(
        [render_patch(pull) for pull in pulls], [ChangeReferences.from_pull_request(pull) for pull in pulls]
    )
    for place in range(2):
        assert fairness.related_changes(place).tolist() == ([0, 1] if together else [place])
