from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.efcb.build.changes import find_near_duplicates, line_shingles


def patch(lines: list[str]) -> str:
    return "@@ -1,9 +1,9 @@\n" + "\n".join(f"+{line}" for line in lines)


LINES = [f"value_{number} = compute({number})" for number in range(60)]


def test_a_patch_that_was_made_again_repeats_the_first() -> None:
    later = patch([*LINES[:30], "one more", *LINES[30:]])
    moved = patch(LINES).replace("@@ -1,9 +1,9 @@", "@@ -200,9 +210,9 @@ def other():").replace("\n", "  \n")
    items = {"first": patch(LINES), "moved": moved, "later": later, "other": patch(LINES[:20])}
    assert find_near_duplicates((name, line_shingles(text)) for name, text in items.items()) == {
        "moved": "first",
        "later": "first",
    }


def test_short_patches_repeat_only_themselves() -> None:
    items = {"a": "@@ -1 +1 @@\n-x\n+y", "b": "@@ -7 +7 @@\n-x\n+y", "c": "@@ -1 +1 @@\n-x\n+z", "d": "", "e": ""}
    assert find_near_duplicates((name, line_shingles(text)) for name, text in items.items()) == {"b": "a"}


@pytest.mark.parametrize(("common", "repeats"), [(8, False), (9, True)])
def test_the_index_must_lie_above_the_threshold(common: int, repeats: bool) -> None:
    first = frozenset(range(10))
    second = frozenset(range(10 - common, 10))  # a subset: the index is common / 10
    assert ("b" in find_near_duplicates([("a", first), ("b", second)])) is repeats


@given(
    sets=st.lists(st.sets(st.integers(0, 14), max_size=12), max_size=12),
    threshold=st.sampled_from([0.3, 0.5, 0.8, 0.85]),
)
def test_the_index_finds_what_comparing_all_finds(sets: list[set[int]], threshold: float) -> None:
    expected: dict[str, str] = {}
    firsts: list[int] = []
    for index, one in enumerate(sets):
        for other in firsts:
            if one and len(one & sets[other]) > threshold * len(one | sets[other]):
                expected[str(index)] = str(other)
                break
        else:
            firsts.append(index)
    given_sets = [(str(index), frozenset(one)) for index, one in enumerate(sets)]
    assert find_near_duplicates(given_sets, threshold) == expected


def test_ten_thousand_patches_take_seconds() -> None:
    chance = random.Random(1)  # noqa: S311 - texts for a test
    common = [f"}} else if (kind == {number}) {{" for number in range(40)]
    texts: list[str] = []
    for number in range(10_000):
        if number % 20 == 19:
            lines = texts[chance.randrange(number)].split("\n")[1:]
            lines.insert(chance.randrange(len(lines)), "+inserted")
            texts.append("@@ -1 +1 @@\n" + "\n".join(lines))
        else:
            own = [f"line {chance.randrange(10**6)}" for _ in range(chance.randrange(10, 80))]
            texts.append(patch([*common[chance.randrange(30) :], *own]))
    begin = time.process_time()
    found = find_near_duplicates((str(index), line_shingles(text)) for index, text in enumerate(texts))
    assert time.process_time() - begin < 30
    assert 400 < len(found) <= 500
