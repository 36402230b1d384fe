"""Sections of lists: excluded problems, flagged passes, and answers whose similarity and execution disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from caretbench.execution.scan.tamper import FLAGS
from caretbench.reports.frame import GROUP
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.problem_lists import KIND_TITLES, FlaggedAnswers, discordant_cases, flagged_answers
from caretbench.reports.section import Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    ReportTable,
    display_label,
    existing_tables,
    number_field,
    percent,
    rate_field,
    table_of,
    text_field,
)
from caretbench.text_tables import counted

LISTED_CASES = 40
"""Maximum number of listed cases of each kind; the total is always shown."""


class ExcludedProblemsSection(Section):
    """Section of excluded problems, by cause."""

    positions = SectionPositions(text=40, page=60)
    part = PagePart("excluded", "Excluded", "Excluded problems")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the problems by profile and cause."""
        return {"excluded": source.excluded}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return one table of causes."""
        return existing_tables([excluded_table(summary)])

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the table, and all problems in a folded list."""
        lists = PageBlock(title="All excluded problems", folded=True, lists=shown.summary.excluded)
        return [*super().blocks(shown), lists] if lists.lists else []


class DiscordantSection(Section):
    """Section of answers whose similarity and execution disagree; on the page only."""

    positions = SectionPositions(page=70)
    part = PagePart("discordant", "Discordant", "Similarity and execution disagree")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the listed cases of models, and their total numbers."""
        models = source.run.frame.filter(~pl.col("model").is_in(source.run.baselines))
        cases = discordant_cases(models, LISTED_CASES)
        return {"discordant": cases.listed, "discordant_totals": cases.totals}

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return a table for each kind."""
        tables = list(_discordant_tables(shown.summary))
        return [PageBlock(tables=tables)] if tables else []


def excluded_table(summary: Summary) -> ReportTable | None:
    """Return the table of excluded problems by cause; None if there are none."""
    if not summary.excluded:
        return None
    rows = [(entry.cause, entry.profile, len(entry.problems), _ids(entry.problems)) for entry in summary.excluded]
    return table_of("Excluded problems, by cause", ("Cause", "Profile", "Problems", "Ids"), rows)


def _ids(problems: Sequence[str]) -> str:
    more = f" and {len(problems) - 6} more" if len(problems) > 6 else ""
    return ", ".join(problems[:6]) + more


def _discordant_tables(summary: Summary) -> Iterator[ReportTable]:
    """Yield the discordant cases, a table for each kind."""
    heads = ("Problem", "Model", "Language", "Category", "Cosine", "Status")
    for kind, title in KIND_TITLES.items():
        cases = [case for case in summary.discordant if case.kind == kind]
        rows = [
            (
                case.problem_id,
                case.model,
                text_field(case.language and display_label("language", case.language)),
                text_field(case.category and display_label("category", case.category)),
                number_field(case.similarity, f"{case.similarity:.2f}"),
                text_field(case.status),
            )
            for case in cases
        ]
        total = summary.discordant_totals.get(kind, len(cases))
        caption = (
            f"{counted(total, 'completion')} in all; listed: {counted(len(cases), 'problem')}, the most extreme first."
        )
        if cases:
            yield table_of(title, heads, rows, caption)


class FlagsSection(Section):
    """Section of flagged passes."""

    positions = SectionPositions(text=30, page=50, lines=20)
    part = PagePart("flagged", "Flagged", "Flagged passes")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the flagged answers by model; baselines are no models and cannot cheat."""
        models = [column for column in source.columns if not column.baseline]
        titles = {tuple(getattr(column, name) for name in GROUP): column.title for column in models}
        return {"flagged": tuple(flagged_answers(source.run.frame, source.excluded, titles, source.seed))}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return pass@1 with and without flagged passes, by model; then the flags by kind."""
        return (_rates_table(summary.flagged), _kinds_table(summary.flagged)) if summary.flagged else ()

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return flagged passes, the rate without them, and counts by flag."""
        return (line for entry in summary.flagged for line in _lines(entry))


def _rates_table(flagged: Sequence[FlaggedAnswers]) -> ReportTable:
    heads = ("Model", "Profile", "Policy", "Passes", "Flagged passes", "pass@1", "pass@1, flagged passes failed")
    rows = [
        (
            entry.title,
            entry.profile,
            entry.policy,
            entry.passes,
            number_field(entry.flagged_passes, note=_share(entry.flagged_passes, entry.passes)),
            rate_field(entry.pass_at_1),
            rate_field(entry.pass_at_1_without),
        )
        for entry in flagged
    ]
    caption = (
        "A flag marks a suspicious answer: it contains something that an honest answer does not need and the "
        "reference does not contain. Flags change no verdict; the last column counts flagged passes as failures."
    )
    return table_of("Flagged passes", heads, rows, caption)


def _kinds_table(flagged: Sequence[FlaggedAnswers]) -> ReportTable:
    meanings = {f"tamper:{name}": meaning for name, meaning in FLAGS.items()}
    rows = [
        (flag, text_field(meanings.get(flag)), entry.title, entry.profile, entry.policy, count.answers, count.passes)
        for entry in flagged
        for flag, count in entry.kinds.items()
    ]
    heads = ("Flag", "Suspicious behaviour", "Model", "Profile", "Policy", "Answers", "Passes")
    return table_of("Flags by kind", heads, rows)


def _share(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of its passes" if whole else ""


def _lines(entry: FlaggedAnswers) -> Iterator[Line]:
    """Yield flagged passes, the rate without them, and the numbers of answers and passes with each flag."""
    common = {name: getattr(entry, name) for name in GROUP} | {"scope": "flagged"}
    yield common | {"metric": "pass@1 without flagged"} | entry.pass_at_1_without.numbers()
    yield common | {"metric": "flagged_passes", "value": entry.flagged_passes}
    for flag, count in entry.kinds.items():
        yield common | {"metric": f"{flag} answers", "value": count.answers}
        yield common | {"metric": f"{flag} passes", "value": count.passes}
