"""The summary of a run: every number that the terminal, the exports and the page show, in one JSON-able value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from pydantic import Field, JsonValue

from caretbench.metrics.intervals import RESAMPLES
from caretbench.problem import Problem
from caretbench.reports.asked import context_titles, differences, settings_of
from caretbench.reports.estimates import (
    Correlation,
    Estimate,
    Reported,
    SimilarityColumn,
    correlate,
    fold_problems,
    pass_estimates,
    similarity_columns,
    similarity_estimates,
)
from caretbench.reports.frame import BASELINES, GROUP, metric_columns
from caretbench.reports.judged.answer_numbers import AnswersJudged
from caretbench.reports.judged.answers import control_warnings, coverage_warnings
from caretbench.reports.judged.numbers import NOT_VALIDATED, Judged
from caretbench.reports.left_out import LeftOut, find_left_out
from caretbench.reports.own_tables import OwnTable
from caretbench.reports.sections.best_of import BestOf, best_of_steps
from caretbench.reports.sections.discordant import DiscordantCase, discordant_cases
from caretbench.reports.sections.errors import ErrorColumn
from caretbench.reports.sections.flags import Flagged, flagged_passes
from caretbench.reports.sections.printed import Form, forms_of, printed_estimates
from caretbench.reports.sections.usage import ModelUsage
from caretbench.reports.strata import SEPARATOR, Stratum, decided, strata_of, stratum_name
from caretbench.suites.values import ORDINARY, Stratification

STRATUM_RESAMPLES = 2000
"""Bootstrap resamples for a stratum's interval, of which a run has hundreds; whole columns get the full number."""

COVERAGE_WANTED = 0.98
"""Below this share of verdicts a run has failed (docs/verbs.md)."""


class Cell(Reported):
    """The numbers of one part of the problems: all of them, a language, a category in a language, ..."""

    labels: Mapping[str, str] = Field(default_factory=dict)
    order: tuple[int, ...] = ()
    """Its place among the cells of its stratum, where their names alone do not tell."""
    problems: int
    left_out: int
    pass_at: Mapping[int, Estimate]
    if_left_out_failed: float | None = None
    if_left_out_passed: float | None = None
    similarity: Mapping[str, Estimate] = Field(default_factory=dict)
    printed: Mapping[str, Estimate] = Field(default_factory=dict)
    """pass@1 with the intervals that a paper prints, by method, where the suite wants them."""

    @property
    def name(self) -> str:
        """The labels' values in one text; ``all`` where there are none."""
        return " / ".join(self.labels.values()) or "all"


class Column(Reported):
    """Everything about one model with one set of parameters, under one policy and one profile."""

    model: str
    parameters: str
    policy: str
    profile: str
    title: str
    baseline: bool
    samples: int
    completions: int
    verdicts: int
    expected: int
    coverage: float | None
    overall: Cell
    strata: Mapping[str, tuple[Cell, ...]]
    strata_notes: Mapping[str, str] = Field(default_factory=dict)
    """How numbers were cut, and which parts overlap, by stratum."""
    valid: Cell | None = None
    net_of_empty: Cell | None = None
    passed_by_empty: int = 0
    statuses: Mapping[str, int] = Field(default_factory=dict)
    similarity_titles: Mapping[str, str] = Field(default_factory=dict)
    correlation: Correlation | None = None


class Summary(Reported):
    """A run in numbers. Rates, similarities and coverage run from 0 to 1."""

    schema_version: int = 1
    suite: str
    run: str
    seed: int
    problems: int
    verdicts: Mapping[str, int] = Field(default_factory=dict)
    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = ()
    discordant: tuple[DiscordantCase, ...] = ()
    discordant_totals: Mapping[str, int] = Field(default_factory=dict)
    usage: tuple[ModelUsage, ...] = ()
    """What the answers took, of the models that were asked here."""
    judged: tuple[Judged, ...] = ()
    """What the judges said, by criterion."""
    answers: tuple[AnswersJudged, ...] = ()
    """What the judges said of answers to questions, by criterion."""
    best_of: tuple[BestOf, ...] = ()
    """The paper's best of three, of models that were scored under its three steps."""
    errors: tuple[ErrorColumn, ...] = ()
    """How answers went wrong, by model; empty where nobody looked."""
    flagged: tuple[Flagged, ...] = ()
    """Passes under suspicion, and the rates without them; empty where a run has no flags."""
    own: tuple[OwnTable, ...] = ()
    """The suite's own tables of results."""
    warnings: tuple[str, ...] = ()
    """Why a number is not to be believed."""
    main: str = "language / category"
    """The stratum by which policies are set side by side."""
    heat_maps: tuple[str, ...] = ("language / category",)
    forms: tuple[Form, ...] = ()
    """The paper's tables of results, in form."""
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, JsonValue] = Field(default_factory=dict)


