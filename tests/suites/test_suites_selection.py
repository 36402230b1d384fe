import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites import load_suite
from caretbench.suites.selection import Selection, parse_select

DEVBENCH = load_suite("devbench")
PROBLEMS = DEVBENCH.load("starter").problems


def cell(problem):
    return problem.label("language"), problem.label("category")


@given(st.integers(1, 80), st.integers(0, 5))
def test_a_limit_spreads_a_sample_over_the_cells(limit: int, seed: int) -> None:
    chosen = Selection(limit=limit, seed=seed).apply(DEVBENCH, PROBLEMS)
    assert len(chosen) == min(limit, len(PROBLEMS))
    assert chosen == [problem for problem in PROBLEMS if problem in chosen]  # in their order
    counts = Counter(map(cell, chosen))
    full = Counter(map(cell, PROBLEMS))
    assert all(count == full[name] or count >= max(counts.values()) - 1 for name, count in counts.items())


def test_another_seed_draws_another_sample() -> None:
    samples = {tuple(p.id for p in Selection(limit=10, seed=seed).apply(DEVBENCH, PROBLEMS)) for seed in range(5)}
    assert len(samples) > 1
    assert Selection(limit=10).apply(DEVBENCH, PROBLEMS) == Selection(limit=10).apply(DEVBENCH, PROBLEMS)


def test_a_sample_holds_one_problem_of_overlapping_spans() -> None:
    together = [problem.model_copy(update={"overlap_group": "one"}) for problem in PROBLEMS[:5]]
    chosen = Selection(limit=50).apply(DEVBENCH, [*together, *PROBLEMS[5:]])
    assert sum(problem.overlap_group == "one" for problem in chosen) == 1


def test_per_cell_takes_the_first_ones_of_every_cell() -> None:
    chosen = Selection(per_cell=1).apply(DEVBENCH, PROBLEMS)
    firsts: dict[object, str] = {}
    for problem in PROBLEMS:
        firsts.setdefault(cell(problem), problem.id)
    assert [problem.id for problem in chosen] == list(firsts.values())


def test_selections_are_parsed() -> None:
    assert parse_select("language=python|java, category=api_usage") == {
        "language": ("python", "java"), "category": ("api_usage",),
    }  # fmt: skip
    chosen = Selection("language=c++,category=code_purpose_understanding").apply(DEVBENCH, PROBLEMS)
    assert {problem.id.rpartition("/")[0] for problem in chosen} == {"cpp/code_purpose"}
    with pytest.raises(ValueError, match="no problem is left"):
        Selection("mode=nothing").apply(DEVBENCH, PROBLEMS)
    with pytest.raises(ValueError, match="id nothing"):
        Selection(f"id=nothing|{PROBLEMS[0].id}").apply(DEVBENCH, PROBLEMS)


def test_a_small_sample_has_as_many_languages_as_can_be() -> None:
    for seed in range(4):
        chosen = Selection(limit=6, seed=seed).apply(DEVBENCH, PROBLEMS)
        assert len({problem.label("language") for problem in chosen}) == 6
        assert len({problem.label("category") for problem in chosen}) == 6
    cells = {cell(Selection(limit=1, seed=seed).apply(DEVBENCH, PROBLEMS)[0]) for seed in range(8)}
    assert len(cells) > 1


def test_spans_of_a_file_are_told_apart_by_their_bytes(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    house = load_suite("simcopilot")
    problems = house.load("starter").problems
    chosen = Selection(limit=len(problems)).apply(house, problems)
    places = sorted((p.splice.path, p.splice.snapshot, p.splice.start, p.splice.end) for p in chosen)
    for first, second in itertools.pairwise(places):
        assert first[:2] != second[:2] or first[3] <= second[2] or first[2:] == second[2:] == (0, 0)
    assert len(chosen) > len({problem.overlap_group for problem in problems})


def test_without_its_labels_the_first_stratum_is_the_cell() -> None:
    relabelled = [
        problem.model_copy(update={"labels": {"mode": "odd" if number % 2 else "even"}})
        for number, problem in enumerate(PROBLEMS[:8])
    ]

    class Other(type(DEVBENCH)):  # type: ignore[misc]
        strata = ("mode",)

    chosen = Selection(limit=4).apply(Other(), relabelled)
    assert Counter(problem.label("mode") for problem in chosen) == {"odd": 2, "even": 2}


def test_a_seed_without_a_limit_is_refused() -> None:
    assert Selection.from_options(None, 3, None, None) == Selection(limit=3)
    assert Selection.from_options(None, 3, None, 2) == Selection(limit=3, seed=2)
    with pytest.raises(ValueError, match="--sample-seed seeds"):
        Selection.from_options(None, None, 3, 0)
