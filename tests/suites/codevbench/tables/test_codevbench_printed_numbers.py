"""The paper's printed numbers, and whether its averages follow from its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from caretbench.files import published_rows
from caretbench.suites.codevbench.scenario_names import CLASSES, SCENARIOS
from caretbench.suites.codevbench.tables.rate_tables import usage_shares

PUBLISHED = list(published_rows("codevbench"))
_ALL, _DIGIT, _SLACK = "all", 0.01, 1e-9


def _subset(row: Mapping[str, str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["subset"].split(";"))


SAMPLES = {
    "table_4": (26, 77, 63, 46, 100), "table_5": (40, 139, 126, 46, 179), "table_6": (52, 154, 126, 92, 196),
    "table_7": (26, 77, 63, 46, 100),
}  # fmt: skip
"""Numbers of samples by table, in the order of :data:`CLASSES`. The paper's Table 2 has them by repository; its columns
of scenarios 2 and 3 are interchanged."""

OTHER_SAMPLES = {
    "table_5": (18, 92, 86, 13, 109), "table_6": (42, 106, 86, 48, 118),
}  # fmt: skip
"""Numbers of samples that fit rows whose averages do not follow from :data:`SAMPLES`: 318 and 400 in all."""


class PrintedRates(NamedTuple):
    """Row of one of Tables 4 to 7 as printed: rates by class of blocks, and their average, in percent."""

    table: str
    model: str
    cells: tuple[str, ...]
    average: str
    doubtful: bool

    def mean(self, samples: Sequence[int]) -> float:
        """Return the average of the cells by numbers of samples."""
        return sum(float(cell) * count for cell, count in zip(self.cells, samples, strict=True)) / sum(samples)

    def follows(self, samples: Sequence[int]) -> bool:
        """Return whether the printed average is that of the cells, to one unit of its last digit."""
        return abs(round(self.mean(samples), 2) - float(self.average)) <= _DIGIT + _SLACK

    def is_counted(self, samples: Sequence[int]) -> bool:
        """Return whether each cell is a whole number of its samples, and the average their sum, as rounded."""
        counts = [round(float(cell) * count / 100) for cell, count in zip(self.cells, samples, strict=True)]
        shares = [100 * passed / count for passed, count in zip(counts, samples, strict=True)]
        whole = 100 * sum(counts) / sum(samples)
        return all(_is_rounded(*pair) for pair in zip((*self.cells, self.average), (*shares, whole), strict=True))


def _is_rounded(printed: str, value: float) -> bool:
    return abs(float(printed) - value) <= 0.5 * 10.0 ** -len(printed.partition(".")[2]) + _SLACK


def scenario_of(number: str) -> str:
    """Return the label of a printed scenario, ``1`` to ``4``."""
    return [*SCENARIOS][int(number) - 1]


def printed_rates() -> tuple[PrintedRates, ...]:
    """Return the rows of Tables 4 to 7 in printed order."""
    return tuple(_printed_rates())


def _printed_rates() -> Iterator[PrintedRates]:
    cells: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in PUBLISHED:
        if row["table"] in SAMPLES:
            cells.setdefault((row["table"], row["model"]), {})[_subset(row)["block"]] = row
    for (table, model), found in cells.items():
        yield PrintedRates(
            table, model, tuple(found[name]["value"] for name in CLASSES), found[_ALL]["value"],
            any(row["status"] == "doubtful" for row in found.values()),
        )  # fmt: skip


def printed_averages() -> Mapping[str, Mapping[str, str]]:
    """Return the rates of Table 3: by model, then by scenario."""
    found: dict[str, dict[str, str]] = {}
    for row in PUBLISHED:
        if row["table"] == "table_3":
            found.setdefault(row["model"], {})[scenario_of(_subset(row)["scenario"])] = row["value"]
    return found


def printed_sizes() -> Mapping[tuple[str, str], str]:
    """Return Table 2, by scenario and class of blocks; the columns are in the paper's order, as printed."""
    found = {}
    for row in PUBLISHED:
        if row["table"] == "table_2":
            part = _subset(row)
            found[scenario_of(part["scenario"]), part["block"]] = row["value"]
    return found


def printed_correlations() -> Mapping[str, float]:
    """Return the printed correlations of Pass@1 and edit similarity over models, by scenario."""
    return {
        scenario_of(_subset(row)["scenario"]): float(row["value"]) for row in PUBLISHED if row["table"] == "appendix_c"
    }


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
