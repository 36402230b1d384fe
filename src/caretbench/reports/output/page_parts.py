"""Parts of a page: its head, with texts and positions for the template, and the legends of its charts.

Legends are HTML, which wraps at any width; those of Vega are cut where a chart is narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from caretbench.reports.charts import SERIES
from caretbench.reports.head.head_texts import NO_NUMBER, cost_text, head_sentences, number_of, part_sentences
from caretbench.reports.head.head_values import HeadPart, RankedModel, ReportHead
from caretbench.reports.section import Chart, LegendEntry
from caretbench.reports.summary import Summary
from caretbench.reports.tables import percent
from caretbench.suites import suite_of_run

SHOWN_WARNINGS = 5
"""Number of warnings that are not folded."""


class RankedLine(NamedTuple):
    """Line of the ranked list: texts, and positions of point and interval in percent of the line.

    ``more`` has the number of problems where it is not that of most lines, the rate on the problems that stand beside,
    empty answers, baselines that are better, time and cost of an answer.
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
    head = summary.head
    sentences = head_sentences(head) if head else [NO_NUMBER]
    parts = [_part(head, part) for part in head.parts] if head else []
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
    rows = [part.others for part in parts]
    if not all(part.models and len(part.others) == len(part.models) - 1 > 0 for part in parts):
        return count
    if not any(row.distinguishable for part in parts for row in part.pairs):
        return f"No models can be told apart in any of {count}"
    better = all(row.distinguishable and row.difference > 0 for others in rows for row in others)
    best = {others[0].first for others in rows}
    return f"{best.pop()} is better than all others in each of {count}" if better and len(best) == 1 else count


def _part(head: ReportHead, part: HeadPart) -> PageHeadPart:
    counts = Counter(entry.estimate.problems for entry in part.ranking)
    (usual, _), *_ = counts.most_common(1)
    others = ", unless a row names another number" if len(counts) > 1 else ""
    return PageHeadPart(
        title=part.heading,
        sentences=part_sentences(head, part),
        about=part.about,
        over=f"Over {usual} {part.counted if part.counted == 'valid problems' else 'problems'}{others}.",
        ends=("0%", "100%") if part.measure.similarity is None else ("0", "1"),
        lines=[_line(part, entry, counted=entry.estimate.problems != usual) for entry in part.ranking],
    )


def _line(part: HeadPart, entry: RankedModel, *, counted: bool) -> RankedLine:
    number, field = entry.estimate, number_of(part, entry)
    low = number.value if number.low is None else number.low
    high = number.value if number.high is None else number.high
    times = (("first token", entry.first_token_s), ("answer", entry.last_token_s))
    more = [f"{number.problems} problems"] if counted else []
    more += [] if entry.beside is None else [f"{part.beside} {percent(entry.beside.value)}"]
    more += [f"empty {percent(entry.empty)}"] if entry.empty else []
    more += [f"below {', '.join(entry.below)}"] if entry.below else []
    more += [f"{name} {value:.2f} s" for name, value in times if value is not None]
    more += [f"{cost_text(entry.cost)} an answer"] if entry.cost is not None else []
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


def with_legend(chart: Chart) -> Chart:
    """Return a chart whose colours of names have their legend outside of the specification.

    Names without colours of their own get those of the page.
    """
    spec = chart.spec or {}
    rows = (spec.get("data") or {}).get("values", ())
    legend: dict[str, str] = {}
    changed = _changed(spec, rows, legend)
    return chart._replace(spec=changed, legend=tuple(LegendEntry(*entry) for entry in legend.items()))


def _changed(value: Any, rows: Sequence[Mapping[str, Any]], legend: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_changed(item, rows, legend) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: _colour(item, rows, legend)
        if name == "color" and isinstance(item, Mapping) and item.get("type") == "nominal"
        else item
        if name == "data"
        else _changed(item, rows, legend)
        for name, item in value.items()
    }


def _colour(encoding: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], legend: dict[str, str]) -> dict[str, Any]:
    """Return the encoding of names by colour without a legend; add its names to ``legend`` if it shall have one."""
    scale = encoding.get("scale") or {}
    names = scale.get("domain") or list(_legend_names(rows, str(encoding["field"])))
    colours = scale.get("range") or [SERIES[index % len(SERIES)] for index in range(len(names))]
    if "legend" not in encoding or encoding["legend"] is not None:
        legend |= dict(zip(map(str, names), colours, strict=False))
    return {**encoding, "legend": None, "scale": {**scale, "domain": names, "range": colours}}


def _legend_names(rows: Sequence[Mapping[str, Any]], field: str) -> Iterator[str]:
    return iter(dict.fromkeys(str(row[field]) for row in rows if row.get(field) is not None))
