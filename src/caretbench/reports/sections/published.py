"""Section of the suite's published numbers, next to ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from caretbench.reports.published import (
    PublishedComparison,
    PublishedJudgeScore,
    compare_judge_scores,
    compare_with_published,
)
from caretbench.reports.section import PagePart, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    Field,
    ReportTable,
    number_field,
    percent,
    present,
    score_field,
    table_of,
    text_field,
)


class PublishedSection(Section):
    """Section of printed numbers next to ours; only on request."""

    positions = SectionPositions(text=80, page=40)
    part = PagePart("published", "Published", "Published numbers")
    published = True

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return a table of rates and similarities, and one of judge scores."""
        judged = _judged_table(compare_judge_scores(summary))
        return present([published_table(compare_with_published(summary)), judged])


def published_table(rows: Sequence[PublishedComparison]) -> ReportTable | None:
    """Return printed numbers next to ours; None if nothing is published for what was run."""
    if not rows:
        return None
    fields = [
        (
            row.table,
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
    agreeing = sum(row.agrees for row in rows)
    heads = ("Table", "Model", "Part", "Metric", "Printed", "Ours", "Ours can be", "Printed lies inside")
    caption = (
        f"{rows[0].profile} profile; {agreeing} of {len(rows)} printed values lie where ours can. Pass "
        "rates can be what they would be if all problems left out here failed, or all passed."
    )
    return table_of("Published numbers beside ours", heads, fields, caption)


def _part(row: PublishedComparison | PublishedJudgeScore) -> str:
    return row.label if row.label == "all" else f"{row.stratum} {row.label}"


def _published_number(metric: str, value: float) -> Field:
    return number_field(value, f"{value:.4f}" if metric.startswith("cosine") else percent(value, 2))


def _published_range(row: PublishedComparison) -> str:
    if row.metric != "pass@1":
        return "as printed" if row.agrees else "differs"
    return f"{percent(row.low)} to {percent(row.high)}"


def _judged_table(rows: Sequence[PublishedJudgeScore]) -> ReportTable | None:
    if not rows:
        return None
    fields = [
        (
            row.table,
            row.model,
            _part(row),
            row.criterion,
            row.grader,
            score_field(row.printed),
            score_field(row.ours),
        )
        for row in rows
    ]
    return table_of(
        f"Published judge scores beside ours ({', '.join(dict.fromkeys(row.validity for row in rows))})",
        ("Table", "Model", "Part", "Criterion", "Grader here", "Printed", "Ours"),
        fields,
        (
            "Not a reproduction: the paper's judge was o3-mini with a prompt of its own wording, and its judgements "
            "are not published. Another grader or another wording gives other scores."
        ),
    )
