"""Section that compares published numbers of the suite with those of the run."""

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
    ReportTable,
    TableField,
    existing_tables,
    number_field,
    percent,
    score_field,
    table_of,
    text_field,
)


class PublishedSection(Section):
    """Section of published numbers with those of the run; only on request."""

    positions = SectionPositions(text=80, page=40)
    part = PagePart("published", "Published", "Published numbers")
    published = True

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return a table of rates and similarities, and one of judge scores."""
        judged = _judged_table(compare_judge_scores(summary))
        return existing_tables([published_table(compare_with_published(summary)), judged])


def published_table(rows: Sequence[PublishedComparison]) -> ReportTable | None:
    """Return the table of published numbers with those of the run; None without published numbers."""
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
    heads = ("Table", "Model", "Part", "Metric", "Published", "Ours", "Range of ours", "Published inside")
    caption = (
        f"{rows[0].profile} profile; {agreeing} of {len(rows)} published values are in the range of ours. The range "
        "of a pass rate covers excluded problems: from all failed to all passed."
    )
    return table_of("Published numbers and ours", heads, fields, caption)


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
        (row.table, row.model, _part(row), row.criterion, row.grader, score_field(row.printed), score_field(row.ours))
        for row in rows
    ]
    return table_of(
        f"Published judge scores and ours ({', '.join(dict.fromkeys(row.validity for row in rows))})",
        ("Table", "Model", "Part", "Criterion", "Grader here", "Published", "Ours"),
        fields,
        (
            "Not a reproduction: the paper's judge was o3-mini with another prompt, and its judgements are not "
            "published. Scores depend on grader and prompt."
        ),
    )
