"""Edit similarity and lines of answers next to Pass@1, and the correlation of both over models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from caretbench.metrics.correlation import Correlation, pearson, spearman
from caretbench.problem import Profile
from caretbench.profiles import profile_named
from caretbench.suites.codevbench.measures import answer_lines as count_lines
from caretbench.suites.codevbench.tables.parts import SCENARIOS
from caretbench.suites.codevbench.tables.result_rows import (
    NO_VALUE,
    ModelScores,
    RateEstimate,
    ScoredRun,
    answer_lines,
    passed,
    percent,
    similarity,
)
from caretbench.suites.suite_types import Table

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
