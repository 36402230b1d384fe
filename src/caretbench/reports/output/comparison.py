"""Tables of a comparison of runs."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.reports.compare import ComparisonReport
from caretbench.reports.results.paired_models import ComparisonRow
from caretbench.reports.tables import (
    ReportTable,
    TableField,
    display_stratum,
    number_field,
    share_field,
    table_of,
    text_field,
)
from caretbench.text_tables import p_text


def comparison_tables(report: ComparisonReport) -> list[ReportTable]:
    """Return the tables of a comparison: overall, then by strata."""
    found = [comparison_table("Overall, on the problems with verdicts on both sides", report.overall)]
    for scope in dict.fromkeys(row.scope for row in report.strata):
        rows = [row for row in report.strata if row.scope == scope]
        found.append(comparison_table(f"By {display_stratum(scope)}", rows))
    return found


def comparison_table(title: str, rows: Sequence[ComparisonRow], measure: str = "pass@1") -> ReportTable:
    """Return the table of tests; ``measure`` is the title of the compared number."""
    strata = any(row.label != "all" for row in rows)
    heads = ("First", "Second", *(("Part",) if strata else ()), "Problems", f"First {measure}", f"Second {measure}")
    heads += ("First minus second (points)", "p (Holm)", "Test", "Verdict")
    fields = [
        (
            row.first,
            row.second,
            *((row.label,) if strata else ()),
            row.problems,
            share_field(row.first_rate),
            share_field(row.second_rate),
            _difference(row),
            number_field(row.p_value, p_text(row.p_value)),
            row.test,
            text_field(row.verdict, "good" if row.distinguishable else ""),
        )
        for row in rows
    ]
    return table_of(title, heads, fields)


def _difference(row: ComparisonRow) -> TableField:
    note = "" if row.low is None or row.high is None else f"{100 * row.low:+.1f} to {100 * row.high:+.1f}"
    return number_field(row.difference, f"{100 * row.difference:+.1f}", note)
