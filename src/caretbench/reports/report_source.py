"""Source data of the sections of a report: a loaded run, and the numbers of each model under one policy and profile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from caretbench.judging.answers import plain_answer
from caretbench.metrics.intervals import RESAMPLES
from caretbench.metrics.passk import coverage
from caretbench.problem import Problem
from caretbench.profiles import profile_named, rules_of
from caretbench.reports.estimates import (
    SimilarityColumn,
    aggregate_samples,
    correlate,
    pass_estimates,
    similarity_columns,
    similarity_estimates,
)
from caretbench.reports.frame import GROUP, LoadedRun, baselines_in, metric_columns
from caretbench.reports.judged.judged_scores import judged_scores, refused_criteria
from caretbench.reports.judged.judged_texts import KEY, JudgedRun, judged_values
from caretbench.reports.judged.scores import JudgedScores
from caretbench.reports.results.answer_counts import ModelUsage, Recording, model_usage, recordings, refusals
from caretbench.reports.results.paper_intervals import paper_interval_estimates, paper_table_layouts
from caretbench.reports.results.problem_lists import (
    ExcludedProblems,
    LeadingProblems,
    excluded_ids,
    find_excluded_problems,
    lead_note,
    leading_in,
    needed_problems,
)
from caretbench.reports.results.run_settings import display_order, model_variants, variant_titles
from caretbench.reports.strata import SEPARATOR, HeadlinePart, Stratum, headline_parts, strata_of, stratum_name
from caretbench.reports.summary import ModelResults, PartResults, RateCell, SuiteTable, with_raw
from caretbench.runs.user_metrics import USER_METRIC
from caretbench.runs.verdict import has_verdicts
from caretbench.suites import suite_errors, suite_of_run
from caretbench.suites.answer_kinds import ACCEPTED_PREFIX
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Headline, Stratification, SuiteChart


def with_paper_intervals(column: ModelResults, main: str, requested: Collection[str], seed: int) -> ModelResults:
    """Return the column with the papers' intervals in the requested strata, if there is one sample per problem."""
    if column.samples != 1:
        return column

    def printed(cell: RateCell, *, all_three: bool) -> RateCell:
        rate = cell.pass_at.get(1)
        if rate is None:
            return cell
        return cell.model_copy(update={"paper_intervals": paper_interval_estimates(rate, seed, all_three=all_three)})

    strata = {
        name: tuple(printed(cell, all_three=name == main) for cell in cells) if name in requested else cells
        for name, cells in column.strata.items()
    }
    return column.model_copy(update={"overall": printed(column.overall, all_three=True), "strata": strata})


STRATUM_RESAMPLES = 2000
"""Number of bootstrap resamples for the interval of a stratum, of which a run has hundreds."""


def columns_of(
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    manifest: Mapping[str, Any],
    excluded_problems: Sequence[ExcludedProblems],
    stratification: Stratification,
    *,
    rates_only: bool = False,
) -> tuple[ModelResults, ...]:
    """Return one column per model, parameters, policy and profile: models first, then baselines.

    Args:
        frame: The table of :func:`caretbench.reports.frame.build_frame`.
        problems: Problems of the run; those without any row lower the coverage.
        manifest: The run's manifest; ``seed`` is the random seed of the bootstrap.
        excluded_problems: Problems that count in no rate.
        stratification: Labels of the breakdowns.
        rates_only: Omit similarities, and problems that are only judged, because the suite has its own tables for them.
    """
    # A problem that is only judged does not count in rates; the suite has its own tables for it.
    parted = [problem for problem in problems if has_verdicts(problem)] if rates_only else problems
    strata = {profile: strata_of(parted, profile, stratification) for profile in frame["profile"].unique().to_list()}
    policies = [str(manifest.get("policy")), *map(str, manifest.get("further_policies") or ())]
    names = variant_titles(manifest, frame.select("model", "parameters").unique().iter_rows())
    baselines = baselines_in(manifest)
    seed, suite = int(manifest.get("seed") or 0), suite_of_run(manifest.get("suite"))
    apart = headline_parts(problems, stratification)
    maker = _ColumnBuilder(frame, problems, excluded_problems, names, seed, rates_only, baselines, suite, apart)
    columns = [
        maker.column(group, _shown_strata(group, strata, policies, stratification))
        for group in frame.partition_by(*GROUP)
    ]
    if stratification.paper_intervals:
        shown = {name for column in columns for name in column.strata}
        main, forms = stratum_name(stratification.main_labels), paper_table_layouts(stratification.paper_tables, shown)
        requested = {main, *(form.stratum for form in forms)}
        columns = [with_paper_intervals(column, main, requested, maker.seed) for column in columns]

    def order(column: ModelResults) -> tuple[object, ...]:
        """Return the sort key: by profile and policy, models before baselines, the best model first."""
        number = column.headline_of(column.overall)
        score = -number.value if number is not None and not column.baseline else 0.0
        rank = policies.index(column.policy) if column.policy in policies else len(policies)
        model = display_order(manifest, column.model, column.parameters)
        return (column.profile, rank, column.policy, column.baseline, score, *model)

    return tuple(sorted(columns, key=order))


