"""Head of a page: texts and positions for its template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from caretbench.reports.head.findings import NO_NUMBER, findings, head_sentences
from caretbench.reports.head.head_values import HeadPart, RankedModel
from caretbench.reports.head.ranking import number_of
from caretbench.reports.summary import Summary
from caretbench.suites import suite_of_run

SHOWN_WARNINGS = 5
"""Number of warnings that are not folded."""


class RankedLine(NamedTuple):
    """Line of the ranked list: texts, and positions of point and interval in percent of the line.

    ``more`` has the number of problems where it is not that of most lines, and the time of an answer.
    """

    title: str
    baseline: bool
    number: str
    interval: str
    more: str
    low: float
    high: float
    point: float


class PageHeadPart(NamedTuple):
    """Part of a page's head."""

    title: str
    sentences: list[str]
    about: str
    over: str
    ends: tuple[str, str]
    lines: list[RankedLine]


class PageHead(NamedTuple):
    """Head of a page: a line about the run, its main sentence, further sentences, ranked lists, warnings."""

    run: str
    title: str
    sentences: list[str]
    parts: list[PageHeadPart]
    warnings: tuple[str, ...]
    folded: tuple[str, ...]


_NONE = PageHeadPart("", [], "", "", ("", ""), [])


def page_head(summary: Summary) -> PageHead:
    """Return the head of the page of a run."""
    suite = suite_of_run(summary.suite)
    counts = {**summary.verdicts, "not validated": summary.problems - sum(summary.verdicts.values())}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count and summary.verdicts)
    facts = [suite.title if suite else summary.suite, f"run {summary.run}" if summary.run else ""]
    facts += [f"{summary.problems} problems" + (f" ({verdicts})" if verdicts else "")]
    facts += [f"{summary.manifest['profile']} profile" if summary.manifest.get("profile") else ""]
    head = summary.head
    sentences = head_sentences(head) if head else [NO_NUMBER]
    parts = [_part(part) for part in head.parts] if head else []
    if len(parts) == 1:
        sentences, parts = [*sentences, *parts[0].sentences], [parts[0]._replace(sentences=[])]
    return PageHead(
        run=" · ".join(filter(None, facts)),
        title=sentences[0] if sentences else _several_numbers(head.parts if head else ()),
        sentences=sentences[1:],
        parts=[
            part._replace(about="") if part.about == before.about else part
            for before, part in pairwise([_NONE, *parts])
        ],
        warnings=summary.warnings[:SHOWN_WARNINGS],
        folded=summary.warnings[SHOWN_WARNINGS:],
    )


def _several_numbers(parts: Sequence[HeadPart]) -> str:
    """Return the title over several parts, none of which is the answer alone."""
    count = f"{len(parts)} numbers, which are not averaged"
    first = {part.models[0].title if part.models else "" for part in parts}
    several = all(len(part.models) > 1 for part in parts)
    return f"{first.pop()} is first in all of {count}" if len(first) == 1 and several else count


def _part(part: HeadPart) -> PageHeadPart:
    counts = Counter(entry.estimate.problems for entry in part.ranking)
    (usual, count), *_ = counts.most_common(1)
    others = f", {len(part.ranking) - count} over fewer or more" if len(counts) > 1 else ""
    return PageHeadPart(
        title=part.heading,
        sentences=findings(part),
        about=f"{part.measure.about}.",
        over=f"Over {usual} problems{others}.",
        ends=("0%", "100%") if part.measure.similarity is None else ("0", "1"),
        lines=[_line(part, entry, counted=entry.estimate.problems != usual) for entry in part.ranking],
    )


def _line(part: HeadPart, entry: RankedModel, *, counted: bool) -> RankedLine:
    number, field = entry.estimate, number_of(part, entry)
    low = number.value if number.low is None else number.low
    high = number.value if number.high is None else number.high
    times = (("first token", entry.first_token_s), ("answer", entry.last_token_s))
    more = [f"{number.problems} problems"] if counted else []
    more += [f"{name} {value:.2f} s" for name, value in times if value is not None]
    return RankedLine(
        title=entry.title,
        baseline=entry.baseline,
        number=field.text,
        interval=field.note,
        more=", ".join(more),
        low=_percent(low),
        high=_percent(high),
        point=_percent(number.value),
    )


def _percent(value: float) -> float:
    return round(100 * min(1.0, max(0.0, value)), 2)
