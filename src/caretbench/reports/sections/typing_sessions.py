"""Section of typing sessions: keys saved beside pass@1, over latency and suggestions shown, and one session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.charts import Spec, field, finished_spec, layer, layered, model_colour, share_axis
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.typing_results import (
    COUNTS,
    LATENCY,
    LEAST_SHOWN,
    MEASURED,
    TypedResult,
    typing_summary,
)
from caretbench.reports.section import Chart, Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary, headline_columns
from caretbench.reports.tables import FieldValues, ReportTable, digits_field, rate_field, table_of, title_field

_SAVED = "Keys saved beyond word completion (simulated)"
_CAPTION = (
    "Simulated: a developer who knows the reference types it without errors and takes what agrees. Real savings are "
    "far lower. Counts are for each 100 characters; unseen: what came too late at the median latency. Milliseconds: a "
    "suggestion must be read faster than that to spare time."
)


class TypingSection(Section):
    """Section of typing sessions."""

    positions = SectionPositions(text=25, page=15, lines=45)
    part = PagePart("typing", "Typing", "Simulated typing sessions", "what a model spares while the reference is typed")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the typing sessions."""
        return {"typing": typing_summary(source.run, source.seed)}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return the changes of the order of models under other policies."""
        return summary.typing.warnings if summary.typing else ()

    def tables(self, summary: Summary) -> Iterator[ReportTable]:
        """Yield keys saved, and suggestions by outcome."""
        if (typing := summary.typing) is None:
            return
        heads = ("Model", "Sessions", "Incomplete", "Keys saved beyond words", "Keys saved", "Requests", "Shown",
                 "Accepted", "Wrong", "Too short", "Unseen", "Milliseconds")  # fmt: skip
        late = {result.title: result.counts["unseen"] for result in typing.under(MEASURED)}
        rows: list[FieldValues] = [
            (
                title_field(result.title, baseline=result in typing.floors), result.sessions, result.incomplete,
                rate_field(result.beyond_words), rate_field(result.saved),
                *(digits_field(result.counts.get(name), ".1f") for name in COUNTS),
                digits_field(late.get(result.title, result.counts.get("unseen")), ".1f"),
                digits_field(result.reading_ms, ".0f"),
            )
            for result in (*typing.under(typing.policy), *typing.floors)
        ]  # fmt: skip
        title = f"Simulated typing sessions ({typing.version}, policy {typing.policy})"
        yield table_of(title, heads, rows, _CAPTION)

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield the keys saved of each model."""
        typing = summary.typing
        for result in (*typing.under(typing.policy), *typing.floors) if typing else ():
            common = {"scope": "typing", "model": result.title}
            for metric, number in (("keys_saved_beyond_words", result.beyond_words), ("keys_saved", result.saved)):
                yield common | {"metric": metric} | number.numbers()

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the tables, the charts, and one session of the best model."""
        summary, typing = shown.summary, shown.summary.typing
        if typing is None:
            return []
        ours = headline_columns(summary.columns, summary.manifest.get("profile"), summary.manifest.get("policy"))
        rates = {column.title: rate.value for column in ours if (rate := column.leading_of(column.overall).get(1))}
        models = typing.under(typing.policy)
        passes = [_point(result, rates[result.title]) for result in models if result.title in rates]
        waits = [_point(result, result.value) for result in typing.under(LATENCY)]
        medians = [_point(result, result.value) for result in typing.under(MEASURED)]
        lengths = [_point(result, result.counts["shown"]) for result in typing.under(LEAST_SHOWN)]
        colour = model_colour([result.title for result in models])
        wait_axis = {"title": "Latency in milliseconds; vertical: the measured median"}
        shown_axis = {"title": "Suggestions shown per 100 characters"}
        specs = {
            "beside pass@1": _chart(passes, share_axis("pass@1"), colour),
            "over latency": _chart(waits, wait_axis, colour, medians),
            "where short suggestions are hidden": _chart(lengths, shown_axis, colour),
        }
        charts = [Chart(f"typing-{title}", f"Keys saved {title} (simulated)", spec) for title, spec in specs.items()]
        title = f"{typing.example_title} (simulated)"
        note = "Green: accepted. Crossed out: shown and wrong. The rest is typed."
        example = PageBlock(title=title, notes=[note], coloured=typing.example, folded=True)
        return [PageBlock(tables=[*self.tables(summary)]), PageBlock(charts=charts), example]


def _point(result: TypedResult, x: float) -> Spec:
    saved = result.beyond_words
    return {"model": result.title, "x": x, "saved": saved.value, "low": saved.low, "high": saved.high}


def _chart(rows: Sequence[Spec], axis: Spec, colour: Spec, medians: Sequence[Spec] = ()) -> Spec | None:
    """Return a line of points with intervals for each model, and a rule at each median; None without points."""
    if not rows:
        return None
    channels = {"x": field("x:Q", **axis), "color": colour}
    line = layer("line", {**channels, "y": field("saved:Q", **share_axis(_SAVED))}, point=True)
    chart = layered(rows, line, layer("rule", {**channels, "y": field("low:Q"), "y2": {"field": "high"}}, opacity=0.4))
    if medians:
        chart["layer"].append({"data": {"values": medians}, **layer("rule", channels, strokeDash=[4, 4])})
    return finished_spec(chart, 220, axis["title"])