def summarise(
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    manifest: Mapping[str, Any],
    *,
    run: str = "",
    usage: Sequence[ModelUsage] = (),
    judged: Sequence[Judged] = (),
    answers: Sequence[AnswersJudged] = (),
    discordant_limit: int = 40,
    stratification: Stratification = ORDINARY,
    errors: Sequence[ErrorColumn] = (),
    own: Sequence[OwnTable] = (),
) -> Summary:
    """Summarise a run.

    Args:
        frame: The table of :func:`caretbench.reports.frame.build_frame`.
        problems: The problems that the run was about; those without any row lower the coverage.
        manifest: The run's manifest; ``seed`` seeds the bootstrap, ``left_out`` names problems by cause.
        run: The run's name.
        usage: What the answers took (:func:`caretbench.reports.sections.usage.model_usage`).
        judged: What the judges said (:func:`caretbench.reports.judged.carets.judged_sections`).
        answers: What they said of answers to questions (:func:`caretbench.reports.judged.answers.answers_judged`).
        discordant_limit: How many discordant cases to list of each kind; their total is always given.
        stratification: By which labels, and by which of them at once.
        errors: How answers went wrong (:func:`caretbench.reports.sections.errors.error_columns`).
        own: The suite's own tables (:func:`caretbench.reports.own_tables.own_tables`).

    Returns:
        One column per model, parameters, policy and profile: models first, then baselines.
    """
    seed = int(manifest.get("seed") or 0)
    left_out = find_left_out(frame, problems, manifest)
    # What is only judged has no part in rates; the suite's own tables break it down.
    parted = [problem for problem in problems if decided(problem)] if own else problems
    strata = {
        profile: strata_of(parted, profile, stratification) for profile in frame["profile"].unique().to_list()
    }
    main = stratum_name(stratification.main)
    policies = [str(manifest.get("policy")), *map(str, manifest.get("further_policies") or ())]
    columns = tuple(
        _column(
            group,
            frame,
            problems,
            left_out,
            seed,
            _wanted(group, strata, policies, stratification),
            similar=not own,  # a suite with tables of its own shows what it measures there
        )
        for group in sorted(frame.partition_by(*GROUP), key=lambda group: _group_order(group, policies))
    )
    titles = context_titles(manifest, [(column.model, column.parameters) for column in columns])
    columns = tuple(
        column.model_copy(update={"title": titles.get((column.model, column.parameters), column.title)})
        for column in columns
    )
    there = {name for column in columns for name in column.strata}
    forms = tuple(forms_of(stratification.paper_tables, there))
    if stratification.printed_intervals:
        columns = tuple(_with_printed(column, main, forms, seed) for column in columns)
    cases = discordant_cases(frame.filter(~pl.col("model").is_in(BASELINES)), discordant_limit)
    verdicts = dict(
        frame.unique("problem_id")
        .filter(pl.col("verdict").is_not_null())["verdict"]
        .value_counts()
        .sort("verdict")
        .iter_rows()
    )
    suite = manifest.get("suite") or (problems[0].suite if problems else "")
    return Summary(
        suite=str(suite),
        run=run,
        seed=seed,
        problems=len(problems),
        verdicts=verdicts,
        columns=columns,
        left_out=left_out,
        discordant=cases.listed,
        discordant_totals=cases.totals,
        usage=tuple(usage),
        judged=tuple(judged),
        answers=tuple(answers),
        best_of=tuple(best_of_steps(frame, left_out, seed)),
        errors=tuple(errors),
        flagged=tuple(flagged_passes(frame, left_out, _titles(columns), seed)),
        own=tuple(own),
        main=main,
        heat_maps=tuple(map(stratum_name, stratification.heat_maps)),
        forms=forms,
        warnings=(*_warnings(columns), *coverage_warnings(answers), *control_warnings(answers)),
        notes=(*_asked_twice(columns, manifest), *_notes(columns), *_judge_notes((*judged, *answers))),
        manifest=dict(manifest),
    )


