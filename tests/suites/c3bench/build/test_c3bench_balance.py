"""Balanced choice: even parts, the same for the same seed, whatever the order."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.c3bench.build.scale_middles import balanced_choice

ITEMS = [f"{kind}{number}" for kind, count in (("a", 40), ("b", 7), ("c", 2)) for number in range(count)]


def chosen(items: list[str], limit: int | None, seed: int = 0) -> list[str]:
    return balanced_choice(items, limit, str, (lambda one: one[0],), seed)


@given(st.integers(0, 60), st.integers(0, 5), st.permutations(ITEMS))
def test_parts_differ_by_what_the_supply_lacks_alone(limit: int, seed: int, items: list[str]) -> None:
    found = chosen(items, limit, seed)
    assert found == chosen(ITEMS, limit, seed)
    assert len(found) == len(set(found)) == min(limit, len(ITEMS))
    counts, supply = Counter(one[0] for one in found), Counter(one[0] for one in ITEMS)
    most = max(counts.values(), default=0)
    assert all(counts[name] in {most, most - 1, supply[name]} for name in supply)


def test_the_seed_changes_the_choice() -> None:
    assert chosen(ITEMS, 9, 0) != chosen(ITEMS, 9, 1)
    assert sorted(chosen(ITEMS, None)) == sorted(ITEMS)
