"""Pass@1 by scenario (the paper's Table 3, in form) and by class of blocks (Tables 4 to 7), plain and weighted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.suites.codevbench.tables.parts import CLASSES, OTHER, OTHER_BLOCKS, SCENARIOS, label
from caretbench.suites.codevbench.tables.result_rows import RateEstimate, ScoredRun, few_source_notes, passed, percent
from caretbench.suites.codevbench.tables.weightings import WEIGHTING_NOTE, WEIGHTINGS
from caretbench.suites.suite_types import Table

SCENARIO_TABLE: Final = "codevbench-scenarios-"
"""Beginning of the name of the table by scenario."""
CLASS_TABLE: Final = "codevbench-classes-"
"""Beginning of the names of the tables by class of blocks; the scenario follows."""

_INTERVALS: Final = "Percentages with 95% intervals, resampled by repository."
_PRINTED_TABLES: Final = dict(zip(SCENARIOS, ("4", "5", "6", "7"), strict=True))


def rate_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield the table by scenario, one table by class for each scenario, and one for the class ``other``."""
    yield _scenario_table(run)
    for scenario in SCENARIOS:
        if any(model.select(scenario=scenario).rows for model in run.models):
            yield _class_table(run, scenario)
    other = _other_table(run)
    if other.rows:
        yield other


def _scenario_table(run: ScoredRun) -> Table:
    rows, estimates = [], []
    for model in run.models:
        parts = [model.select(scenario=scenario) for scenario in SCENARIOS]
        lines = {"average": [part.of_paper().mean(passed) for part in parts]}
        lines |= {one.title: [one.mean(part.means(passed)) for part in parts] for one in WEIGHTINGS}
        for title, line in lines.items():
            estimates += line
            rows.append((model.title, title, *map(percent, line)))
    return Table(
        f"{SCENARIO_TABLE}{run.suffix}",
        f"Pass@1 by scenario, {run.about} (the paper's Table 3, in form)",
        ("Model", "Weighting", *SCENARIOS.values()),
        tuple(rows),
        (f"{_INTERVALS} {WEIGHTING_NOTE}", *few_source_notes(estimates)),
    )


def _class_table(run: ScoredRun, scenario: str) -> Table:
    rows = []
    for model in run.models:
        part = model.select(scenario=scenario)
        cells = [part.select(block_class=name).mean(passed) for name in CLASSES]
        weighted = [one.mean(part.means(passed)) for one in WEIGHTINGS]
        rows.append((model.title, *map(percent, (*cells, part.of_paper().mean(passed), *weighted))))
    return Table(
        f"{CLASS_TABLE}{scenario}-{run.suffix}",
        f"Pass@1 by class of blocks, scenario {SCENARIOS[scenario]}, {run.about} "
        f"(the paper's Table {_PRINTED_TABLES[scenario]}, in form)",
        ("Model", *CLASSES.values(), "Average", *(one.title for one in WEIGHTINGS)),
        tuple(rows),
        (f"{_INTERVALS} {_sizes(run, scenario)} {WEIGHTING_NOTE}",),
    )


def _sizes(run: ScoredRun, scenario: str) -> str:
    """Return the numbers of problems by class, of those that any model has a verdict on."""
    seen = {
        row["problem_id"]: label(model.problems[row["problem_id"]], "block_class")
        for model in run.models
        for row in model.select(scenario=scenario).rows
        if passed(row) is not None
    }
    classes = [*seen.values()]
    counts = ", ".join(f"{title} {classes.count(name)}" for name, title in CLASSES.items())
    return f"Problems: {counts}."


def _other_table(run: ScoredRun) -> Table:
    rows = []
    for model in run.models:
        for scenario, title in SCENARIOS.items():
            part = model.select(scenario=scenario, block_class=OTHER)
            cells = [part.select(block=name).mean(passed) for name in OTHER_BLOCKS]
            if any(cells):
                rows.append((model.title, title, *map(_counted, (*cells, part.mean(passed)))))
    return Table(
        f"codevbench-other-{run.suffix}",
        f"Pass@1 of kinds of blocks that the paper does not have, {run.about}",
        ("Model", "Scenario", *OTHER_BLOCKS.values(), "Average"),
        tuple(rows),
        (_INTERVALS,),
    )


def _counted(estimate: RateEstimate | None) -> str:
    """Return an estimate as text, with its number of problems."""
    if estimate is None:
        return percent(None)
    number, line, note = estimate.percent.partition("\n")
    return f"{number} (n = {estimate.problems}){line}{note}"
