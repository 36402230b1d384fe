"""Section of tables that a suite computes itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from caretbench.reports.charts import finished_spec
from caretbench.reports.report_source import ReportSource
from caretbench.reports.section import Chart, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import EVERY, SuiteTable, Summary
from caretbench.reports.tables import NO_TEXTS, ReportTable, TableField, number_field, without_empty_columns
from caretbench.suites import suite_of_run

_IN_FORM = ", in form)"
"""Mark in the title of a chart that only readers of the paper look for."""


class SuiteTablesSection(Section):
    """Section of tables that a suite computes itself."""

    positions = SectionPositions(text=20, page=10)

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the suite's tables."""
        return {"suite_tables": source.suite_tables}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the suite's tables."""
        return (suite_table(shown, summary.baselines) for entry in summary.suite_tables for shown in with_all(entry))

    def page(self, shown: PageSource) -> PagePart | None:
        """Return a part named after the suite."""
        tables = self.blocks(shown)
        source = ReportSource(shown.run, suite=suite_of_run(shown.summary.suite))
        charts = [
            Chart(f"suite-{index}", title, finished_spec(dict(spec), {"step": 20}, title))
            for index, (title, spec) in enumerate(source.suite_charts)
        ]
        if not (tables or charts):
            return None
        heading = "The suite's own charts and tables" if charts else "The suite's own tables"
        of_paper = [chart for chart in charts if _IN_FORM in chart.title]
        others = [chart for chart in charts if chart not in of_paper]
        blocks = [*([PageBlock(charts=others)] if others else []), *tables]
        blocks += [PageBlock(title="Charts in the paper's layout", charts=of_paper, folded=True)] if of_paper else []
        return PagePart("own", source.suite.title if source.suite else shown.summary.suite, heading, blocks=blocks)


def with_all(entry: SuiteTable) -> Sequence[SuiteTable]:
    """Return a table with the values over all problems as notes to its cells; as a second table if its form differs."""
    raw = entry.raw
    if raw is None:
        return [entry]
    names = [[row[0] for row in table.rows] for table in (entry, raw)]
    if entry.columns != raw.columns or names[0] != names[1]:
        return [entry, raw.model_copy(update={"title": f"{raw.title}{EVERY}"})]
    rows = tuple(
        tuple(cell if cell == every else _beside(cell, every) for cell, every in zip(*both, strict=True))
        for both in zip(entry.rows, raw.rows, strict=True)
    )
    return [entry.model_copy(update={"rows": rows, "notes": (*entry.notes, "All: over all problems.")})]


def _beside(cell: str, every: str) -> str:
    text, _, note = cell.partition("\n")
    return f"{text}\n{note}{'; ' if note else ''}all: {every.partition(chr(10))[0]}"


def suite_table(entry: SuiteTable, baselines: Collection[str] = ()) -> ReportTable:
    """Return a suite's table as a report table; the names of baselines are marked."""
    parts = [[text.partition("\n")[::2] for text in row] for row in entry.rows]
    numeric = [all(_numeric(row[index][0]) for row in parts) for index in range(len(entry.columns))]
    rows = tuple(
        tuple(
            number_field(_number(text), text, note)
            if number
            else TableField(text=text, sort=text.lower(), note=note, tone="baseline" if text in baselines else "")
            for (text, note), number in zip(row, numeric, strict=True)
        )
        for row in parts
    )
    caption = " ".join(entry.notes)
    table = ReportTable(title=entry.title, heads=entry.columns, numeric=tuple(numeric), rows=rows, caption=caption)
    return without_empty_columns(table)


def _number(text: str) -> float | None:
    try:
        return float(text.strip("%±<> ").partition(" ")[0].replace(",", ""))
    except ValueError:
        return None


def _numeric(text: str) -> bool:
    return text in NO_TEXTS or _number(text) is not None
