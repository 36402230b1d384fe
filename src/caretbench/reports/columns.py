"""Columns of a report: the numbers of each model under one policy and one profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from caretbench.metrics.intervals import RESAMPLES
from caretbench.metrics.passk import coverage
from caretbench.problem import Problem
from caretbench.profiles import profile_named
from caretbench.reports.estimates import (
    SimilarityColumn,
    aggregate_samples,
    correlate,
    pass_estimates,
    similarity_columns,
    similarity_estimates,
)
from caretbench.reports.frame import GROUP, baselines_in, metric_columns
from caretbench.reports.results.model_variants import model_order, variant_titles
from caretbench.reports.results.paper_columns import paper_tables_in, with_paper_intervals
from caretbench.reports.results.problem_lists import ExcludedProblems, excluded_ids
from caretbench.reports.strata import SEPARATOR, KeptPart, Stratum, has_verdicts, kept_apart, strata_of, stratum_name
from caretbench.reports.summary import Column, ColumnPart, RateCell
from caretbench.runs.user_metrics import USER_METRIC
from caretbench.suites import suite_of_run
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import Stratification

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
) -> tuple[Column, ...]:
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
    apart = kept_apart(problems, stratification)
    maker = _ColumnBuilder(frame, problems, excluded_problems, names, seed, rates_only, baselines, suite, apart)
    columns = [
        maker.column(group, _shown_strata(group, strata, policies, stratification))
        for group in sorted(frame.partition_by(*GROUP), key=lambda group: _group_order(group, manifest, policies))
    ]
    if stratification.paper_intervals:
        main, forms = stratum_name(stratification.main_labels), paper_tables_in(columns, stratification)
        columns = [with_paper_intervals(column, main, forms, maker.seed) for column in columns]
    return tuple(_by_score(columns, policies))


def _by_score(columns: Iterable[Column], policies: Sequence[str]) -> list[Column]:
    """Return the columns by profile and policy, models before baselines, the best model first."""

    def key(column: Column) -> tuple[object, ...]:
        number = column.headline_of(column.overall)
        score = -number.value if number is not None and not column.baseline else 0.0
        place = policies.index(column.policy) if column.policy in policies else len(policies)
        return (column.profile, place, column.policy, column.baseline, score)

    return sorted(columns, key=key)


def _shown_strata(
    group: pl.DataFrame,
    strata: Mapping[str, Sequence[Stratum]],
    policies: Sequence[str],
    stratification: Stratification,
) -> Sequence[Stratum]:
    """Return all strata; for a further policy only those of the comparison of policies."""
    found = strata[str(group["profile"][0])]
    if group["policy"][0] not in policies[1:]:
        return found
    return [stratum for stratum in found if set(stratum.name.split(SEPARATOR)) <= set(stratification.main_labels)]


def _group_order(group: pl.DataFrame, manifest: Mapping[str, Any], policies: Sequence[str]) -> tuple[object, ...]:
    model, parameters, policy, profile = (str(group[name][0]) for name in GROUP)
    baselines = baselines_in(manifest)
    rank = baselines.index(model) + 1 if model in baselines else 0
    place = policies.index(policy) if policy in policies else len(policies)
    return (profile, rank, model.lower(), model_order(manifest, model, parameters), parameters, place, policy)


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
    apart: Sequence[KeptPart] = ()

    def column(self, group: pl.DataFrame, strata: Sequence[Stratum]) -> Column:
        """Return the column of one model under one policy and profile."""
        model, parameters, policy, profile = (str(group[name][0]) for name in GROUP)
        there = [problem for problem in self.problems if has_verdicts(problem)]
        if model in self.baselines:  # a baseline may have no answer to some problems
            answered = set(group["problem_id"])
            there = [problem for problem in there if problem.id in answered]
        excluded = excluded_ids(self.excluded_problems, profile)
        cells = self._cells(group, profile, excluded)
        eligible = cells.table.filter(pl.col("eligible"))
        samples = int(group.group_by("problem_id").agg(pl.col("sample").n_unique())["sample"].max() or 0)  # type: ignore[arg-type]
        expected = samples * sum(problem.id not in excluded for problem in there)
        verdicts = int(eligible["samples"].sum())
        empty = _passed_by_empty(self.frame, profile)
        measured = partial(self._part, cells, empty=empty if _has_baseline(self.frame, "empty", profile) else None)
        whole = measured("", cells.table)
        return Column(
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
            overall=whole.overall,
            strata=dict(cells.strata(strata)),
            strata_notes={stratum.name: stratum.note for stratum in strata if stratum.note},
            valid=whole.valid,
            net_of_empty=whole.net_of_empty,
            parts=tuple(
                measured(part.title, cells.table.filter(pl.col("problem_id").is_in(list(part.problems))))
                for part in self.apart
            ),
            passed_by_empty=len(empty - excluded),
            statuses=_statuses(group),
            similarity_titles={column.name: column.title for column in cells.known},
            correlation=correlate(eligible.filter(pl.col("samples") > 0), cells.known),
        )

    @staticmethod
    def _part(cells: _Cells, title: str, table: pl.DataFrame, *, empty: AbstractSet[str] | None) -> ColumnPart:
        """Return the numbers of some problems; net of those in ``empty``, which an empty answer passes."""
        gated = table["valid"].count() > 0
        net = table.filter("eligible", ~pl.col("problem_id").is_in(list(empty or ())))
        return ColumnPart(
            title=title,
            overall=cells.cell({}, table),
            valid=cells.cell({}, table.filter(pl.col("valid"))) if gated else None,
            net_of_empty=None if empty is None else cells.cell({}, net),
        )

    def _cells(self, group: pl.DataFrame, profile: str, excluded: set[str]) -> _Cells:
        measured = [name for name in metric_columns(group) if group[name].count() > 0]
        first_lines = self.suite.rules(profile_named(profile)).first_lines if self.suite else False
        shown = [name for name in measured if not self.rates_only or name.startswith(USER_METRIC)]
        known = similarity_columns(shown, first_lines=first_lines)
        rows = group.with_columns(eligible=~pl.col("problem_id").is_in(list(excluded)))
        table = aggregate_samples(rows, known)
        if self.rates_only:
            there = [problem.id for problem in self.problems if has_verdicts(problem)]
            table = table.filter(pl.col("problem_id").is_in(there))
        return _Cells(table, known, profile, self.seed)


@dataclass(frozen=True)
class _Cells:
    """Problems of one column, and the cells made of them."""

    table: pl.DataFrame
    known: tuple[SimilarityColumn, ...]
    profile: str
    seed: int

    def strata(self, strata: Sequence[Stratum]) -> Iterator[tuple[str, tuple[RateCell, ...]]]:
        """Yield the cells by stratum, without strata that have none."""
        there = set(self.table["problem_id"])
        for stratum in strata:
            cells = [
                self.cell(part.labels, self.table.filter(pl.col("problem_id").is_in(list(held))))
                .model_copy(update={"order": part.order})
                for part in stratum.parts
                if (held := part.problems & there)
            ]  # fmt: skip
            if cells:
                yield stratum.name, tuple(cells)

    def cell(self, labels: Mapping[str, str], table: pl.DataFrame) -> RateCell:
        """Return pass rates over the eligible problems and similarities over all (they need no toolchain)."""
        eligible = table.filter(pl.col("eligible"))
        resamples = STRATUM_RESAMPLES if labels else RESAMPLES
        pass_at = pass_estimates(eligible, self.profile, self.seed, resamples)
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
            if_excluded_failed=failed,
            if_excluded_passed=passed,
            similarity=similarity_estimates(table, self.known, self.seed, resamples),
        )


def _statuses(group: pl.DataFrame) -> dict[str, int]:
    counts = group["status"].drop_nulls().value_counts()
    return dict(counts.sort("count", "status", descending=[True, False]).iter_rows())


def _has_baseline(frame: pl.DataFrame, name: str, profile: str) -> bool:
    rows = frame.filter((pl.col("model") == name) & (pl.col("profile") == profile))
    return rows["passed"].count() > 0


def _passed_by_empty(frame: pl.DataFrame, profile: str) -> set[str]:
    """Return the problems that an empty answer passes."""
    rows = frame.filter((pl.col("model") == "empty") & (pl.col("profile") == profile) & pl.col("passed"))
    return set(rows["problem_id"])