def _shown_strata(
    group: pl.DataFrame,
    strata: Mapping[str, Sequence[Stratum]],
    policies: Sequence[str],
    stratification: Stratification,
) -> Sequence[Stratum]:
    """Return all strata; for a further policy only those of the comparison of policies."""
    every = strata[str(group["profile"][0])]
    if group["policy"][0] not in policies[1:]:
        return every
    return [stratum for stratum in every if set(stratum.name.split(SEPARATOR)) <= set(stratification.main_labels)]


@dataclass(frozen=True)
class _ColumnBuilder:
    """Builder of columns, with the values that all columns of a run share."""

    frame: pl.DataFrame
    problems: Sequence[Problem]
    excluded_problems: Sequence[ExcludedProblems]
    titles: Mapping[tuple[str, str], str]
    seed: int
    rates_only: bool
    baselines: Sequence[str]
    suite: Suite | None
    apart: Sequence[HeadlinePart] = ()
    needed: dict[str, LeadingProblems] = field(default_factory=dict)
    """Problems that need an answer by profile, once they are known."""

    @cached_property
    def decided(self) -> list[Problem]:
        """Problems that have verdicts."""
        return [problem for problem in self.problems if has_verdicts(problem)]

    def column(self, group: pl.DataFrame, strata: Sequence[Stratum]) -> ModelResults:
        """Return the column of one model under one policy and profile."""
        model, parameters, policy, profile = (str(group[name][0]) for name in GROUP)
        there = self.decided
        if model in self.baselines:  # a baseline may have no answer to some problems
            answered = set(group["problem_id"])
            there = [problem for problem in there if problem.id in answered]
        excluded = excluded_ids(self.excluded_problems, profile)
        needed = self._needed(profile)
        leads = needed.rule != "all" and rules_of(profile_named(profile)).needs_answer
        cells = self._cells(group, profile, excluded)
        eligible = cells.table.filter(pl.col("eligible"))
        samples = int(group.group_by("problem_id").agg(pl.col("sample").n_unique())["sample"].max() or 0)  # type: ignore[arg-type]
        expected = samples * sum(problem.id not in excluded for problem in there)
        verdicts = int(eligible["samples"].sum())
        return ModelResults(
            model=model,
            parameters=parameters,
            policy=policy,
            profile=profile,
            title=self.titles[model, parameters],
            baseline=model in self.baselines,
            samples=samples,
            completions=group.height,
            verdicts=verdicts,
            expected=expected,
            coverage=coverage(verdicts, expected) if group["counted"].count() else None,
            overall=cells.cell({}, cells.table),
            strata=dict(cells.strata(strata, needed=leads)),
            strata_notes={stratum.name: stratum.note for stratum in strata if stratum.note},
            needed_rule=needed.rule,
            needed_lead=leads,
            parts=tuple(
                PartResults(
                    title=part.title,
                    overall=cells.cell({}, cells.table.filter(pl.col("problem_id").is_in(list(part.problems)))),
                )
                for part in self.apart
            ),
            statuses=_statuses(group),
            similarity_titles={column.name: column.title for column in cells.known},
            correlation=correlate(eligible.filter(pl.col("samples") > 0), cells.known),
        )

    def _needed(self, profile: str) -> LeadingProblems:
        if profile not in self.needed:
            excluded = excluded_ids(self.excluded_problems, profile)
            self.needed[profile] = needed_problems(self.frame, self.problems, profile, excluded)
        return self.needed[profile]

    def _cells(self, group: pl.DataFrame, profile: str, excluded: set[str]) -> _Cells:
        measured = [name for name in metric_columns(group) if group[name].count() > 0]
        first_lines = self.suite.rules(profile_named(profile)).first_lines if self.suite else False
        every_suite = (USER_METRIC, ACCEPTED_PREFIX)
        shown = [name for name in measured if not self.rates_only or name.startswith(every_suite)]
        similarities = similarity_columns(shown, first_lines=first_lines)
        rows = group.with_columns(eligible=~pl.col("problem_id").is_in(list(excluded)))
        table = aggregate_samples(rows, similarities)
        if self.rates_only:
            table = table.filter(pl.col("problem_id").is_in([problem.id for problem in self.decided]))
        needed = self._needed(profile)
        return _Cells(table, similarities, profile, self.seed, None if needed.rule == "all" else needed.problems)


