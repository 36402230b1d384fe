"""The paper's Tables 3 to 7 and correlations as printed, below the rows of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from caretbench.suites.codevbench.scenario_names import CLASSES, SCENARIOS
from caretbench.suites.codevbench.tables.printed_numbers import (
    OTHER_SAMPLES,
    SAMPLES,
    PrintedRates,
    printed_averages,
    printed_correlations,
    printed_rates,
)
from caretbench.suites.codevbench.tables.rate_tables import CLASS_TABLE, CORRELATION_TABLE, SCENARIO_TABLE
from caretbench.suites.suite_types import Table

_OTHER_PROBLEMS: Final = (
    "Printed: the paper's problems of ten Python repositories, which are not public. This run has other problems, so "
    "that rows are no comparison of models."
)


def printed_tables(results: Sequence[Table]) -> tuple[Table, ...]:
    """Return the printed tables, each with the run's own rows of the same form above.

    Args:
        results: The suite's result tables of the run.
    """
    return (_scenarios(results), *(_classes(results, *pair) for pair in zip(SAMPLES, SCENARIOS, strict=True)),
            _correlations(results))  # fmt: skip


def _own_rows(results: Sequence[Table], begin: str) -> Iterator[dict[str, str]]:
    for table in results:
        if table.name.startswith(begin):
            for row in table.rows:
                yield dict(zip(table.columns, row, strict=True))


def _scenarios(results: Sequence[Table]) -> Table:
    titles = [*SCENARIOS.values()]
    rows = [
        (f"{row['Model']} (this run)", *(row[title] for title in titles))
        for row in _own_rows(results, SCENARIO_TABLE)
        if row["Weighting"] == "average"
    ]
    rows += [(model, *(found[name] for name in SCENARIOS)) for model, found in printed_averages().items()]
    return Table("codevbench-printed-scenarios", "Table 3 as printed, next to this run", ("Model", *titles),
                 tuple(rows), (_OTHER_PROBLEMS,))  # fmt: skip


def _classes(results: Sequence[Table], table: str, scenario: str) -> Table:
    heads = [*CLASSES.values(), "Average"]
    rows = [
        (f"{row['Model']} (this run)", *(row[head] for head in heads))
        for row in _own_rows(results, f"{CLASS_TABLE}{scenario}-")
    ]
    printed = [one for one in printed_rates() if one.table == table]
    rows += [(one.model, *one.cells, _average(one)) for one in printed]
    number = table.removeprefix("table_")
    return Table(
        f"codevbench-printed-{scenario}",
        f"Table {number} as printed (scenario {SCENARIOS[scenario]}), next to this run",
        ("Model", *heads),
        tuple(rows),
        (f"{_OTHER_PROBLEMS} {_averages_note(table, printed)}",),
    )


def _average(one: PrintedRates) -> str:
    samples = SAMPLES[one.table]
    return one.average if one.follows(samples) else f"{one.average}\nthe mean of its cells is {one.mean(samples):.2f}"


def _averages_note(table: str, printed: Sequence[PrintedRates]) -> str:
    samples = SAMPLES[table]
    wrong = [one for one in printed if not one.follows(samples)]
    note = (
        f"{len(printed) - len(wrong)} of {len(printed)} averages follow from their cells, by {_counts(samples)} samples"
    )
    if wrong:
        note += f"; not those of {', '.join(one.model for one in wrong)}"
        other = OTHER_SAMPLES[table]
        fitting = ", ".join(one.model for one in wrong if one.is_counted(other))
        note += f". {_counts(other)} samples fit {fitting}"
    doubtful = ", ".join(one.model for one in printed if one.doubtful)
    return note + (f". Table 3 contradicts the row of {doubtful}." if doubtful else ".")


def _counts(samples: Sequence[int]) -> str:
    return f"{', '.join(map(str, samples))} ({sum(samples)})"


def _correlations(results: Sequence[Table]) -> Table:
    rows = [
        ("this run", row["Scenario"], row["Models"], row["Pearson"]) for row in _own_rows(results, CORRELATION_TABLE)
    ]
    count = str(len(printed_averages()))
    rows += [("as printed", SCENARIOS[name], count, f"{value:.3f}") for name, value in printed_correlations().items()]
    return Table(
        "codevbench-printed-correlation", "Correlations of Pass@1 and edit similarity, as printed",
        ("", "Scenario", "Models", "Pearson"), tuple(rows), (_OTHER_PROBLEMS,),
    )  # fmt: skip
