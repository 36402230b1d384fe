"""Base class of the sections of a report, and the page parts that they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.post_processing import ShownStep
from caretbench.reports.results.problem_lists import ExcludedProblems
from caretbench.reports.summary import Column, Summary
from caretbench.reports.tables import ReportTable

Line = Mapping[str, object]
"""A line of the CSV export: values by column."""


class Chart(NamedTuple):
    """A chart of a page. ``name`` is unique within its page part; ``spec`` is a Vega-Lite specification."""

    name: str
    title: str
    spec: Mapping[str, Any] | None


@dataclass(frozen=True)
class PageBlock:
    """A piece of a page part: heading, notes, charts, tables (with headings of ``level``), texts, lists, in this order.

    The reader opens what is ``folded``; with ``opened`` it is open already.
    """

    title: str = ""
    aside: str = ""
    notes: Sequence[str] = ()
    warning: bool = False
    charts: Sequence[Chart] = ()
    tables: Sequence[ReportTable] = ()
    level: int = 3
    folded: bool = False
    opened: bool = False
    steps: Sequence[ShownStep] = ()
    lists: Sequence[ExcludedProblems] = ()


@dataclass(frozen=True)
class PagePart:
    """A part of a page with a heading and a place in its navigation; ``identity`` is its anchor."""

    identity: str
    label: str
    heading: str
    aside: str = ""
    blocks: Sequence[PageBlock] = ()


class ColumnGroup(NamedTuple):
    """Columns of one profile and policy, which may share a table."""

    profile: str
    policy: str
    columns: tuple[Column, ...]
    summary: Summary

    @property
    def further(self) -> bool:
        """Return whether the policy is one of those that are shown next to the run's own."""
        policies = self.summary.manifest.get("further_policies")
        return isinstance(policies, list) and self.policy in policies

    def named(self, table: ReportTable) -> ReportTable:
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
    """A section of a report. Every hook has a default.

    Sections about one profile and policy use the hooks whose names begin with ``group``.
    """

    positions: ClassVar[SectionPositions] = SectionPositions()
    part: ClassVar[PagePart | None] = None
    """Anchor, label and heading of its part of the page."""
    published: ClassVar[bool] = False
    """True if the section is shown only with published numbers."""
    group_block: ClassVar[str] = "details"
    """The block of the page for its group tables: ``lead``, ``forms``, ``after`` or ``details``."""

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return values of fields of :class:`~caretbench.reports.summary.Summary`, by name."""
        del source
        return {}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return reasons not to believe a number."""
        del summary
        return ()

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return sentences that a reader must know."""
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
        found = list(self.tables(shown.summary))
        return [PageBlock(tables=found)] if found else []

    def page(self, shown: PageSource) -> PagePart | None:
        """Return its part of the page; None where there is nothing to show."""
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
    """Return the columns by profile and policy, in their order."""
    found: dict[tuple[str, str], list[Column]] = {}
    for column in summary.columns:
        found.setdefault((column.profile, column.policy), []).append(column)
    return tuple(ColumnGroup(*key, tuple(columns), summary) for key, columns in found.items())