def _wanted(
    group: pl.DataFrame,
    strata: Mapping[str, Sequence[Stratum]],
    policies: Sequence[str],
    stratification: Stratification,
) -> Sequence[Stratum]:
    """All strata; of a further policy those alone by which it is set beside the first."""
    found = strata[str(group["profile"][0])]
    if group["policy"][0] not in policies[1:]:
        return found
    return [stratum for stratum in found if set(stratum.name.split(SEPARATOR)) <= set(stratification.main)]


def _with_printed(column: Column, main: str, forms: Sequence[Form], seed: int) -> Column:
    """The column with the intervals that papers print, where one sample a problem gives them a meaning."""
    if column.samples != 1:
        return column

    def printed(cell: Cell, *, all_three: bool) -> Cell:
        rate = cell.pass_at.get(1)
        if rate is None:
            return cell
        return cell.model_copy(update={"printed": printed_estimates(rate, seed, all_three=all_three)})

    wanted = {main, *(form.stratum for form in forms)}
    strata = {
        name: tuple(printed(cell, all_three=name == main) for cell in cells) if name in wanted else cells
        for name, cells in column.strata.items()
    }
    return column.model_copy(update={"overall": printed(column.overall, all_three=True), "strata": strata})


def _group_order(group: pl.DataFrame, policies: Sequence[str]) -> tuple[object, ...]:
    model, parameters, policy, profile = (str(group[name][0]) for name in GROUP)
    rank = BASELINES.index(model) + 1 if model in BASELINES else 0
    place = policies.index(policy) if policy in policies else len(policies)
    return (profile, rank, model.lower(), parameters, place, policy)


def _column(
    group: pl.DataFrame,
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    left_out: Sequence[LeftOut],
    seed: int,
    strata: Sequence[Stratum],
    *,
    similar: bool,
) -> Column:
    model, parameters, policy, profile = (str(group[name][0]) for name in GROUP)
    excluded = {problem for entry in left_out if entry.profile == profile for problem in entry.problems}
    measured = [name for name in metric_columns(group) if group[name].count() > 0]
    known = similarity_columns(profile, measured if similar else [])
    table = fold_problems(group.with_columns(eligible=~pl.col("problem_id").is_in(list(excluded))), known)
    if not similar:  # nor is anything else of what is only judged shown here
        there = [problem.id for problem in problems if decided(problem)]
        table = table.filter(pl.col("problem_id").is_in(there))
    eligible = table.filter(pl.col("eligible"))
    samples = int(group.group_by("problem_id").agg(pl.col("sample").n_unique())["sample"].max() or 0)  # type: ignore[arg-type]
    expected = samples * sum(problem.id not in excluded for problem in problems if decided(problem))
    verdicts = int(eligible["samples"].sum())
    empty = _passed_by_empty(frame, profile)
    net = eligible.filter(~pl.col("problem_id").is_in(list(empty)))
    overall = _cell({}, table, known, profile, seed)
    believed = table.filter(pl.col("valid"))
    has_verdicts = table["valid"].count() > 0
    return Column(
        model=model,
        parameters=parameters,
        policy=policy,
        profile=profile,
        title=_title(model, parameters, frame),
        baseline=model in BASELINES,
        samples=samples,
        completions=group.height,
        verdicts=verdicts,
        expected=expected,
        coverage=verdicts / expected if expected and group["counted"].count() else None,
        overall=overall,
        strata=dict(_strata(table, known, profile, seed, strata)),
        strata_notes={stratum.name: stratum.note for stratum in strata if stratum.note},
        valid=_cell({}, believed, known, profile, seed) if has_verdicts else None,
        net_of_empty=_cell({}, net, known, profile, seed) if _has_baseline(frame, "empty", profile) else None,
        passed_by_empty=len(empty - excluded),
        statuses=dict(
            group["status"]
            .drop_nulls()
            .value_counts()
            .sort("count", "status", descending=[True, False])
            .iter_rows()
        ),
        similarity_titles={column.name: column.title for column in known},
        correlation=correlate(eligible.filter(pl.col("samples") > 0), known),
    )


def _titles(columns: Sequence[Column]) -> Mapping[tuple[str, ...], str]:
    """The titles of the models, by what makes a column; answers that no model gave cannot cheat."""
    return {
        tuple(getattr(column, name) for name in GROUP): column.title
        for column in columns
        if not column.baseline
    }


