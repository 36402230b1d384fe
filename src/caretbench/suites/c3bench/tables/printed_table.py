"""The paper's Table 2 as printed, with the averages that follow from its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Final

from caretbench.files import published_rows
from caretbench.suites.problem_means import NO_VALUE
from caretbench.suites.suite_types import Table

_FOLLOWING: Final = "instruction_following_rate"
_TENTH: Final = Decimal("0.1")
_CELLS: Final[Mapping[str, tuple[str, str]]] = {
    "ICC ES": ("task=icc", "edit_similarity"), "ICC Pass@1": ("task=icc", "pass_at_1"),
    "ICC IF": ("task=icc", _FOLLOWING), "SCC ES": ("task=scc", "edit_similarity"), "SCC IF": ("task=scc", _FOLLOWING),
    "Average IF": ("task=all", _FOLLOWING),
}  # fmt: skip
"""Part and metric of each column."""


@cache
def printed_rows() -> Mapping[str, Mapping[str, str]]:
    """Return the rows of Table 2 by model, in printed order: percentages by column, and FIM with yes or no."""
    heads = {place: head for head, place in _CELLS.items()}
    rows: dict[str, dict[str, str]] = {}
    for row in published_rows("c3bench"):
        if row["table"] == "table_2" and row["suite"] == "c3_bench":
            cells = rows.setdefault(row["model"], {"FIM": row["notes"].removeprefix("fim=").partition(";")[0]})
            cells[heads[row["subset"], row["metric"]]] = row["value"]
    return rows


def wrong_averages() -> Mapping[str, Decimal]:
    """Return the mean of the printed rates by model, where the printed average is no rounding of it."""
    wrong = {}
    for name, row in printed_rows().items():
        mean = (Decimal(row["ICC IF"]) + Decimal(row["SCC IF"])) / 2
        # Decimals, since the mean of two printed tenths may end in .05, which floats round either way. Five of 39
        # averages follow from no rounding.
        if abs(mean - Decimal(row["Average IF"])) > _TENTH / 2:
            wrong[name] = mean
    return wrong


def printed_table(results: Sequence[Table]) -> Table:
    """Return Table 2 as printed, below the rows of the run's own table in its form."""
    heads = ("Model", "FIM", *_CELLS)
    rows = []
    for table in results:
        # Columns are found by their heads: the run's table has more of them than the paper's.
        if table.name.startswith("c3bench-results-"):
            places = [table.columns.index(head) for head in heads]
            rows += [(f"{row[0]} (this run)", *(row[place] for place in places[1:])) for row in table.rows]
    wrong = wrong_averages()
    for name, cells in printed_rows().items():
        mean = f"\nthe mean of its cells is {wrong[name].quantize(_TENTH, ROUND_HALF_UP)}" if name in wrong else ""
        *others, average = (cells[head] for head in heads[1:])
        rows.append((name, *others, average + mean))
    return Table(
        "c3bench-printed",
        "Table 2 as printed, next to this run",
        heads,
        tuple(rows),
        (
            "Printed: the paper's 2,195 problems, made of HumanEval and SAFIM and never released; its judge decides "
            "about ICC. This run has other problems, so that rows are no comparison of models. "
            f"{NO_VALUE}: not known. {len(printed_rows()) - len(wrong)} of {len(printed_rows())} averages follow "
            f"from their cells; not those of {', '.join(wrong)}.",
        ),
    )
