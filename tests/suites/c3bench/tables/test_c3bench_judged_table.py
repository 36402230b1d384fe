from __future__ import annotations

from typing import Any

import polars as pl

from caretbench.problem import Problem
from caretbench.suites.c3bench.tables.result_tables import (
    JOINT_JUDGED,
    judged_tables,
    model_results,
    result_tables,
    with_joint_judged,
)
from tests.support.instructed import instructed_problems


def problems() -> dict[str, Problem]:
    found = instructed_problems(20)
    return {
        f"icc/{one.id}": one.model_copy(update={"id": f"icc/{one.id}", "labels": {**one.labels, "task": "icc"}})
        for one in found
    }


def results(**models: dict[str, Any]) -> pl.DataFrame:
    """Rows of models; of forty answers the last ten fail, and values are given to those that pass."""
    rows = [
        {
            "problem_id": identity, "model": model, "parameters": "p", "sample": 0, "model_title": model, "prompt": "",
            "instruction": "shown", "policy": "clean@3", "profile": "default", "cluster": identity[:7],
            "overlap_group": None, "passed": place < 30, "followed": float(place % 2 == 0), "withheld": None,
            "judged": 1.0 if place < 30 else None,
        }
        | {name: value(place) if callable(value) else value for name, value in changes.items()}
        for model, changes in models.items()
        for place, identity in enumerate(problems())
    ]  # fmt: skip
    return pl.DataFrame(
        rows, schema_overrides={"overlap_group": pl.String, "judged": pl.Float64, "withheld": pl.String}
    )


def table(frame: pl.DataFrame) -> list[dict[str, str]]:
    found = list(judged_tables(model_results(frame, problems(), 0), "default", "clean@3"))
    return [
        {head: text.partition("\n")[0] for head, text in zip(one.columns, row, strict=True)}
        for one in found
        for row in one.rows
    ]


def test_judge_and_predicate_are_shown_side_by_side() -> None:
    [row] = table(results(m={"judged": lambda place: float(place < 20) if place < 30 else None}))
    assert row == {
        "Model": "m", "Pass@1": "75.0", "IF, predicate": "37.5", "IF, judge": "50.0",
        "IF of passed, predicate": "50.0", "IF of passed, judge": "66.7", "Judged answers": "30",
    }  # fmt: skip


def test_a_model_with_an_answer_that_was_not_judged_has_no_number() -> None:
    frame = results(m={}, n={"judged": lambda place: 1.0 if place < 29 else None}, o={"passed": False})
    assert [row["Model"] for row in table(frame)] == ["m"]
    values = with_joint_judged(frame)
    assert values.filter(pl.col("model") == "m")[JOINT_JUDGED].mean() == 0.75
    assert values.filter(pl.col("model") == "n")[JOINT_JUDGED].null_count() == 40


def test_a_judge_that_fails_its_controls_is_marked() -> None:
    frame = results(m={"withheld": "a/judge by c3-instruction@1: fails its controls"})
    [one] = judged_tables(model_results(frame, problems(), 0), "default", "clean@3")
    assert one.rows[0][3].startswith("75.0 (!)")
    assert any("c3-instruction@1: fails" in note for note in one.notes)


def test_a_run_without_a_judge_has_no_such_table() -> None:
    frame = results(m={"judged": None})
    assert table(frame) == []
    assert JOINT_JUDGED not in with_joint_judged(frame).columns
    assert with_joint_judged(frame.drop("judged")).equals(frame.drop("judged"))


def test_the_effect_of_the_instruction_is_measured_by_the_judge_too() -> None:
    both = pl.concat(
        [
            results(m={}),
            results(
                m={
                    "instruction": "none",
                    "parameters": "q",
                    "judged": lambda place: float(place < 3) if place < 30 else None,
                }
            ),
        ]
    )
    [effects] = [one for one in result_tables(both, problems(), 0) if one.name == "c3bench-instruction"]
    rows = [dict(zip(effects.columns, row, strict=True)) for row in effects.rows]
    assert [row["Measure"] for row in rows] == ["Pass@1", "ICC IF", "ICC IF, judge"]
    assert rows[2]["Difference (points)"].startswith("+67.5")
    assert [row["Verdict"] for row in rows] == ["not distinguishable", "not distinguishable", "better: shown"]
