"""The paper's Table 2 as printed, with the averages that follow from its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Final, NamedTuple

from caretbench.files import published_rows
from caretbench.suites.problem_means import NO_VALUE
from caretbench.suites.suite_types import Table

_TABLE: Final = "table_2"
_FOLLOWING: Final = "instruction_following_rate"
_TENTH: Final = Decimal("0.1")


class PrintedRow(NamedTuple):
    """Row of Table 2 as printed: one model. ``fim`` is yes or no; cells are percentages."""

    model: str
    fim: str
    icc_similarity: str
    icc_passed: str
    icc_followed: str
    scc_similarity: str
    scc_followed: str
    average: str

    @property
    def mean(self) -> Decimal:
        """Mean of the two printed rates of instruction following."""
        return (Decimal(self.icc_followed) + Decimal(self.scc_followed)) / 2

    @property
    def average_follows(self) -> bool:
        """True if the printed average is the mean of the printed rates, rounded up or down."""
        # Decimals, since the mean of two printed tenths may end in .05, which floats round either way. Five of 39
        # averages follow from no rounding.
        return abs(self.mean - Decimal(self.average)) <= _TENTH / 2


@cache
def printed_rows() -> tuple[PrintedRow, ...]:
    """Return the rows of Table 2 in printed order."""
    cells: dict[str, dict[tuple[str, str], str]] = {}
    fim: dict[str, str] = {}
    for row in published_rows("c3bench"):
        if row["table"] == _TABLE and row["suite"] == "c3_bench":
            cells.setdefault(row["model"], {})[row["subset"].removeprefix("task="), row["metric"]] = row["value"]
            fim[row["model"]] = row["notes"].removeprefix("fim=").partition(";")[0]
    return tuple(_row(model, fim[model], cell) for model, cell in cells.items())


def _row(model: str, fim: str, cells: Mapping[tuple[str, str], str]) -> PrintedRow:
    return PrintedRow(
        model, fim, cells["icc", "edit_similarity"], cells["icc", "pass_at_1"], cells["icc", _FOLLOWING],
        cells["scc", "edit_similarity"], cells["scc", _FOLLOWING], cells["all", _FOLLOWING],
    )  # fmt: skip


def printed_table(results: Sequence[Table]) -> Table:
    """Return Table 2 as printed, below the rows of the run's own table in its form."""
    heads = ("Model", "FIM", "ICC ES", "ICC Pass@1", "ICC IF", "SCC ES", "SCC IF", "Average IF")
    rows = []
    for table in results:
        # Columns are found by their heads: the run's table has more of them than the paper's.
        if table.name.startswith("c3bench-results-"):
            places = [table.columns.index(head) for head in heads]
            rows += [(f"{row[0]} (this run)", *(row[place] for place in places[1:])) for row in table.rows]
    for one in printed_rows():
        mean = one.mean.quantize(_TENTH, ROUND_HALF_UP)
        average = one.average if one.average_follows else f"{one.average}\nthe mean of its cells is {mean}"
        rows.append((*one[:-1], average))
    doubtful = [one.model for one in printed_rows() if not one.average_follows]
    return Table(
        "c3bench-printed",
        "Table 2 as printed, next to this run",
        heads,
        tuple(rows),
        (
            "Printed: the paper's 2,195 problems, made of HumanEval and SAFIM and never released; its judge decides "
            "about ICC. This run has other problems, so that rows are no comparison of models. "
            f"{NO_VALUE}: not known. {len(printed_rows()) - len(doubtful)} of {len(printed_rows())} averages follow "
            f"from their cells; not those of {', '.join(doubtful)}.",
        ),
    )
