"""Tables about the problems: their number by repository, scenario and class of blocks (Table 2, in form)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from caretbench.problem import Problem
from caretbench.suites.codevbench.tables.author_table import AUTHORS
from caretbench.suites.codevbench.tables.parts import CLASSES, OTHER, SCENARIOS, label
from caretbench.suites.suite_types import Table

BLOCK_TABLE = "codevbench-blocks"
"""Name of the table."""


def data_tables(problems: Iterable[Problem]) -> tuple[Table, ...]:
    """Return the mean number of problems of a repository by scenario and class of blocks."""
    known = list(problems)
    repositories = len({problem.cluster for problem in known})
    counts = Counter((label(problem, "block_class"), label(problem, "scenario")) for problem in known)
    rows = tuple(_rows(counts, repositories)) if repositories else ()
    authors = Counter(label(problem, "tests_by") for problem in known)
    others = ", ".join(
        f"{authors[name]} by tests of {AUTHORS[name].lower()}" for name in ("user", "model") if authors[name]
    )
    return (
        Table(
            BLOCK_TABLE,
            "Problems per repository (the paper's Table 2, in form)",
            ("Block", *SCENARIOS.values()),
            rows,
            (
                f"Means over {repositories} repositories; the number of problems in brackets.",
                *([f"Decided {others} alone."] if others else []),
            ),
        ),
    )


def _rows(counts: Counter[tuple[str, str]], repositories: int) -> Iterator[tuple[str, ...]]:
    titles = {**CLASSES, OTHER: "Other"}
    for name, title in titles.items():
        yield title, *_cells([counts[name, scenario] for scenario in SCENARIOS], repositories)
    totals = [sum(counts[name, scenario] for name in titles) for scenario in SCENARIOS]
    yield "All", *_cells(totals, repositories)


def _cells(numbers: Sequence[int], repositories: int) -> list[str]:
    return [f"{number / repositories:.1f} ({number})" for number in numbers]
