from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caretbench.people.study_statistics.item_halves import item_halves


@given(st.dictionaries(st.text(max_size=5), st.sampled_from("abc"), max_size=40), st.integers(0, 9))
def test_every_item_is_in_one_half_and_strata_are_even(strata: dict[str, str], seed: int) -> None:
    chosen, reported = item_halves(strata, seed=seed)
    assert sorted([*chosen, *reported]) == sorted(strata)
    assert abs(len(chosen) - len(reported)) <= 1
    for stratum in set(strata.values()):
        sizes = [sum(strata[item] == stratum for item in half) for half in (chosen, reported)]
        assert abs(sizes[0] - sizes[1]) <= 1


def test_a_seed_gives_the_same_halves() -> None:
    strata = {str(number): "x" for number in range(20)}
    assert item_halves(strata, seed=1) == item_halves(strata, seed=1)
    assert item_halves(strata, seed=1) != item_halves(strata, seed=2)
