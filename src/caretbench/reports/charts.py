"""Common parts of charts: Vega-Lite specifications, which the page draws.

Colours are CSS variables of the page, so that one chart fits dark, light and print.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

Spec = dict[str, Any]

INK, SOFT, GRID, GOOD, OURS = "var(--ink)", "var(--soft)", "var(--grid)", "var(--good)", "var(--ours)"
SERIES = tuple(f"var(--series-{number})" for number in range(1, 9))
BAD = tuple(f"var(--bad-{number})" for number in range(1, 13))
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"

_LETTER, _LEGEND_LABEL, _LEGEND_WIDTH = 7, 260, 420
"""Widths in pixels: of a letter in a legend, of its longest label, and of a legend in half a page."""


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return a chart of some rows, which become part of its specification."""
    data = alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # altair leaves this one untyped
    return alt.Chart(data)


def name_axis(label_limit: int = 220, **options: Any) -> alt.Axis:
    """Return an axis of names: labels without ticks and line."""
    return alt.Axis(labelLimit=label_limit, ticks=False, domain=False, **options)


def bars_with_intervals(base: alt.Chart, x: alt.X, colour: alt.Color) -> Any:
    """Return a bar for each row, with a line from ``low`` to ``high``."""
    bars = base.mark_bar(cornerRadiusEnd=2).encode(x=x, color=colour)
    return bars + base.mark_rule(strokeWidth=1.6, color=INK).encode(x="low:Q", x2="high:Q")


def stacked_shares(rows: Sequence[Mapping[str, Any]], bar: alt.Y, part: alt.Color, title: str) -> Any:
    """Return stacked bars that add up to one; rows have ``share``, ``count`` and ``place`` (the order in a bar)."""
    share = alt.X(
        "share:Q", stack="zero", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=6)
    )
    return (
        chart_of(rows)
        .mark_bar(stroke="var(--surface)", strokeWidth=1)
        .encode(
            y=bar,
            x=share,
            color=part,
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip(bar.shorthand),
                alt.Tooltip(part.shorthand),
                alt.Tooltip("count:Q"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )


def heat_map_marks(base: alt.Chart, share: str, number: alt.Text, size: float, corner: int) -> Any:
    """Return the marks of a heat map: rectangles coloured by ``share`` (0 to 1) with a number in each."""
    scale = alt.Scale(domain=[0, 0.5, 1], range=["#b2442f", "#f1e6c8", "#1d6b57"], interpolate="lab")
    fields = base.mark_rect(cornerRadius=corner, stroke="transparent", strokeWidth=corner).encode(
        color=alt.Color(f"{share}:Q", scale=scale, legend=None)
    )
    dark = f"datum.{share} > 0.78 || datum.{share} < 0.2"
    numbers = base.mark_text(fontSize=size, fontWeight=600).encode(
        text=number, color=alt.condition(dark, alt.value("#ffffff"), alt.value("#1b2330"))
    )
    return fields + numbers


def model_colour(models: Sequence[str]) -> alt.Color:
    """Return the encoding of models by colour; with a legend if there are several."""
    colours = [SERIES[place % len(SERIES)] for place in range(len(models))]
    scale = alt.Scale(domain=list(models), range=colours)
    # Two charts are side by side: a legend wider than one chart wraps to the next row.
    widest = max((min(len(name) * _LETTER, _LEGEND_LABEL) for name in models), default=0) + 2 * _LETTER
    legend = (
        alt.Legend(orient="top", title=None, labelLimit=_LEGEND_LABEL, columns=max(1, _LEGEND_WIDTH // widest))
        if len(models) > 1
        else None
    )
    return alt.Color("model:N", sort=list(models), scale=scale, legend=legend)


def tooltips(plain: Mapping[str, str], numbers: Sequence[str], form: str = ".1%") -> list[alt.Tooltip]:
    """Return tooltips of plain fields by their types, and of numbers in a format."""
    shown = [alt.Tooltip(f"{name}:{kind}") for name, kind in plain.items()]
    return shown + [alt.Tooltip(f"{name}:Q", format=form) for name in numbers]


def finished_spec(chart: Any, height: int | Mapping[str, int], description: str) -> Spec:
    """Return the specification of a chart as wide as its container, with the page's colours and fonts."""
    configured = (
        chart.properties(
            width="container",
            height=height,
            background="transparent",
            description=description,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(font=_FONT)
        .configure_axis(
            labelColor=INK,
            titleColor=SOFT,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_view(stroke=None)
        .configure_legend(labelColor=INK, titleColor=SOFT, labelFontSize=12)
        .configure_title(color=INK, fontSize=13, anchor="start", fontWeight=600)
    )
    with warnings.catch_warnings():
        # altair's hints about automatic types do not apply: all are given
        warnings.simplefilter("ignore", UserWarning)
        spec: Spec = configured.to_dict()
    return spec
