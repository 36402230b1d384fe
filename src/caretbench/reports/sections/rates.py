"""Sections of rates under one profile and policy: pass rates, strata, statuses and similarities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

import polars as pl

from caretbench.reports.estimates import ReportedNumber, SimilarityCorrelation
from caretbench.reports.frame import GROUP, LABELS, LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paper_intervals import paper_table_layouts
from caretbench.reports.results.problem_lists import LEAD_MEANINGS, LEAD_TITLES
from caretbench.reports.results.run_settings import differences, settings_of
from caretbench.reports.section import Chart, ColumnGroup, Line, Section, SectionPositions
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.paper_layouts import printed_cells
from caretbench.reports.strata import stratum_name
from caretbench.reports.summary import ModelResults, PartResults, RateCell, Summary
from caretbench.reports.tables import (
    FieldValue,
    FieldValues,
    ReportTable,
    TableField,
    display_labels,
    display_stratum,
    existing_tables,
    headline_title,
    models_in,
    number_field,
    ordered_names,
    pass_columns,
    rate_field,
    score_field,
    share_field,
    strata_names,
    table_of,
    title_field,
)
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE


def main_table(columns: Sequence[ModelResults]) -> ReportTable:
    """Return the main table: pass rates on the problems that lead, then on the others; coverage.

    It has a row for each part that the suite keeps apart.
    """
    most = max((max(column.overall.pass_at, default=1) for column in columns), default=1)
    rule, leads = columns[0].needed_rule, columns[0].needed_lead
    rates = [f"pass@{k}" for k in sorted({1, most})]
    needed = [f"{title}, {LEAD_TITLES[rule]}" for title in rates]
    rows = []
    for column, part in _column_parts(columns):
        cell = part.overall
        every: list[FieldValue] = [rate_field(cell.pass_at.get(k)) for k in sorted({1, most})]
        beside: list[FieldValue] = [_part_rate((cell.needed or {}).get(k)) for k in sorted({1, most})]
        rows.append([
            title_field(column.title, baseline=column.baseline), part.title if column.parts else "", column.samples,
            *(beside + every if leads else every + beside),
            cell.problems, cell.excluded, share_field(column.coverage),
        ])  # columns without values are omitted  # fmt: skip
    heads = ("Model", "Part", "Samples", *(needed + rates if leads else rates + needed))
    captions = [
        "95% intervals are below the rates. Excluded: problems that no rate counts. Coverage: share of the other "
        "answers that have a verdict. Baselines need no model: reference = the known right answer, empty = nothing, "
        "stub = the least valid code, copy-context = copied lines.",
        f"pass@{most}: share of problems of which any of {most} answers passes." if most > 1 else "",
        LEAD_MEANINGS[rule],
        "Parts are not averaged; the coverage is that of all parts." if any(column.parts for column in columns) else "",
    ]
    return table_of("Pass rates", (*heads, "Problems", "Excluded", "Coverage"), rows, " ".join(filter(None, captions)))


def _column_parts(columns: Sequence[ModelResults]) -> Iterator[tuple[ModelResults, ModelResults | PartResults]]:
    """Yield each column with its numbers; where the suite keeps parts apart, part by part."""
    yield from ((column, column) for column in columns if not column.parts)
    for index in range(max(len(column.parts) for column in columns)):
        yield from (
            (column, column.parts[index])
            for column in columns
            if index < len(column.parts) and column.parts[index].overall.pass_at
        )


def _part_rate(rate: ReportedNumber | None) -> TableField | None:
    if rate is None:
        return None
    field = rate_field(rate)
    # Its number of problems is another one than the row's, so it is always shown.
    return field.model_copy(update={"note": f"{field.note}, {rate.problems} problems", "problems": None})


def stratum_table(columns: Sequence[ModelResults], stratum: str) -> ReportTable | None:
    """Return the headline number by one label or two, a column for each model; baselines only without models.

    None if the problems do not have the label.
    """
    judged = models_in(columns)
    names = ordered_names(judged, stratum)
    if not names:
        return None
    by_name = [{display_labels(cell.labels): cell for cell in column.strata.get(stratum, ())} for column in judged]
    rows: list[FieldValues] = []
    for name in names:
        row = [(column, cells.get(name)) for column, cells in zip(judged, by_name, strict=True)]
        problems = max(counted_problems(column, cell) if cell else 0 for column, cell in row)
        rows.append((name, problems, *(headline_field(column, cell) if cell else None for column, cell in row)))
    heads = (stratum.replace("_", " ").capitalize(), "Problems", *(column.title for column in judged))
    title = f"{headline_title(judged)} by {stratum.replace('_', ' ')}"
    caption = next((note for column in judged if (note := column.strata_notes.get(stratum))), "")
    return table_of(title, heads, rows, caption)


def counted_problems(column: ModelResults, cell: RateCell) -> int:
    """Return the number of problems of a cell that lead."""
    number = column.headline_of(cell) if column.needed_lead else None
    return cell.problems if number is None else number.problems


def headline_field(column: ModelResults, cell: RateCell) -> TableField:
    """Return the headline number of a cell with its interval."""
    number = column.headline_of(cell)
    return rate_field(number) if column.overall.pass_at else score_field(number, 3)


def status_table(columns: Sequence[ModelResults]) -> ReportTable | None:
    """Return the numbers of completions by status."""
    judged = [column for column in columns if column.statuses]
    statuses = sorted({status for column in judged for status in column.statuses})
    if not statuses:
        return None
    rows: list[FieldValues] = [
        (title_field(column.title, baseline=column.baseline), *(column.statuses.get(status, 0) for status in statuses))
        for column in judged
    ]
    heads = ("Model", *(status.replace("_", " ") for status in statuses))
    return table_of("Completions by status", heads, rows)


def older_gate_warnings(run: LoadedRun) -> Iterator[str]:
    """Yield a warning if verdicts come from an older version of the gate."""
    if run.older_verdicts:
        yield (
            f"{run.older_verdicts} problems were validated by an older version of the gate. "
            f"Run `caretbench validate {run.manifest.get('suite')}`, then score the run again."
        )


def coverage_warnings(columns: Sequence[ModelResults]) -> Iterator[str]:
    """Yield a warning for each column in which too few answers have a verdict."""
    for column in columns:
        if column.coverage is not None and column.coverage < REQUIRED_COVERAGE:
            yield (
                f"{column.title} ({column.profile}): coverage {column.coverage:.1%} is below {REQUIRED_COVERAGE:.0%}; "
                "the run has failed, and its rates are not reliable."
            )


def parameter_difference_notes(columns: Sequence[ModelResults], manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences in settings between columns of the same model."""
    by_model = sorted(columns, key=lambda column: (column.profile, column.model, column.policy))
    for first, second in pairwise(by_model):
        if first.model != second.model or first.parameters == second.parameters:
            continue
        settings = settings_of(manifest, first.model, first.parameters)
        other = settings_of(manifest, second.model, second.parameters)
        if settings is not None and other is not None and (changed := differences(settings, other, clients=True)):
            yield f"{first.title} and {second.title} had different settings: {'; '.join(changed)}."


