from __future__ import annotations

import polars as pl
import pytest

from caretbench.problem import Problem
from caretbench.suites.devbench.starter import problem_of_text
from caretbench.suites.devbench.suite import memory_tables


def instance(number: int, origin: str) -> Problem:
    problem = problem_of_text("a = ⟦1⟧\n", f"python/low_context/{origin}-{number}", "made")
    labels = {"origin": origin, "scenario": f"python/low_context/{number}", "generator": "one"}
    return problem.model_copy(update={"labels": {**problem.labels, **labels}, "cluster": labels["scenario"]})


PROBLEMS = {one.id: one for number in range(20) for one in (instance(number, "original"), instance(number, "sibling"))}


def rows(model: str, rate_of_siblings: int) -> list[dict[str, object]]:
    """Every original passes, and so many of twenty siblings."""
    return [
        {
            "model_title": model, "policy": "syntax@4", "profile": "default", "problem_id": name,
            "passed": origin.startswith("original") or int(origin.split("-")[1]) < rate_of_siblings,
        }
        for name in PROBLEMS
        for origin in (name.rpartition("/")[2],)
    ]  # fmt: skip


def test_a_model_that_remembers_passes_more_originals_than_siblings() -> None:
    results = pl.DataFrame([*rows("remembers", 5), *rows("solves", 20)])
    (table,) = memory_tables(results, PROBLEMS, 0)
    remembers, solves = table.rows
    assert remembers[1:4] == ("20", "100.0%", "25.0%")
    assert remembers[4].startswith("+75.0\n")
    assert remembers[6] == "better on the originals"
    assert solves[4].startswith("+0.0")
    assert solves[6] == "not distinguishable"


def test_a_set_without_siblings_has_no_table() -> None:
    originals = {name: one for name, one in PROBLEMS.items() if one.label("origin") == "original"}
    assert memory_tables(pl.DataFrame(rows("one", 3)), originals, 0) == ()


def test_scenarios_that_belong_together_are_no_further_evidence() -> None:
    """Twenty pairs of two scenarios are two independent groups."""
    together = {
        name: one.model_copy(update={"cluster": f"half {int(name.rpartition('-')[2]) % 2}"})
        for name, one in PROBLEMS.items()
    }
    (table,) = memory_tables(pl.DataFrame(rows("remembers", 5)), together, 0)
    assert table.rows[0][6] not in {"better on the originals", "better on the siblings"}


def test_p_values_are_adjusted_for_the_models_of_the_table() -> None:
    p_value = [
        memory_tables(pl.DataFrame([row for name in names for row in rows(name, 14)]), PROBLEMS, 0)[0].rows[0][5]
        for names in (("a",), ("a", "b", "c"))
    ]
    # The three models answered alike: one question three times is no harder than once.
    assert [text.split(" ")[-1] for text in p_value] == ["(1)", "(3)"]
    assert float(p_value[1].split(" ")[0]) == pytest.approx(float(p_value[0].split(" ")[0]), abs=0.01)
