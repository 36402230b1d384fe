"""What asks for a change: the variants of its text."""

from __future__ import annotations

import pytest

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.suites.efcb.build.changes import change_query
from caretbench.suites.efcb.problem_metadata import QueryVariant

DESCRIPTION = "The map in net/dns/resolver.go leaks, see resolver.go.\n\nFixes #123\n"


def change(title: str = "net/dns, ipn/store: close the map", description: str = DESCRIPTION) -> PullRequest:
    return PullRequest(
        repo="owner/name",
        kind="commit",
        source="git",
        title=title,
        description=description,
        base_sha="b" * 40,
        merge_sha="a" * 40,
        merged_at="2026-08-21T20:36:59+02:00",
        files=(FileChange(path="net/dns/resolver.go", patch="@@ -1,1 +1,1 @@\n-a\n+b\n"),),
    )


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        ("description_only", "The map in net/dns/resolver.go leaks, see resolver.go."),
        (
            "title_and_description",
            "net/dns, ipn/store: close the map\n\nThe map in net/dns/resolver.go leaks, see resolver.go.",
        ),
    ],
)
def test_variants(variant: QueryVariant, text: str) -> None:
    assert change_query(change(), variant) == (variant, text)


def test_the_paper_shows_the_description_as_it_was_written() -> None:
    assert change_query(change(), "description_only", "paper").text == DESCRIPTION.strip()


def test_a_change_without_a_description_is_asked_for_by_its_title() -> None:
    assert change_query(change(description="Fixes #1"), "title_and_description").text == change().title
    assert change_query(change(description="Fixes #1"), "description_only").text == ""
