"""Tables of results that a suite computes itself, because its score is its own: shown as they are."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from caretbench.problem import Problem
from caretbench.reports.estimates import Reported
from caretbench.suites.base import Suite


class OwnTable(Reported):
    """A suite's table. The first line of a cell is its text, what follows is shown below it, smaller.

    ``withheld``: the reasons why numbers that were asked for are not in it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


def own_tables(
    suite: Suite, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
) -> tuple[OwnTable, ...]:
    """Return the tables of a suite; none of one that has none.

    Args:
        suite: The suite.
        results: The table of a run, with what graders said in columns of their own.
        problems: The run's problems by id.
        seed: Of intervals that are drawn.
    """
    return tuple(OwnTable(**table._asdict()) for table in suite.result_tables(results, problems, seed))