def interval_notes(columns: Sequence[ModelResults]) -> Iterator[str]:
    """Yield a note on many strata, and the warnings of the intervals."""
    if any(len(cells) > 1 for column in columns for cells in column.strata.values()):
        count = max(sum(len(cells) for cells in column.strata.values()) for column in columns)
        yield (
            f"Each 95% interval is for one row. With {count} breakdowns per model, about one in twenty is off by "
            "chance. To say that two rows differ, use `caretbench compare`, which corrects for this (max-T)."
        )
    estimates = (estimate for column in columns for estimate in column.overall.pass_at.values())
    yield from sorted({estimate.warning for estimate in estimates if estimate.warning is not None})


HEAT_MAPS = 12
"""Maximum number of heat maps: one a model, best first."""


class PassRatesSection(Section):
    """Section of pass rates of models and baselines."""

    positions = SectionPositions(lines=10)
    group_block = "lead"

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the columns, the verdicts of the gate, and the strata that tables and charts show."""
        verdicts = source.run.frame.unique("problem_id").filter(pl.col("verdict").is_not_null())["verdict"]
        suite = source.suite.name if source.suite else ""
        printed = partial(printed_cells, suite, source.run.problems)
        strata = {name for column in source.columns for name in column.strata}
        return {
            "columns": source.columns,
            "headline_columns": source.headline_columns,
            "verdicts": dict(verdicts.value_counts().sort("verdict").iter_rows()),
            "mutant_strengths": source.run.mutant_strengths,
            "main": stratum_name(source.stratification.main_labels),
            "heat_maps": tuple(map(stratum_name, source.stratification.heat_maps)),
            "paper_tables": tuple(paper_table_layouts(source.stratification.paper_tables, strata, printed)),
        }

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return columns with too low a coverage."""
        return coverage_warnings(summary.columns)

    def notes(self, summary: Summary) -> Iterator[str]:
        """Yield notes on differences between columns of one model, and on intervals."""
        yield from parameter_difference_notes(summary.columns, summary.manifest)
        yield from interval_notes(summary.columns)
        if summary.mutant_strengths:
            counts = ", ".join(f"{count} {name}" for name, count in Counter(summary.mutant_strengths).most_common())
            yield f"Valid problems by what the gate's killed mutant changes: {counts}."

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return the main table, if there are verdicts."""
        judged = pass_columns(group.columns)
        return [main_table(judged)] if judged else []

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return one line per column, scope and metric; then those of the suite's own shares."""
        yield from (line for column in summary.columns for line in _rate_lines(column))
        yield from (line for column in summary.headline_columns for line in _lines(column, _share_estimates))


