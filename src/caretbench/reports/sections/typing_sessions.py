"""Section of typing sessions: keys saved beside pass@1, over latency and suggestions shown, and one session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.charts import (
    Spec,
    field,
    finished_spec,
    layer,
    layered,
    model_colour,
    points_with_intervals,
    share_axis,
    tooltips,
)
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.typing_results import COUNTS, Curve, TypedModel, typing_summary
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
        rows: list[FieldValues] = [
            (
                title_field(one.title, baseline=one.floor), one.sessions, one.incomplete,
                rate_field(one.beyond_words), rate_field(one.saved),
                *(digits_field(one.counts.get(name), ".1f") for name in COUNTS), digits_field(one.reading_ms, ".0f"),
            )
            for one in typing.models
        ]  # fmt: skip
        title = f"Simulated typing sessions ({typing.version}, policy {typing.policy})"
        yield table_of(title, heads, rows, _CAPTION)

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield the keys saved of each model."""
        for one in summary.typing.models if summary.typing else ():
            common = {"scope": "typing", "model": one.title}
            for metric, number in (("keys_saved_beyond_words", one.beyond_words), ("keys_saved", one.saved)):
                yield common | {"metric": metric} | number.numbers()

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the tables, the charts, and one session of the best model."""
        typing = shown.summary.typing
        if typing is None:
            return []
        models = [one for one in typing.models if not one.floor]
        medians = [{"model": one.title, "x": one.latency_ms} for one in models if one.latency_ms is not None]
        latency = _curves(
            {one.title: one.by_latency for one in models}, "Latency in milliseconds; vertical: the measured median",
            medians,
        )  # fmt: skip
        shorter = _curves({one.title: one.by_shown for one in models}, "Suggestions shown per 100 characters")
        charts = [
            Chart("typing-passes", "Keys saved beside pass@1 (simulated)", _beside_passes(shown.summary, models)),
            Chart("typing-latency", "Keys saved over latency (simulated)", latency),
            Chart("typing-shown", "Keys saved where short suggestions are hidden (simulated)", shorter),
        ]
        blocks = [PageBlock(tables=[*self.tables(shown.summary)]), PageBlock(charts=charts)]
        example = next((one for one in models if one.example), None)
        if example is not None:
            note = "Green: accepted. Crossed out: shown and wrong. The rest is typed."
            title = f"{typing.example_problem} with {example.title} (simulated)"
            blocks.append(PageBlock(title=title, notes=[note], coloured=example.example, folded=True))
        return blocks


def _beside_passes(summary: Summary, models: Sequence[TypedModel]) -> Spec | None:
    """Return a point for each model with pass@1; None without any."""
    ours = headline_columns(summary.columns, summary.manifest.get("profile"), summary.manifest.get("policy"))
    rates = {column.title: column.leading_of(column.overall).get(1) for column in ours}
    rows = [
        {"model": one.title, "rate": rate.value, "saved": one.beyond_words.value, "low": one.beyond_words.low,
         "high": one.beyond_words.high}
        for one in models
        if (rate := rates.get(one.title)) is not None
    ]  # fmt: skip
    if not rows:
        return None
    base = {"y": field("rate:Q", **share_axis("pass@1")), "tooltip": tooltips({"model": "N"}, ("saved", "rate"))}
    colour = model_colour([one.title for one in models])
    points = points_with_intervals(rows, base, field("saved:Q", **share_axis(_SAVED)), colour)
    return finished_spec(points, 220, "pass@1 and keys saved")


def _curves(
    curves: Mapping[str, Curve], title: str,
    medians: Sequence[Mapping[str, object]] = (),
) -> Spec:  # fmt: skip
    """Return a line for each model, and a vertical rule at each median."""
    rows = [{"model": model, "x": x, "saved": saved} for model, points in curves.items() for x, saved in points]
    colour = model_colour([*curves])
    place = {"x": field("x:Q", title=title), "color": colour}
    line = layer("line", {**place, "y": field("saved:Q", **share_axis(_SAVED))}, point=True)
    chart = layered(rows, line)
    if medians:
        rule = layer("rule", place, strokeDash=[4, 4])
        chart["layer"].append({"data": {"values": list(medians)}, **rule})
    return finished_spec(chart, 220, title)
