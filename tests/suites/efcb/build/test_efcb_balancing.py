"""Balancing: ranks that tell the right choice come up equally often; what belongs together is told."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.choices.edit_pairs import balance_groups, balance_items
from caretbench.suites.efcb.build.choices.sets_of_four import ChangeReferences, PairFairness
from tests.support.efcb_programs import added

ALL = {(first, second) for first in range(4) for second in range(4)}


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(0, 5))
def test_free_items_are_even_in_every_feature(count: int, seed: int) -> None:
    chosen = balance_items({f"item {n}": ALL for n in range(count)}, seed, "t")
    for feature in range(2):
        numbers = Counter(vector[feature] for vector in chosen.values())
        assert max(numbers.values()) - min(numbers.get(value, 0) for value in range(4)) <= 1


def test_items_that_have_no_choice_are_made_up_for_by_the_others() -> None:
    ways = {f"fixed {n}": {(0,)} for n in range(5)} | {f"free {n}": {(value,) for value in range(4)} for n in range(15)}
    chosen = balance_items(ways, 0, "t")
    assert Counter(vector[0] for vector in chosen.values()) == {0: 5, 1: 5, 2: 5, 3: 5}


def test_each_group_is_even_where_all_can_be() -> None:
    ways = {f"{group}{n}": {(value,) for value in range(4)} for group in "ab" for n in range(6)}
    chosen = balance_groups(ways, {name: name[0] for name in ways}, 0, "t", 4)
    for group in "ab":
        numbers = Counter(vector[0] for name, vector in chosen.items() if name[0] == group)
        assert sorted(numbers.values()) == [1, 1, 2, 2]


def test_the_order_of_items_changes_nothing() -> None:
    ways = {f"i{n}": {(n % 3,), ((n + 1) % 4,)} for n in range(30)}
    backwards = dict(reversed(list(ways.items())))
    assert balance_items(ways, 3, "t") == balance_items(backwards, 3, "t")


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
        [render_patch(pull) for pull in pulls], [ChangeReferences.from_pull_request(pull) for pull in pulls], 0.5, 2.0
    )
    for place in range(2):
        assert fairness.related_changes(place).tolist() == ([0, 1] if together else [place])
