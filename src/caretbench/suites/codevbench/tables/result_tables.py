"""All result tables of a run: in the form of the paper's Tables 2 to 7, and those that go beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from caretbench.problem import Problem
from caretbench.suites.codevbench.tables.author_table import author_tables
from caretbench.suites.codevbench.tables.data_tables import data_tables
from caretbench.suites.codevbench.tables.rate_tables import rate_tables
from caretbench.suites.codevbench.tables.result_rows import scored_runs
from caretbench.suites.codevbench.tables.scenario_tables import scenario_tables
from caretbench.suites.codevbench.tables.similarity_tables import similarity_tables
from caretbench.suites.suite_types import Table

if TYPE_CHECKING:
    import polars as pl


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run; see :class:`caretbench.suites.base.Suite.result_tables`."""
    found = list(data_tables(problems.values()))
    for run in scored_runs(results, problems, seed):
        found += [*rate_tables(run), *scenario_tables(run), *author_tables(run), *similarity_tables(run)]
    return tuple(found)
