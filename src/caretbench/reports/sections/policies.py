"""Section of the same answers under several policies, and of SimCopilot's best of three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.post_processing import STEPS, TITLE, best_of_three
from caretbench.reports.section import Chart, PageBlock, PagePart, PageSource, Section, SectionPositions, groups
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.errors import error_tables, error_titles
from caretbench.reports.sections.rates import counted_problems, headline_field, main_table
from caretbench.reports.summary import ModelResults, RateCell, Summary
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    display_labels,
    existing_tables,
    models_in,
    pass_columns,
    rate_field,
    table_of,
    title_field,
)


class PoliciesSection(Section):
    """Section of pass rates of the same answers under several policies."""

    positions = SectionPositions(text=10, page=20)
    part = PagePart("policies", "Policies", "Post-processing policies", "the same answers under several policies")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the best of three, of models that were scored under SimCopilot's three steps."""
        return {"best_of": tuple(best_of_three(source.run.frame, source.excluded, source.seed))}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return a table of policies for each profile, and the best of three."""
        profiles = dict.fromkeys(column.profile for column in summary.columns)
        return existing_tables([*(policies_table(summary, profile) for profile in profiles), best_of_table(summary)])

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the tables, a chart for each model, and details of further policies."""
        summary = shown.summary
        shown_blocks = super().blocks(shown)
        if not shown_blocks:
            return []
        drawn = section_charts.policy_charts(summary.columns, summary.main).items()
        charts = [Chart(str(number), title, spec) for number, (title, spec) in enumerate(drawn)]
        further = list(_further(summary))
        details = PageBlock(title="Details of further policies", tables=further, level=4, folded=True)
        return [*shown_blocks, PageBlock(charts=charts), details]


def _further(summary: Summary) -> Iterator[ReportTable]:
    """Yield tables of pass rates and errors under each further policy."""
    for group in groups(summary):
        if group.further and (judged := pass_columns(group.columns)):
            errors = error_tables(summary.errors, error_titles(group.columns))
            for table in (main_table(judged), *errors[:1]):
                yield group.with_group_title(table)


def policies_table(summary: Summary, profile: str) -> ReportTable | None:
    """Return pass@1 under every policy, in total and by the main labels; None with one policy."""
    columns = models_in(column for column in summary.columns if column.profile == profile)
    policies = [group.policy for group in groups(summary) if group.profile == profile]
    if len(policies) < 2 or not columns:
        return None
    cells: dict[tuple[str, str], dict[str, tuple[ModelResults, RateCell]]] = {}
    for column in columns:
        for cell in (column.overall, *column.strata.get(summary.main, ())):
            cells.setdefault((column.title, display_labels(cell.labels)), {})[column.policy] = column, cell
    rows: list[FieldValues] = [
        (
            title,
            part,
            max(counted_problems(*cell) for cell in by_policy.values()),
            *(headline_field(*by_policy[policy]) if policy in by_policy else None for policy in policies),
        )
        for (title, part), by_policy in cells.items()
    ]
    return table_of(
        f"{columns[0].rate_title} of the same answers under {len(policies)} policies ({profile} profile)",
        ("Model", "Part", "Problems", *policies),
        rows,
        f"{policies[0]} is the headline policy, which `caretbench compare` uses.",
    )


def best_of_table(summary: Summary) -> ReportTable | None:
    """Return pass@1 after each step of the paper's post-processing, and best of three; None without such models."""
    if not summary.best_of:
        return None
    rows: list[FieldValues] = [
        (
            title_field(entry.model, baseline=entry.model in summary.baselines),
            *(rate_field(entry.by_step.get(step)) for step in STEPS),
            rate_field(entry.best),
            entry.best.problems,
        )
        for entry in sorted(summary.best_of, key=lambda entry: entry.model in summary.baselines)
    ]
    return table_of(TITLE, ("Model", *STEPS, "Best of three", "Problems"), rows)
