"""Section of the report's head: ranked models, their differences, and warnings about the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.reports.head.head_computation import report_head
from caretbench.reports.head.head_values import ReportHead
from caretbench.reports.head.reading_warnings import reading_warnings
from caretbench.reports.output.comparison import comparison_table
from caretbench.reports.report_source import ReportSource
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section
from caretbench.reports.summary import Summary


class HeadSection(Section):
    """Section of the head. The outputs show it first; its part of the page has the tests of all pairs of models."""

    part = PagePart("comparison", "Comparison", "Pairs of models", "paired tests, corrected for their number (Holm)")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the head."""
        return {"head": report_head(source)}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return the warnings that change how the numbers are read."""
        return reading_warnings(summary)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the table of all pairs of models."""
        head = shown.summary.head
        rows = [row for part in head.parts for row in part.pairs] if head else []
        if head is None or not rows:
            return []
        note = (
            "Each row is over the problems that both models have. P values are adjusted for the number of rows "
            "(Holm); the 95% intervals are not."
        )
        return [PageBlock(notes=[note], tables=[comparison_table("Overall", rows, _title(head))])]


def _title(head: ReportHead) -> str:
    titles = {part.measure.title for part in head.parts}
    return titles.pop() if len(titles) == 1 else "rate"
