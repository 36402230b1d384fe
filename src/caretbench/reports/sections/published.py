"""Section that compares published numbers of the suite with those of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.reports.published import (
    PublishedComparison,
    PublishedJudgeScore,
    compare_judge_scores,
    compare_with_published,
    partial_models,
)
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.compared_parts import compared_parts
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.sections.suite_tables import suite_table
from caretbench.reports.summary import SuiteTable, Summary
from caretbench.reports.tables import (
    ReportTable,
    TableField,
    existing_tables,
    number_field,
    percent,
    score_field,
    table_of,
    text_field,
)
from caretbench.suites import suite_of_run
from caretbench.suites.suite_types import Table


class PublishedSection(Section):
    """Section of published numbers with those of the run; only on request."""

    positions = SectionPositions(text=80, page=40)
    part = PagePart("published", "Published", "Published numbers")
    published = True

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the parts of the problems that the paper has numbers for."""
        suite = str(source.run.manifest.get("suite") or "")
        return {"compared_parts": compared_parts(source.run, suite)}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return a table for each table of the paper: rates and similarities, then judge scores."""
        judged = _judged_table(compare_judge_scores(summary))
        own = _own_tables(summary)
        return [*own, *published_tables(compare_with_published(summary)), *existing_tables([judged])]

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return what is not compared, and at the end how many numbers agree."""
        rows = compare_with_published(summary)
        partial = list(partial_models(summary))
        yield from partial
        if not (rows or partial or _own_tables(summary)):
            yield "The paper prints no number for these models and problems."
        if rows or not _own_tables(summary):
            yield _agreement(rows)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return one block with the tables and the notes."""
        found = list(self.tables(shown.summary))
        shows = bool(shown.summary.compared_parts or _own_tables(shown.summary))
        return [PageBlock(tables=found, notes=list(self.notes(shown.summary)))] if shows else []


def _own_tables(summary: Summary) -> list[ReportTable]:
    """Return the suite's own tables of printed numbers, which are about other problems than the run's."""
    suite = suite_of_run(summary.suite)
    return (
        []
        if suite is None
        else [
            suite_table(SuiteTable(**table._asdict()), summary.baselines)
            for table in suite.published_tables([_plain_table(one) for one in summary.suite_tables])
        ]
    )


def _plain_table(table: SuiteTable) -> Table:
    return Table(**{name: getattr(table, name) for name in Table._fields})


def published_tables(rows: Sequence[PublishedComparison]) -> list[ReportTable]:
    """Return a table of the paper's numbers with those of the run for each table of the paper."""
    return [
        _published_table(name, [row for row in rows if row.table == name])
        for name in dict.fromkeys(row.table for row in rows)
    ]


def _published_table(name: str, rows: Sequence[PublishedComparison]) -> ReportTable:
    fields = [
        (
            row.model,
            _part(row),
            row.metric,
            _published_number(row.metric, row.printed),
            _published_number(row.metric, row.ours),
            _published_range(row),
            text_field("yes" if row.agrees else "no", "" if row.agrees else "warning"),
        )
        for row in rows
    ]
    heads = ("Model", "Part", "Metric", "Published", "Ours", "Range of ours", "Published inside")
    bounds = " The range covers excluded problems: from all failed to all passed."
    caption = f"{rows[0].profile} profile; {_agreement(rows)}.{bounds if rows[0].metric == 'pass@1' else ''}"
    return table_of(name, heads, fields, caption)


def _agreement(rows: Sequence[PublishedComparison]) -> str:
    return f"{sum(row.agrees for row in rows)} of {len(rows)} cells agree"


def _part(row: PublishedComparison | PublishedJudgeScore) -> str:
    return row.label if row.label == "all" else f"{row.stratum} {row.label}"


def _published_number(metric: str, value: float) -> TableField:
    return number_field(value, f"{value:.4f}" if metric.startswith("cosine") else percent(value, 2))


def _published_range(row: PublishedComparison) -> str:
    if row.metric != "pass@1":
        return "as printed" if row.agrees else "differs"
    return f"{percent(row.low)} to {percent(row.high)}"


def _judged_table(rows: Sequence[PublishedJudgeScore]) -> ReportTable | None:
    if not rows:
        return None
    fields = [
        (row.model, _part(row), row.criterion, row.grader, score_field(row.printed), score_field(row.ours))
        for row in rows
    ]
    return table_of(
        f"{rows[0].table} ({', '.join(dict.fromkeys(row.validity for row in rows))})",
        ("Model", "Part", "Criterion", "Grader here", "Published", "Ours"),
        fields,
        (
            "Not a reproduction: the paper's judge was o3-mini with another prompt, and its judgements are not "
            "published. Scores depend on grader and prompt."
        ),
    )
