from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites import suite
from caretbench.suites.selection import Selection

DEVBENCH = suite("devbench")
PROBLEMS = DEVBENCH.load("starter").problems


def cell(problem):
    return problem.label("language"), problem.label("category")


@given(st.integers(1, 80), st.integers(0, 5))
def test_a_limit_spreads_a_sample_over_the_cells(limit: int, seed: int) -> None:
    chosen = Selection(limit=limit, seed=seed).of(DEVBENCH, PROBLEMS)
    assert len(chosen) == min(limit, len(PROBLEMS))
    assert chosen == [problem for problem in PROBLEMS if problem in chosen]  # in their order
    counts = Counter(map(cell, chosen))
    full = Counter(map(cell, PROBLEMS))
    assert all(count == full[name] or count >= max(counts.values()) - 1 for name, count in counts.items())


def test_another_seed_draws_another_sample() -> None:
    samples = {
        tuple(p.id for p in Selection(limit=10, seed=seed).of(DEVBENCH, PROBLEMS)) for seed in range(5)
    }
    assert len(samples) > 1
    assert Selection(limit=10).of(DEVBENCH, PROBLEMS) == Selection(limit=10).of(DEVBENCH, PROBLEMS)


def test_a_sample_holds_one_problem_of_overlapping_spans() -> None:
    together = [problem.model_copy(update={"overlap_group": "one"}) for problem in PROBLEMS[:5]]
    chosen = Selection(limit=50).of(DEVBENCH, [*together, *PROBLEMS[5:]])
    assert sum(problem.overlap_group == "one" for problem in chosen) == 1


def test_per_cell_takes_the_first_ones_of_every_cell() -> None:
    chosen = Selection(per_cell=1).of(DEVBENCH, PROBLEMS)
    firsts: dict[object, str] = {}
    for problem in PROBLEMS:
        firsts.setdefault(cell(problem), problem.id)
    assert [problem.id for problem in chosen] == list(firsts.values())


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(ValueError, match="no problem is left"):
        Selection("mode=nothing").of(DEVBENCH, PROBLEMS)