class StrataSection(Section):
    """Section of pass@1 by single labels; on the page also by crossed labels."""

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return a table for each label."""
        return existing_tables(
            stratum_table(columns, name) for columns in group.measured_columns for name in strata_names(columns)
        )

    def group_page_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return a table for each label and each combination of crossed labels."""
        return existing_tables(
            stratum_table(columns, name)
            for columns in group.measured_columns
            for name in (*strata_names(columns), *strata_names(columns, crossed=True))
        )

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield points by single labels, and by three or more."""
        for columns in group.measured_columns:
            measure = headline_title(columns)
            for name in strata_names(columns):
                spec = section_charts.rates_by_label(columns, name)
                yield Chart(f"{measure}-{name}", f"{measure} by {display_stratum(name)}", spec)
            for name in strata_names(columns, crossed=True):
                if name.count(" / ") > 1:
                    for title, drawn in section_charts.multi_label_charts(columns, name).items():
                        yield Chart(f"{name}-{title}", title, drawn)


class StatusesSection(Section):
    """Section of completions by status."""

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return one table of counts."""
        return existing_tables([status_table(group.columns)])

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield shares of the statuses."""
        yield Chart("status", "Completions by status", section_charts.status_shares(group.columns))


class HeatMapsSection(Section):
    """Section of heat maps of pass@1 by crossed labels, the best models first; on the page only."""

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield a map for each stratum and model."""
        strata, measured = group.summary.heat_maps, group.measured_columns
        number = max(1, HEAT_MAPS // max(1, len(strata) * len(measured)))
        for stratum, columns in product(strata, measured):
            best = [column for column in models_in(columns) if not column.baseline]
            for index, column in enumerate(best[:number]):
                measure = headline_title([column])
                title = f"{column.title}: {measure} by {display_stratum(stratum)}"
                yield Chart(f"heat-{measure}-{stratum}-{index}", title, section_charts.heat_map(column, stratum))


def _rate_lines(column: ModelResults) -> Iterator[Line]:
    """Yield one line per scope and metric, and the coverage."""
    yield from _lines(column, _estimates)
    if column.coverage is not None:
        row = {"metric": "coverage", "value": column.coverage, "problems": column.overall.problems}
        yield {"scope": "all"} | _column_key(column) | row


def _lines(column: ModelResults, estimates: Callable[[ModelResults, RateCell], _Estimates]) -> Iterator[Line]:
    """Yield one line per scope and estimate."""
    strata = ((stratum, cell) for stratum, cells in column.strata.items() for cell in cells)
    for scope, cell in (("all", column.overall), *strata):
        common = {"scope": scope} | _column_key(column) | label_columns(cell.labels)
        for metric, estimate in estimates(column, cell):
            yield common | {"metric": metric} | estimate.numbers()


def _column_key(column: ModelResults) -> dict[str, object]:
    return {name: getattr(column, name) for name in GROUP}


def label_columns(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that are columns of the export, and the others as ``name=value; name=value``."""
    columns = {name: value for name, value in labels.items() if name in LABELS}
    further = [f"{name}={value}" for name, value in labels.items() if name not in columns]
    return columns | ({"labels": "; ".join(further)} if further else {})


_Estimates = Iterable[tuple[str, ReportedNumber]]


def _share_estimates(column: ModelResults, cell: RateCell) -> _Estimates:
    """Yield the numbers of a share of the suite's own; the title is the metric."""
    if 1 in cell.pass_at:
        yield column.measure, cell.pass_at[1]
    if cell.needed:
        yield f"{column.measure}, {LEAD_TITLES[column.needed_rule]}", cell.needed[1]


def _estimates(column: ModelResults, cell: RateCell) -> _Estimates:
    for k, estimate in cell.pass_at.items():
        yield f"pass@{k}", estimate
    for k, estimate in (cell.needed or {}).items():
        yield f"pass@{k}, {LEAD_TITLES[column.needed_rule]}", estimate
    for method, estimate in cell.paper_intervals.items():
        yield f"pass@1 ({method})", estimate
    yield from cell.similarity.items()


class SimilarityMeansSection(Section):
    """Section of mean similarities to the reference."""

    group_block = "after"

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return one table, if the scores have similarities."""
        return existing_tables([similarity_table(group.columns)])


class SimilarityAgainstPassingSection(Section):
    """Section of similarity against pass rate, cell by cell; on the page only."""

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield one chart of dots."""
        spec = section_charts.similarity_against_passing(group.columns)
        yield Chart("similarity", "Similarity against pass rate", spec)


def similarity_table(columns: Sequence[ModelResults]) -> ReportTable | None:
    """Return the table of mean similarities of one profile; None if the scores have none."""
    titles: dict[str, str] = {}
    for column in columns:
        titles |= column.similarity_titles
    if not titles:
        return None
    rows: list[FieldValues] = [
        (
            title_field(column.title, baseline=column.baseline),
            column.completions,
            max((mean.problems for mean in column.overall.similarity.values()), default=0),
            *(score_field(column.overall.similarity.get(name), 3) for name in titles),
            _correlation_field(column.correlation),
        )
        for column in columns
    ]
    heads = ("Model", "Completions", "Problems", *titles.values(), "r with pass rate")
    caption = "Over all problems, excluded ones too. r: Pearson, over problems, of cosine and share of passes."
    return table_of("Similarity to the reference", heads, rows, caption)


def _correlation_field(correlation: SimilarityCorrelation | None) -> TableField:
    if correlation is None:
        return number_field(None)
    field = number_field(correlation.pearson, f"{correlation.pearson:.2f}", f"p = {correlation.p_value:.2g}")
    return field.model_copy(update={"problems": correlation.problems})
