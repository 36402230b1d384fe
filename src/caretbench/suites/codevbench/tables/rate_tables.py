"""Pass@1 by scenario and class of blocks (Tables 3 to 7, in form), and edit similarity next to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from caretbench.metrics.correlation import Correlation, pearson, spearman
from caretbench.problem import Profile
from caretbench.profiles import profile_named
from caretbench.suites.codevbench.measures import answer_lines as count_lines
from caretbench.suites.codevbench.scenario_names import CLASSES, OTHER, OTHER_BLOCKS, SCENARIOS, label
from caretbench.suites.codevbench.tables.printed_numbers import WEIGHTING_NOTE, WEIGHTINGS
from caretbench.suites.codevbench.tables.result_rows import (
    NO_VALUE,
    ModelScores,
    RateEstimate,
    ScoredRun,
    answer_lines,
    few_source_notes,
    passed,
    percent,
    similarity,
)
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


CORRELATION_TABLE: Final = "codevbench-correlation-"
"""Beginning of the name of the table of correlations."""

FEWEST_MODELS: Final = 3
"""Minimum number of models of a correlation."""


def similarity_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield similarity and lines by model and scenario, and the correlations over models."""
    rows = tuple(_rows(run))
    if rows:
        yield Table(
            f"codevbench-similarity-{run.suffix}",
            f"Edit similarity and lines next to Pass@1, {run.about}",
            ("Model", "Scenario", "Pass@1", "ES", "Lines", "Reference's lines"),
            rows,
            (
                "ES: the normalised Indel similarity to the reference, in percent; under the profile paper of texts as "
                "they are, under default without blanks around them. Lines: means; the profile paper counts one for "
                "an empty answer.",
            ),
        )
        yield _correlation_table(run)


def _rows(run: ScoredRun) -> Iterator[tuple[str, ...]]:
    for model in run.models:
        for scenario, title in SCENARIOS.items():
            part = model.select(scenario=scenario)
            if part.rows:
                lines = part.mean(answer_lines)
                yield (
                    model.title, title, percent(part.mean(passed)), percent(part.mean(similarity)), _number(lines),
                    _mean(reference_lines(part, profile_named(run.profile))),
                )  # fmt: skip


def reference_lines(part: ModelScores, profile: Profile) -> tuple[int, ...]:
    """Return the lines of the references of a model's problems, counted as those of answers."""
    names = sorted({row["problem_id"] for row in part.rows})
    return tuple(count_lines(part.problems[name].reference, profile) for name in names)


def _mean(values: tuple[int, ...]) -> str:
    return f"{sum(values) / len(values):.1f}" if values else NO_VALUE


def _number(estimate: RateEstimate | None) -> str:
    return NO_VALUE if estimate is None else f"{estimate.value:.1f}"


class ScenarioPoint(NamedTuple):
    """Pass@1 and edit similarity of a model in one scenario."""

    model: str
    passed: float
    similarity: float


def scenario_points(run: ScoredRun, scenario: str, *, baselines: bool = False) -> list[ScenarioPoint]:
    """Return the points of the models with both numbers in a scenario, without baselines unless they are wanted."""
    found = []
    for model in run.models:
        if model.is_baseline and not baselines:
            continue
        part = model.select(scenario=scenario)
        rate, likeness = part.mean(passed), part.mean(similarity)
        if rate is not None and likeness is not None:
            found.append(ScenarioPoint(model.title, rate.value, likeness.value))
    return found


def _correlation_table(run: ScoredRun) -> Table:
    rows = []
    for scenario, title in SCENARIOS.items():
        points = scenario_points(run, scenario)
        series = [one.passed for one in points], [one.similarity for one in points]
        linear, rank = pearson(*series), spearman(*series)
        if len(points) < FEWEST_MODELS:
            remark = f"fewer than {FEWEST_MODELS} models: no correlation"
        else:
            remark = "all models have the same value: no correlation" if linear is None else ""
        rows.append((title, str(len(points)), *_coefficient(linear), *_coefficient(rank), remark))
    return Table(
        f"{CORRELATION_TABLE}{run.suffix}",
        f"Correlation of Pass@1 and edit similarity over models, {run.about} (the paper's Appendix C, in form)",
        ("Scenario", "Models", "Pearson", "p", "Spearman", "p (Spearman)", "Remark"),
        tuple(rows),
        ("Each model is one point; baselines do not count. Coefficients of few models are uncertain.",),
    )


def _coefficient(found: Correlation | None) -> tuple[str, str]:
    return (NO_VALUE, NO_VALUE) if found is None else (f"{found.coefficient:.3f}", f"{found.p_value:.3f}")
