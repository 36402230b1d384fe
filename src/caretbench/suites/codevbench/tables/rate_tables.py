"""Results of one model (means by problem, plain and weighted), and pass@1 by scenario and class of blocks.

Tables 3 to 7 in form, with edit similarity next to them, and as the paper prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from caretbench.files import published_rows
from caretbench.grouping import grouped
from caretbench.metrics.correlation import Correlation, pearson, spearman
from caretbench.problem import Problem, Profile
from caretbench.profiles import profile_named
from caretbench.suites.baselines import BASELINES
from caretbench.suites.codevbench.measures import ANSWER_LINES, EMPTY_ANSWER, SIMILARITY
from caretbench.suites.codevbench.measures import answer_lines as count_lines
from caretbench.suites.codevbench.scenario_names import CLASSES, OTHER, OTHER_BLOCKS, SCENARIOS, USAGE_GROUPS, label
from caretbench.suites.problem_means import (
    NO_VALUE,
    ProblemMeans,
    RateEstimate,
    ScoreRow,
    Value,
    column,
    percent,
    problem_means,
)
from caretbench.suites.suite_types import Table

if TYPE_CHECKING:
    import polars as pl

passed: Final = column("passed")
similarity: Final = column(SIMILARITY)
answer_lines: Final = column(ANSWER_LINES)
empty_answer: Final = column(EMPTY_ANSWER)


class ModelScores(NamedTuple):
    """Rows of one model under one policy and profile."""

    title: str
    model: str
    rows: tuple[ScoreRow, ...]
    problems: Mapping[str, Problem]
    seed: int

    @property
    def is_baseline(self) -> bool:
        """True for the answers of a baseline, which no model gave."""
        return self.model in BASELINES

    def _about(self, keeps: Callable[[Problem], bool]) -> ModelScores:
        return self._replace(rows=tuple(row for row in self.rows if keeps(self.problems[row["problem_id"]])))

    def select(self, **labels: str) -> ModelScores:
        """Return the rows about problems with these labels."""
        return self._about(lambda problem: all(label(problem, name) == value for name, value in labels.items()))

    def of_paper(self) -> ModelScores:
        """Return the rows about the paper's classes of blocks."""
        return self._about(lambda problem: label(problem, "block_class") in CLASSES)

    def means(self, value: Value) -> ProblemMeans:
        """Return the means of a value by problem, in order of their ids; rows without a number do not count."""
        return problem_means(self.rows, self.problems, value, self.seed)

    def mean(self, value: Value) -> RateEstimate | None:
        """Return the mean of a value over problems; None without any."""
        return self.means(value).mean()


class ScoredRun(NamedTuple):
    """Results of all models under one policy and profile."""

    profile: str
    policy: str
    models: tuple[ModelScores, ...]

    @property
    def suffix(self) -> str:
        """End of the names of its tables."""
        return f"{self.profile}-{self.policy}"

    @property
    def about(self) -> str:
        """Profile and policy, for titles."""
        return f"{self.profile} profile, policy {self.policy}"


def few_source_notes(estimates: Sequence[RateEstimate | None]) -> tuple[str, ...]:
    """Return the warnings of intervals, each once."""
    warnings = dict.fromkeys(estimate.interval.warning for estimate in estimates if estimate is not None)
    return tuple(f"Intervals: {warning}." for warning in warnings if warning and "cluster" in warning)[:1]


