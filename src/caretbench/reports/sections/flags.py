"""Section of flagged passes, for runs with flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caretbench.execution.scan.tamper import FLAGS
from caretbench.reports.frame import GROUP
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.flags import FlaggedAnswers, flagged_answers
from caretbench.reports.section import Line, PagePart, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable, number_field, percent, rate_field, table_of, text_field


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
        (flag, text_field(meanings.get(flag)), one.title, one.profile, one.policy, count.answers, count.passes)
        for one in flagged
        for flag, count in one.kinds.items()
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
