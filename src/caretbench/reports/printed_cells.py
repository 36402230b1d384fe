"""Printed cells of a paper's tables by model and crossed labels, for reports in the layout of these tables.

``names.toml`` says which printed label stands for which label of ours.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from functools import cache

from caretbench.problem import Problem
from caretbench.reports.results.paper_intervals import PrintedRate
from caretbench.reports.results.published_numbers import published_file, published_names
from caretbench.reports.strata import PRESET
from caretbench.suites.suite_types import PaperTable

_DOUBTFUL = "doubtful"
"""Status of cells that contradict others of the same paper."""


@cache
def printed_rates(suite: str) -> tuple[PrintedRate, ...]:
    """Return the printed rates of a suite's paper, in printed order; none without a table ``printed`` of its names."""
    return tuple(_rates(suite)) if suite and "printed" in published_names(suite) else ()


def printed_cells(suite: str, problems: Iterable[Problem], table: PaperTable) -> tuple[PrintedRate, ...]:
    """Return the printed cells to show in a table: those of its tables, if they are about the run's problems."""
    if not table.printed or not all(problem.id.startswith(table.printed_for) for problem in problems):
        return ()
    names = [name.removesuffix(PRESET) for name in table.labels]
    return tuple(rate for rate in printed_rates(suite) if rate.table in table.printed and [*rate.labels] == names)


def _rates(suite: str) -> Iterator[PrintedRate]:
    names = published_names(suite)["printed"]
    for row in csv.DictReader(published_file(suite).read_text("utf-8").splitlines()):
        if not row["model"] or row["suite"] != suite or row["metric"] != names["metric"] or row["status"] == _DOUBTFUL:
            continue
        printed = dict(part.split("=", 1) for part in row["subset"].split(";"))
        labels = {
            ours: names["values"].get(printed[theirs], printed[theirs])
            for theirs, ours in names["labels"].items()
            if theirs in printed
        }
        margin = float(row["margin_95"]) if row["margin_95"] else None
        yield PrintedRate(
            table=row["table"], model=row["model"], labels=labels, value=float(row["value"]), margin=margin
        )
