from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from caretbench.metrics.paired import NOT_DISTINGUISHABLE, compare
from caretbench.suites.instruction_effects import effect_table, instruction_effects

MEASURES = {"passed": "Pass@1", "followed": "Instruction"}
Value = Callable[[int, str], float | None]


def results(followed: Value, *, clusters: int = 30, models: tuple[str, ...] = ("m",), samples: int = 1) -> pl.DataFrame:
    """Rows of two problems for each cluster; all pass."""
    rows = [
        {
            "problem_id": f"p{number}", "model_title": model, "policy": "clean@3", "profile": "default",
            "instruction": mode, "cluster": f"c{number // 2}", "overlap_group": None, "sample": sample,
            "passed": True, "followed": followed(number, mode),
        }
        for model in models
        for mode in ("shown", "none")
        for number in range(2 * clusters)
        for sample in range(samples)
    ]  # fmt: skip
    rows.append(rows[0] | {"model_title": "reference", "instruction": None})
    return pl.DataFrame(rows, schema_overrides={"overlap_group": pl.String, "followed": pl.Float64})


def test_the_difference_is_paired_by_problem_and_resampled_by_cluster() -> None:
    frame = results(lambda number, mode: float(mode == "shown" or number % 4 == 0))
    passed, followed = instruction_effects(frame, MEASURES, seed=0)
    assert (followed.model, followed.measure, followed.first, followed.second) == ("m", "Instruction", "none", "shown")
    assert (followed.first_mean, followed.second_mean) == (0.25, 1.0)
    expected = compare(
        [float(number % 4 == 0) for number in range(60)], [1.0] * 60, seed=0,
        clusters=[f"c{number // 2}" for number in range(60)],
    )  # fmt: skip
    assert followed.comparison.difference == expected.difference == 0.75
    assert followed.comparison.interval.low == pytest.approx(expected.interval.low, abs=0.02)
    assert followed.verdict == "better: shown"
    assert passed.comparison.difference == 0
    assert passed.verdict == NOT_DISTINGUISHABLE


def test_no_effect_is_not_distinguishable() -> None:
    frame = results(lambda number, mode: float((number * 7 + (mode == "none")) % 3 == 0))
    [effect] = instruction_effects(frame, {"followed": "Instruction"}, seed=0)
    assert effect.verdict == NOT_DISTINGUISHABLE
    assert effect.comparison.interval.low <= 0 <= effect.comparison.interval.high


def test_p_values_are_adjusted_for_all_effects() -> None:
    frame = results(lambda number, mode: float(mode == "shown" or number % 12 > 1), models=("m", "n", "o"))
    one = instruction_effects(frame.filter(pl.col("model_title") == "m"), {"followed": "Instruction"}, seed=0)
    three = instruction_effects(frame, {"followed": "Instruction"}, seed=0)
    assert [effect.model for effect in three] == ["m", "n", "o"]
    assert (one[0].comparison.family, three[0].comparison.family) == (1, 3)
    assert three[0].comparison.p_value >= one[0].comparison.p_value - 0.005


def test_missing_values_are_in_no_pair_and_samples_are_averaged() -> None:
    frame = results(lambda number, mode: None if (number, mode) == (3, "none") else 1.0, samples=2)
    frame = frame.with_columns(
        followed=pl.when(pl.col("sample") == 1).then(0.0 * pl.col("followed")).otherwise(pl.col("followed"))
    )
    [effect] = instruction_effects(frame, {"followed": "Instruction"}, seed=0)
    assert effect.comparison.n == 59
    assert (effect.first_mean, effect.second_mean) == (0.5, 0.5)


def test_parts_of_the_problems_are_compared_apart() -> None:
    frame = results(lambda number, mode: float(mode == "shown" or number >= 30))
    parts = {
        "followed": {
            "ICC": frozenset(f"p{n}" for n in range(30)),
            "SCC": frozenset({"p40", "p41"}),
            "none": frozenset(),
        }
    }
    effects = instruction_effects(frame, MEASURES, seed=0, parts=parts)
    assert [(one.measure, one.part, one.comparison.n) for one in effects] == [
        ("Pass@1", "", 60), ("Instruction", "ICC", 30), ("Instruction", "SCC", 2),
    ]  # fmt: skip
    assert [one.comparison.difference for one in effects] == [0, 1, 0]
    table = effect_table(effects, "figure-6", "Figure 6")
    assert [row[2] for row in table.rows] == ["all", "ICC", "SCC"]


def test_the_table_has_differences_with_intervals() -> None:
    frame = results(lambda number, mode: float(mode == "shown" or number % 4 == 0))
    table = effect_table(instruction_effects(frame, MEASURES, seed=0), "figure-6", "With and without the instruction")
    passed, followed = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert followed["Compared"] == "none → shown"
    assert (followed["First"], followed["Second"]) == ("25.0%", "100.0%")
    assert followed["Difference (points)"].startswith("+75.0\n+")
    assert followed["Verdict"] == "better: shown"
    assert passed["Verdict"] == NOT_DISTINGUISHABLE
    assert "Policy" not in table.columns
    assert "2 tests" in table.notes[0]


def test_few_clusters_have_a_warning() -> None:
    frame = results(lambda number, mode: float(mode == "shown" or number % 2 == 0), clusters=3)
    table = effect_table(instruction_effects(frame, MEASURES, seed=0), "figure-6", "Figure 6")
    assert len(table.notes) > 1


def test_a_run_in_one_mode_has_no_effect() -> None:
    frame = results(lambda _number, _mode: 1.0).filter(pl.col("instruction") == "shown")
    assert instruction_effects(frame, MEASURES, seed=0) == ()