@dataclass(frozen=True)
class _Cells:
    """Problems of one column, and the cells made of them."""

    table: pl.DataFrame
    known: tuple[SimilarityColumn, ...]
    profile: str
    seed: int
    needed: frozenset[str] | None
    """Ids of the problems that need an answer; None if all do."""

    def strata(self, strata: Sequence[Stratum], *, needed: bool) -> Iterator[tuple[str, tuple[RateCell, ...]]]:
        """Yield the cells by stratum, without strata that have none."""
        there = set(self.table["problem_id"])
        for stratum in strata:
            cells = [
                self.cell(
                    part.labels, self.table.filter(pl.col("problem_id").is_in(list(held))), needed=needed
                ).model_copy(update={"order": part.order})
                for part in stratum.parts
                if (held := part.problems & there)
            ]
            if cells:
                yield stratum.name, tuple(cells)

    def cell(self, labels: Mapping[str, str], table: pl.DataFrame, *, needed: bool = True) -> RateCell:
        """Return pass rates over the eligible problems and similarities over all (they need no toolchain).

        Without ``needed`` there are no rates over the problems that need an answer.
        """
        eligible = table.filter(pl.col("eligible"))
        resamples = STRATUM_RESAMPLES if labels else RESAMPLES
        pass_at = pass_estimates(eligible, self.profile, self.seed, resamples)
        needing = None
        if needed and self.needed is not None:
            kept = eligible.filter(pl.col("problem_id").is_in(list(self.needed)))
            needing = pass_estimates(kept, self.profile, self.seed, resamples)
        failed, passed = None, None
        if 1 in pass_at and table.height:
            judged = pass_at[1].problems  # some eligible problems may have no verdict
            certain = pass_at[1].value * judged
            failed, passed = certain / table.height, (certain + table.height - judged) / table.height
        return RateCell(
            labels=labels,
            problems=eligible.height,
            excluded=table.height - eligible.height,
            pass_at=pass_at,
            needed=needing,
            if_excluded_failed=failed,
            if_excluded_passed=passed,
            similarity=similarity_estimates(table, self.known, self.seed, resamples),
        )


def _statuses(group: pl.DataFrame) -> dict[str, int]:
    counts = group["status"].drop_nulls().value_counts()
    return dict(counts.sort("count", "status", descending=[True, False]).iter_rows())