def _title(model: str, parameters: str, frame: pl.DataFrame) -> str:
    """The model's name; with a few letters of the parameter hash where the run holds it more than once."""
    several = frame.filter(pl.col("model") == model)["parameters"].n_unique() > 1
    return f"{model} ({parameters[:8]})" if several else model


def _strata(
    table: pl.DataFrame,
    known: tuple[SimilarityColumn, ...],
    profile: str,
    seed: int,
    strata: Sequence[Stratum],
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    there = set(table["problem_id"])
    for stratum in strata:
        cells = [
            _cell(part.labels, table.filter(pl.col("problem_id").is_in(list(held))), known, profile, seed)
            .model_copy(update={"order": part.order})
            for part in stratum.parts
            if (held := part.problems & there)
        ]  # fmt: skip
        if cells:
            yield stratum.name, tuple(cells)


def _cell(
    labels: Mapping[str, str],
    table: pl.DataFrame,
    known: tuple[SimilarityColumn, ...],
    profile: str,
    seed: int,
) -> Cell:
    """Pass rates over the eligible problems, similarities over all: a text needs no toolchain to be compared."""
    eligible = table.filter(pl.col("eligible"))
    resamples = STRATUM_RESAMPLES if labels else RESAMPLES
    pass_at = pass_estimates(eligible, profile, seed, resamples)
    failed, passed = None, None
    if 1 in pass_at and table.height:
        judged = pass_at[1].problems  # of the eligible ones some may lack a verdict of ours
        certain = pass_at[1].value * judged
        failed, passed = certain / table.height, (certain + table.height - judged) / table.height
    return Cell(
        labels=labels,
        problems=eligible.height,
        left_out=table.height - eligible.height,
        pass_at=pass_at,
        if_left_out_failed=failed,
        if_left_out_passed=passed,
        similarity=similarity_estimates(table, known, seed, resamples),
    )


def _has_baseline(frame: pl.DataFrame, name: str, profile: str) -> bool:
    rows = frame.filter((pl.col("model") == name) & (pl.col("profile") == profile))
    return rows["passed"].count() > 0


def _passed_by_empty(frame: pl.DataFrame, profile: str) -> set[str]:
    """Problems that an empty answer passes: they measure nothing."""
    rows = frame.filter((pl.col("model") == "empty") & (pl.col("profile") == profile) & pl.col("passed"))
    return set(rows["problem_id"])


def _warnings(columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        if column.coverage is not None and column.coverage < COVERAGE_WANTED:
            yield (
                f"{column.title} ({column.profile}): coverage {column.coverage:.1%} is below {COVERAGE_WANTED:.0%}; "
                "the run has failed, its rates are not to be believed."
            )


def _asked_twice(columns: Sequence[Column], manifest: Mapping[str, Any]) -> Iterator[str]:
    """In what the columns of one model differ, whose titles hold only a hash."""
    for first, second in pairwise(columns):
        if first.model != second.model or first.parameters == second.parameters:
            continue
        one = settings_of(manifest, first.model, first.parameters)
        other = settings_of(manifest, second.model, second.parameters)
        if one is not None and other is not None and (found := differences(one, other, clients=True)):
            yield f"{first.title} and {second.title} were asked differently: {'; '.join(found)}."


def _notes(columns: Sequence[Column]) -> Iterator[str]:
    if any(len(cells) > 1 for column in columns for cells in column.strata.values()):
        count = max(sum(len(cells) for cells in column.strata.values()) for column in columns)
        yield (
            f"Intervals hold one at a time: of {count} strata per model about one in twenty misses its value "
            "by chance. Use compare, which corrects for the number of tests (Holm), before calling strata different."
        )
    warnings = {
        estimate.warning
        for column in columns
        for estimate in column.overall.pass_at.values()
        if estimate.warning is not None
    }
    yield from sorted(warnings)


def _judge_notes(judged: Sequence[Judged | AnswersJudged]) -> Iterator[str]:
    for section in judged:
        if not section.validated:
            yield (
                f"The scores by {section.criterion} are {NOT_VALIDATED}: they are opinions of "
                f"{', '.join(grader.title for grader in section.graders)}. See how docs/judging.md validates a judge."
            )
        for grader in section.graders if isinstance(section, Judged) else ():
            if grader.in_order is False:
                yield (
                    f"{grader.title} does not rate the controls in the order that is known to be right; its scores by "
                    f"{section.criterion} measure something else than quality."
                )
