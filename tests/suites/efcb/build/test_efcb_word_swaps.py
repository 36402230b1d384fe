"""Patches with two words exchanged, as the paper makes its wrong choices."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.choices.gmcq_hard import word_swaps
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.efcb_programs import PROGRAMS, added, change


@settings(max_examples=30, deadline=None)
@given(st.integers(), st.sampled_from(sorted(PROGRAMS)))
def test_words_are_exchanged_as_the_paper_says(seed: int, path: str) -> None:
    rendered = render_patch(change((path, added(PROGRAMS[path])), ("b.txt", "@@ -1,2 +1,1 @@\n one two\n-three four")))
    texts = word_swaps(rendered, seeded_random(seed, "test", ""), 3)
    assert len({*texts, rendered.text}) == 4
    gold = rendered.text
    for text in texts:
        assert sorted(text.split()) == sorted(gold.split()) or sorted(text) == sorted(gold)
        assert len(text) == len(gold)
        changed = [(old, new) for old, new in zip(gold.split("\n"), text.split("\n"), strict=True) if old != new]
        assert len(changed) in {1, 2}
        assert all(old[0] == new[0] and old[0] in "+- " for old, new in changed)


def test_a_patch_with_one_word_has_no_others() -> None:
    rendered = render_patch(change(("a.txt", "@@ -1,1 +1,2 @@\n same\n+same\n+1 2")))
    assert word_swaps(rendered, seeded_random(0, "test", ""), 3) == []