@dataclass(frozen=True)
class ReportSource:
    """Loaded run with its stratification and its suite, if installed; computes values that several sections share.

    ``strengths`` is the title of the model whose strengths are requested.
    """

    run: LoadedRun
    stratification: Stratification = DEFAULT_STRATIFICATION
    suite: Suite | None = None
    strengths: str | None = None

    @property
    def seed(self) -> int:
        """Random seed of intervals."""
        return int(self.run.manifest.get("seed") or 0)

    @cached_property
    def judged(self) -> JudgedRun:
        """Judged texts."""
        return JudgedRun.of_run(self.run, self.suite.judged_text if self.suite else plain_answer)

    @cached_property
    def judged_scores(self) -> tuple[JudgedScores, ...]:
        """Judge scores, by criterion."""
        return judged_scores(self.judged)

    @cached_property
    def suite_tables(self) -> tuple[SuiteTable, ...]:
        """Tables that the suite computes itself: over the problems that lead, those over all problems with them."""
        if self.suite is None:
            return ()
        results, problems = self._results, self._problems
        with suite_errors(self.suite, "result_tables"):
            every = self.suite.result_tables(results, problems, self.seed)
            if not (every and self._leading):
                return tuple(SuiteTable(**table._asdict()) for table in every)
            leading = {name for leads in self._leading.values() for name in leads.problems}
            kept = {name: problem for name, problem in problems.items() if name in leading}
            leading_tables = self.suite.result_tables(results.filter(self._leads), kept, self.seed)
        notes = tuple(lead_note(leads.rule) for leads in self._leading.values())
        return tuple(with_raw(every, leading_tables, notes))

    @property
    def suite_charts(self) -> tuple[SuiteChart, ...]:
        """Charts that the suite computes itself, over the problems that lead."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "result_charts"):
            results = self._results.filter(self._leads_or_all)
            return tuple(self.suite.result_charts(results, self._problems, self.seed))

    @cached_property
    def _leading(self) -> Mapping[str, LeadingProblems]:
        """Problems over which rates lead by profile, without profiles where all problems lead.

        Shares of the suite's own choose among the problems that have them, as in the head.
        """
        leading = {}
        for profile in map(str, self.run.frame["profile"].unique().sort()):
            problems, rule = leading_in(self.run, profile)
            for _, frame in self.headlines:
                there = frozenset(frame.filter(pl.col("passed").is_not_null())["problem_id"])
                measured = leading_in(replace(self.run, frame=frame), profile)
                problems, rule = (
                    problems - there | measured.problems & there,
                    rule if measured.rule == "all" else measured.rule,
                )
            if rule != "all":
                leading[profile] = LeadingProblems(problems, rule)
        return leading

    @property
    def _leads(self) -> pl.Expr:
        """True for the rows of profiles where some problems lead, about these."""
        rows = [
            (pl.col("profile") == profile) & pl.col("problem_id").is_in(list(leads.problems))
            for profile, leads in self._leading.items()
        ]
        return pl.any_horizontal(pl.lit(value=False), *rows)

    @property
    def _leads_or_all(self) -> pl.Expr:
        """True for the rows about problems that lead, and for all rows of profiles where all problems lead."""
        return self._leads | ~pl.col("profile").is_in(list(self._leading))

    @cached_property
    def headlines(self) -> tuple[tuple[Headline, pl.DataFrame], ...]:
        """Shares of the suite's own by which models are ranked, each with a run's table of it in place of passes."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "headline_results"):
            results, titles = self.suite.headline_results(self._joined)
        return tuple(
            (headline, results.with_columns(passed=pl.col(name).cast(pl.Float64) == 1.0))
            for name, headline in titles.items()
            if results[name].count()
        )

    @cached_property
    def headline_columns(self) -> tuple[ModelResults, ...]:
        """Columns of the suite's own shares, over the problems that have them; breakdowns show these, not pass@1."""
        run, shown = self.run, list[ModelResults]()
        for headline, frame in self.headlines:
            measured = frame.filter(pl.col("passed").is_not_null())
            there = set(measured["problem_id"])
            problems = [problem for problem in run.problems if problem.id in there]
            columns = columns_of(measured, problems, run.manifest, self.excluded, self.stratification, rates_only=True)
            for column in columns:
                strata = {name: cells for name, cells in column.strata.items() if len(cells) > 1}
                shown.append(column.model_copy(update={"measure": headline.title, "strata": strata}))
        return tuple(shown)

    @cached_property
    def missing_score(self) -> tuple[str, ...]:
        """Reasons why the suite's own score is not known, each with its remedy."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "missing_score"):
            return tuple(self.suite.missing_score(self._results, self._problems))

    @cached_property
    def _results(self) -> pl.DataFrame:
        """Rows of answers with judged values: the best model first, baselines last, as suites show them."""
        passes = pl.when(self._leads_or_all).then(pl.col("passed").cast(pl.Float64))
        rank = passes.mean().over("model", "parameters").fill_null(0.0)
        ranks = {name: number for number, name in enumerate(self.run.baselines, 1)}
        position = pl.col("model").replace_strict(ranks, default=0, return_dtype=pl.Int64)
        score = pl.when(position == 0).then(-rank).otherwise(0.0)
        return self._joined.sort("profile", "policy", position, score, *KEY, maintain_order=True)

    @cached_property
    def _joined(self) -> pl.DataFrame:
        frame = self.run.frame
        by_key = model_variants(self.run.manifest, frame.select("model", "parameters").unique().iter_rows())
        variants = pl.DataFrame(
            [(*key, *variant) for key, variant in by_key.items()],
            schema=dict.fromkeys(("model", "parameters", "model_title", "instruction", "prompt"), pl.String),
            orient="row",
        )
        values = judged_values(self.judged, refused_criteria(self.judged_scores))
        judged = frame.join(values, on=list(KEY), how="left")
        return judged.join(variants, on=["model", "parameters"], how="left").with_columns(
            pl.col("model_title").fill_null(pl.col("model"))
        )

    @property
    def _problems(self) -> dict[str, Problem]:
        return {problem.id: problem for problem in self.run.problems}

    @cached_property
    def excluded(self) -> tuple[ExcludedProblems, ...]:
        """Excluded problems, by profile and cause."""
        return find_excluded_problems(self.run.frame, self.run.problems, self.run.manifest)

    @cached_property
    def usage(self) -> dict[tuple[str, str], ModelUsage]:
        """Usage of the models that were sampled in this run, by name and parameters."""
        entries = model_usage(self.run.completions, self.run.missing, self.run.manifest)
        return {(entry.model, entry.parameters): entry for entry in entries}

    @cached_property
    def recordings(self) -> tuple[Recording, ...]:
        """Numbers of completions by model; baselines answer only the problems that they fit."""
        run = self.run
        sampled = (row for row in run.completions if row.model not in run.baselines)
        nothing_due = {problem.id for problem in run.problems if not problem.reference.strip()}
        return recordings(sampled, run.missing, run.problems, refusals(run.frame), nothing_due)

    @cached_property
    def columns(self) -> tuple[ModelResults, ...]:
        """One column per model, parameters, policy and profile."""
        run = self.run
        return columns_of(
            run.frame,
            run.problems,
            run.manifest,
            self.excluded,
            self.stratification,
            rates_only=bool(self.suite_tables),
        )
