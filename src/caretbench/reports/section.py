"""Base class of the sections of a report, and the page parts that they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from caretbench.grouping import grouped
from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.problem_lists import ExcludedProblems
from caretbench.reports.summary import ModelResults, Summary
from caretbench.reports.tables import ReportTable

Line = Mapping[str, object]
"""Line of the CSV export: values by column."""


class LegendEntry(NamedTuple):
    """Name and colour in the legend of a chart."""

    name: str
    colour: str


class Chart(NamedTuple):
    """Chart of a page. ``name`` is unique within its page part; ``spec`` is a Vega-Lite specification.

    ``legend`` has the names of the colours; the page fills it from the specification.
    """

    name: str
    title: str
    spec: Mapping[str, Any] | None
    legend: tuple[LegendEntry, ...] = ()


@dataclass(frozen=True)
class PageBlock:
    """Block of a page part: heading, notes, charts, tables (with headings of ``level``), texts, lists, in this order.

    A ``folded`` block can be opened by the reader; with ``opened`` it is open at first. A ``filtered`` one has a
    search among its rows.
    """

    title: str = ""
    subtitle: str = ""
    notes: Sequence[str] = ()
    warning: bool = False
    charts: Sequence[Chart] = ()
    tables: Sequence[ReportTable] = ()
    level: int = 3
    folded: bool = False
    opened: bool = False
    filtered: bool = False
    coloured: Sequence[tuple[str, str]] = ()
    """Code in parts, each with the name of its colour: ``typed``, ``accepted`` or ``wrong``."""
    lists: Sequence[ExcludedProblems] = ()


@dataclass(frozen=True)
class PagePart:
    """Part of a page with a heading and an entry in the navigation; ``identity`` is its HTML anchor."""

    identity: str
    label: str
    heading: str
    subtitle: str = ""
    blocks: Sequence[PageBlock] = ()


class ColumnGroup(NamedTuple):
    """Columns with the same profile and policy, which share tables."""

    profile: str
    policy: str
    columns: tuple[ModelResults, ...]
    summary: Summary

    @property
    def further(self) -> bool:
        """Return whether the policy is not the run's headline policy but a further one."""
        policies = self.summary.manifest.get("further_policies")
        return isinstance(policies, list) and self.policy in policies

    @property
    def measured_columns(self) -> tuple[tuple[ModelResults, ...], ...]:
        """Columns that breakdowns show: those of each share of the suite's own, if it has any."""
        by_measure = grouped(
            (column.measure, column)
            for column in self.summary.headline_columns
            if (column.profile, column.policy) == (self.profile, self.policy)
        )
        return tuple(map(tuple, by_measure.values())) or (self.columns,)

    def with_group_title(self, table: ReportTable) -> ReportTable:
        """Return the table with profile and policy in its title."""
        title = f"{table.title} ({self.profile} profile, policy {self.policy})"
        return table.model_copy(update={"title": title})


class PageSource(NamedTuple):
    """Summary shown on a page, with its run."""

    summary: Summary
    run: LoadedRun


class SectionPositions(NamedTuple):
    """Position of a section in the text output, on the page and in the CSV export, in ascending order."""

    text: int = 0
    page: int = 0
    lines: int = 0


class Section:
    """Base class of the sections of a report. Every hook has a default.

    Hooks whose names begin with ``group`` are called once for each profile and policy.
    """

    positions: ClassVar[SectionPositions] = SectionPositions()
    part: ClassVar[PagePart | None] = None
    """Anchor, label and heading of its part of the page."""
    published: ClassVar[bool] = False
    """True if the section is shown only on request (``--published``)."""
    group_block: ClassVar[str] = "details"
    """Block of the page for its group tables: ``lead``, ``forms``, ``after`` or ``details``."""

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return values of fields of :class:`~caretbench.reports.summary.Summary`, by name."""
        del source
        return {}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return warnings about unreliable numbers."""
        del summary
        return ()

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return notes that explain the numbers."""
        del summary
        return ()

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the tables of the terminal and of Markdown."""
        del summary
        return ()

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return lines of the CSV export."""
        del summary
        return ()

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the blocks of its part of the page; by default its tables."""
        tables = list(self.tables(shown.summary))
        return [PageBlock(tables=tables)] if tables else []

    def page(self, shown: PageSource) -> PagePart | None:
        """Return its part of the page; None if it is empty."""
        blocks = self.blocks(shown) if self.part else []
        return replace(self.part, blocks=blocks) if self.part and blocks else None

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return the tables of one profile and policy."""
        del group
        return ()

    def group_page_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return the tables of one profile and policy on the page."""
        return self.group_tables(group)

    def group_charts(self, group: ColumnGroup) -> Iterable[Chart]:
        """Return the charts of one profile and policy."""
        del group
        return ()


def groups(summary: Summary) -> tuple[ColumnGroup, ...]:
    """Return the columns by profile and policy, in their order in the summary."""
    by_profile = grouped(((column.profile, column.policy), column) for column in summary.columns)
    return tuple(ColumnGroup(*key, tuple(columns), summary) for key, columns in by_profile.items())
