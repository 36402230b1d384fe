"""The paper's printed numbers, and whether its averages follow from its cells."""

from __future__ import annotations

import pytest

from caretbench.suites.codevbench.scenario_names import SCENARIOS
from caretbench.suites.codevbench.tables.printed_numbers import (
    OTHER_SAMPLES,
    SAMPLES,
    PrintedRates,
    printed_averages,
    printed_correlations,
    printed_rates,
    printed_sizes,
    usage_shares,
)

CODE_MODELS = ("Codeqwen-1.5", "Deepseek-coder-v2-lite", "Codegeex-4-9b", "Starcoder-2-7b", "Codegemma-7b")


def rows(table: str) -> list[PrintedRates]:
    return [row for row in printed_rates() if row.table == table]


def test_every_table_has_sixteen_models() -> None:
    assert [len(rows(table)) for table in SAMPLES] == [16] * 4
    assert len(printed_averages()) == 16
    assert all([*averages] == [*SCENARIOS] for averages in printed_averages().values())
    first = rows("table_4")[0]
    assert (first.model, first.cells, first.average) == (
        "GPT-4",
        ("15.38", "22.08", "12.70", "15.22", "50.00"),
        "27.56",
    )


@pytest.mark.parametrize("table", ["table_4", "table_7"])
def test_all_averages_of_tables_4_and_7_follow_from_their_cells(table: str) -> None:
    assert [row.model for row in rows(table) if not row.follows(SAMPLES[table])] == []
    assert all(row.is_counted(SAMPLES[table]) for row in rows(table))


def test_three_averages_of_table_5_and_four_of_table_6_do_not_follow() -> None:
    wrong = {
        table: {row.model: (row.average, round(row.mean(SAMPLES[table]), 2)) for row in rows(table)
                if not row.follows(SAMPLES[table])}
        for table in ("table_5", "table_6")
    }  # fmt: skip
    assert wrong == {
        "table_5": {
            "Deepseek-coder-v2-lite": ("78.62", 79.36), "Codegeex-4-9b": ("32.70", 35.7),
            "Codegemma-7b": ("77.36", 77.64),
        },
        "table_6": {
            "Deepseek-coder-v2-lite": ("3.75", 4.09), "Codegeex-4-9b": ("0.50", 0.53),
            "Starcoder-2-7b": ("0.25", 0.27), "Codegemma-7b": ("4.84", 5.02),
        },
    }  # fmt: skip


def test_these_rows_fit_318_samples_of_table_5_and_all_but_one_400_of_table_6() -> None:
    assert [sum(OTHER_SAMPLES[table]) for table in ("table_5", "table_6")] == [318, 400]
    for table, samples in OTHER_SAMPLES.items():
        wrong = [row for row in rows(table) if not row.follows(SAMPLES[table])]
        misfits = [row.model for row in wrong if not row.is_counted(samples)]
        assert misfits == ([] if table == "table_5" else ["Codegemma-7b"])


def test_general_models_have_whole_counts_of_the_full_tables() -> None:
    for table in ("table_5", "table_6"):
        general = [row for row in rows(table) if row.model not in CODE_MODELS]
        assert len(general) == 11
        assert all(row.is_counted(SAMPLES[table]) for row in general)
    uncounted = [row.model for row in rows("table_6") if not row.is_counted(SAMPLES["table_6"])]
    assert uncounted == [*CODE_MODELS]  # Codeqwen's average follows to the last digit, its cells are no counts of 620


def test_table_3_repeats_the_averages_but_for_one_row() -> None:
    differing = [
        (row.table, row.model, row.average, printed_averages()[row.model][scenario])
        for table, scenario in zip(SAMPLES, SCENARIOS, strict=True)
        for row in rows(table)
        if float(row.average) != float(printed_averages()[row.model][scenario])
    ]
    assert differing == [("table_7", "Deepseek-coder-v2-lite", "0.00", "45.19")]
    assert [row.model for row in rows("table_7") if row.doubtful] == ["Deepseek-coder-v2-lite"]


def test_sizes_by_repository_are_those_of_ten_with_two_columns_interchanged() -> None:
    order = {"full_block": "table_4", "inner_block": "table_6", "incomplete_suffix": "table_5", "rag": "table_7"}
    for place, name in enumerate(("function", "if", "for", "try", "statement")):
        for scenario, table in order.items():
            assert float(printed_sizes()[scenario, name]) == pytest.approx(SAMPLES[table][place] / 10)


def test_shares_of_usage_and_correlations() -> None:
    assert usage_shares("block") == {"statement": 68.51, "comment": 9.06, "control_logic": 6.53, "function": 5.71}
    assert usage_shares("lines") == {"whole_line": 49.31, "partial_line": 32.35}
    assert usage_shares("typed") == {"over_10_characters": 41.0, "none": 31.51}
    assert [*printed_correlations().values()] == [0.793, 0.991, 0.529, 0.822]