def scored_runs(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> Iterator[ScoredRun]:
    """Yield the results by profile and policy; rows about problems that are not there do not count."""
    groups = grouped(
        ((row["profile"], row["policy"], row.get("model_title") or row["model"], row["model"]), row)
        for row in results.iter_rows(named=True)
        if row["problem_id"] in problems
    )
    ordered = sorted(groups, key=lambda key: key[:2])
    for (profile, policy), keys in groupby(ordered, key=lambda key: key[:2]):
        models = tuple(
            ModelScores(title, model, tuple(groups[profile, policy, title, model]), problems, seed)
            for _, _, title, model in keys
        )
        yield ScoredRun(profile, policy, models)


@cache
def _printed_rows() -> tuple[Mapping[str, str], ...]:
    return tuple(published_rows("codevbench"))


def _subset(row: Mapping[str, str]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in row["subset"].split(";"))


_OTHER_PROBLEMS: Final = (
    "Printed: the paper's problems of ten Python repositories, which are not public. A run has other problems, so that "
    "its rates are no comparison of models."
)


def printed_tables() -> tuple[Table, ...]:
    """Return Tables 3 to 7 and the correlations, as printed."""
    by_title: dict[str, dict[str, dict[str, str]]] = {}
    for row in _printed_rows():
        labels = _subset(row)
        if "scenario" in labels and row["table"] != "table_2":
            scenario, block = [*SCENARIOS.values()][int(labels["scenario"]) - 1], labels.get("block", "all")
            # A table of one scenario has its classes as columns, with the average as the last one.
            by_class = row["table"] not in ("table_3", "appendix_c")
            head = CLASSES.get(block, "Average") if by_class else scenario
            title = f"{row['table'].replace('_', ' ').capitalize()} as printed" + (
                f" (scenario {scenario})" if by_class else ""
            )
            by_title.setdefault(title, {}).setdefault(row["model"] or "Pearson's r", {})[head] = row["value"]
    return tuple(
        Table(f"codevbench-printed-{number}", title, ("Model", *next(iter(rows.values()))),
              tuple((model, *cells.values()) for model, cells in rows.items()), (_OTHER_PROBLEMS,))
        for number, (title, rows) in enumerate(by_title.items(), 3)
    )  # fmt: skip


@cache
def usage_shares(subject: str) -> Mapping[str, float]:
    """Return the printed shares of usage in percent: of kinds of ``block``, of ``lines``, or of text ``typed``."""
    shares = {}
    for row in _printed_rows():
        if row["metric"] == "usage_share" and subject in (labels := _subset(row)):
            shares[labels[subject]] = float(row["value"])
    return shares


class Weighting(NamedTuple):
    """Weighting of problems: title, group of a problem, and weights of the groups that a set of problems has."""

    title: str
    group: Callable[[Problem], str | None]
    weights: Callable[[ProblemMeans], Mapping[str, float]]

    def mean(self, means: ProblemMeans) -> RateEstimate | None:
        """Return the weighted mean; None if no problem has a weight."""
        return means.weighted(self.group, self.weights(means))


def usage_group(problem: Problem) -> str | None:
    """Return the group of a problem in the paper's usage data; None if it has no printed share."""
    return USAGE_GROUPS.get(label(problem, "block"))


def _kind(problem: Problem) -> str | None:
    return label(problem, "block") or None


WEIGHTINGS: Final = (
    Weighting("usage", usage_group, lambda _means: usage_shares("block")),
    Weighting("macro", _kind, lambda means: {kind: 1.0 for kind in map(_kind, means.problems) if kind is not None}),
)

WEIGHTING_NOTE: Final = (
    "Average: all problems of the classes in the paper alike, as printed. usage: kinds of blocks by their shares of "
    "the printed usage data (statements, control logic, functions, comments; argument lists and parts of lines have no "
    "printed share and do not count). macro: each kind of block alike. Kinds without problems are omitted."
)
"""Explanation of the weightings below tables."""


SCENARIO_TABLE: Final = "codevbench-scenarios-"
"""Beginning of the name of the table by scenario."""
CLASS_TABLE: Final = "codevbench-classes-"
"""Beginning of the names of the tables by class of blocks; the scenario follows."""

INTERVALS: Final = "Percentages with 95% intervals, resampled by repository."
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
        selections = [model.select(scenario=scenario) for scenario in SCENARIOS]
        lines = {"average": [scores.of_paper().mean(passed) for scores in selections]}
        for weighting in WEIGHTINGS:
            lines[weighting.title] = [weighting.mean(scores.means(passed)) for scores in selections]
        for title, line in lines.items():
            estimates += line
            rows.append((model.title, title, *map(percent, line)))
    return Table(
        f"{SCENARIO_TABLE}{run.suffix}",
        f"Pass@1 by scenario, {run.about} (the paper's Table 3, in form)",
        ("Model", "Weighting", *SCENARIOS.values()),
        tuple(rows),
        (f"{INTERVALS} {WEIGHTING_NOTE}", *few_source_notes(estimates)),
    )


def _class_table(run: ScoredRun, scenario: str) -> Table:
    rows = []
    for model in run.models:
        scores = model.select(scenario=scenario)
        cells = [scores.select(block_class=name).mean(passed) for name in CLASSES]
        weighted = [weighting.mean(scores.means(passed)) for weighting in WEIGHTINGS]
        rows.append((model.title, *map(percent, (*cells, scores.of_paper().mean(passed), *weighted))))
    return Table(
        f"{CLASS_TABLE}{scenario}-{run.suffix}",
        f"Pass@1 by class of blocks, scenario {SCENARIOS[scenario]}, {run.about} "
        f"(the paper's Table {_PRINTED_TABLES[scenario]}, in form)",
        ("Model", *CLASSES.values(), "Average", *(weighting.title for weighting in WEIGHTINGS)),
        tuple(rows),
        (f"{INTERVALS} {_sizes(run, scenario)} {WEIGHTING_NOTE}",),
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
            scores = model.select(scenario=scenario, block_class=OTHER)
            cells = [scores.select(block=name).mean(passed) for name in OTHER_BLOCKS]
            if any(cells):
                rows.append((model.title, title, *map(_counted, (*cells, scores.mean(passed)))))
    return Table(
        f"codevbench-other-{run.suffix}",
        f"Pass@1 of kinds of blocks that the paper does not have, {run.about}",
        ("Model", "Scenario", *OTHER_BLOCKS.values(), "Average"),
        tuple(rows),
        (INTERVALS,),
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
            scores = model.select(scenario=scenario)
            if scores.rows:
                lines = scores.mean(answer_lines)
                references = reference_lines(scores, profile_named(run.profile)).values()
                yield (
                    model.title, title, percent(scores.mean(passed)), percent(scores.mean(similarity)),
                    NO_VALUE if lines is None else f"{lines.value:.1f}", f"{sum(references) / len(references):.1f}",
                )  # fmt: skip


def reference_lines(scores: ModelScores, profile: Profile) -> dict[str, int]:
    """Return the lines of the references of a model's problems by id, counted as those of answers."""
    names = sorted({row["problem_id"] for row in scores.rows})
    return {name: count_lines(scores.problems[name].reference, profile) for name in names}


class ScenarioPoint(NamedTuple):
    """Pass@1 and edit similarity of a model in one scenario."""

    model: str
    passed: float
    similarity: float


def scenario_points(run: ScoredRun, scenario: str, *, baselines: bool = False) -> list[ScenarioPoint]:
    """Return the points of the models with both numbers in a scenario, without baselines unless they are wanted."""
    points = []
    for model in run.models:
        if model.is_baseline and not baselines:
            continue
        chosen = model.select(scenario=scenario)
        rate, likeness = chosen.mean(passed), chosen.mean(similarity)
        if rate is not None and likeness is not None:
            points.append(ScenarioPoint(model.title, rate.value, likeness.value))
    return points


def _correlation_table(run: ScoredRun) -> Table:
    rows = []
    for scenario, title in SCENARIOS.items():
        points = scenario_points(run, scenario)
        series = [point.passed for point in points], [point.similarity for point in points]
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


def _coefficient(value: Correlation | None) -> tuple[str, str]:
    return (NO_VALUE, NO_VALUE) if value is None else (f"{value.coefficient:.3f}", f"{value.p_value:.3f}")
