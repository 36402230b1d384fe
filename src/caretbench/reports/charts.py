"""Common parts of charts: Vega-Lite specifications, which the page draws.

Colours are CSS variables of the page, so that one chart fits dark, light and print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one. Written as data: altair takes half a second of CPU to load."""

INK, SOFT, GRID, GOOD, OURS = "var(--ink)", "var(--soft)", "var(--grid)", "var(--good)", "var(--ours)"
SERIES = tuple(f"var(--series-{number})" for number in range(1, 9))
BAD = tuple(f"var(--bad-{number})" for number in range(1, 13))
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"

_LETTER, _LEGEND_LABEL, _LEGEND_WIDTH = 7, 260, 420
"""Widths in pixels: of a letter in a legend, of its longest label, and of a legend in half a page."""

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_TYPES: Final = {"N": "nominal", "Q": "quantitative"}


def field(shorthand: str, **options: Any) -> Spec:
    """Return the encoding of a field by its name and type: ``rate:Q`` (quantitative) or ``model:N`` (nominal)."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def layered(rows: Sequence[Mapping[str, Any]], *layers: Spec) -> Spec:
    """Return a chart of several layers, which show the same rows."""
    return {"data": {"values": list(rows)}, "layer": list(layers)}


def layer(mark: str, encoding: Mapping[str, Any], **options: Any) -> Spec:
    """Return one layer: a mark with its options, and the encoding of its channels."""
    return {"mark": {"type": mark, **options}, "encoding": dict(encoding)}


def name_axis(label_limit: int = 220, **options: Any) -> Spec:
    """Return an axis of names: labels without ticks and line."""
    return {"labelLimit": label_limit, "ticks": False, "domain": False, **options}


def share_axis(title: str, **options: Any) -> Spec:
    """Return options of a field that is shown as a percentage from 0 to 100."""
    return {"title": title, "scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 6}, **options}


def bars_with_intervals(rows: Sequence[Mapping[str, Any]], base: Mapping[str, Any], x: Spec, colour: Spec) -> Spec:
    """Return a bar for each row, with a line from ``low`` to ``high``."""
    ends = {"x": field("low:Q"), "x2": {"field": "high"}}
    return layered(
        rows,
        layer("bar", {**base, "x": x, "color": colour}, cornerRadiusEnd=2),
        layer("rule", {**base, **ends}, strokeWidth=1.6, color=INK),
    )


def stacked_shares(rows: Sequence[Mapping[str, Any]], bar: Spec, part: Spec, title: str) -> Spec:
    """Return stacked bars that add up to one; rows have ``share``, ``count`` and ``place`` (the order in a bar)."""
    encoding = {
        "y": bar,
        "x": field("share:Q", **share_axis(title, stack="zero")),
        "color": part,
        "order": field("place:Q"),
        "tooltip": [
            *(field(f"{shown['field']}:N") for shown in (bar, part)),
            field("count:Q"),
            field("share:Q", format=".1%"),
        ],
    }
    return {"data": {"values": list(rows)}, **layer("bar", encoding, stroke="var(--surface)", strokeWidth=1)}


def heat_map(
    rows: Sequence[Mapping[str, Any]], base: Mapping[str, Any], share: str, number: Spec, size: float, corner: int
) -> Spec:
    """Return a heat map: rectangles coloured by ``share`` (0 to 1) with a number in each."""
    scale = {"domain": [0, 0.5, 1], "range": ["#b2442f", "#f1e6c8", "#1d6b57"], "interpolate": "lab"}
    dark = f"datum.{share} > 0.78 || datum.{share} < 0.2"
    ink = {"condition": {"test": dark, "value": "#ffffff"}, "value": "#1b2330"}
    return layered(
        rows,
        layer(
            "rect",
            {**base, "color": field(f"{share}:Q", scale=scale, legend=None)},
            cornerRadius=corner,
            stroke="transparent",
            strokeWidth=corner,
        ),
        layer("text", {**base, "text": number, "color": ink}, fontSize=size, fontWeight=600),
    )


def model_colour(models: Sequence[str]) -> Spec:
    """Return the encoding of models by colour; with a legend if there are several."""
    colours = [SERIES[place % len(SERIES)] for place in range(len(models))]
    scale = {"domain": list(models), "range": colours}
    # Two charts are side by side: a legend wider than one chart wraps to the next row.
    widest = max((min(len(name) * _LETTER, _LEGEND_LABEL) for name in models), default=0) + 2 * _LETTER
    columns = max(1, _LEGEND_WIDTH // widest)
    legend = {"orient": "top", "title": None, "labelLimit": _LEGEND_LABEL, "columns": columns}
    return field("model:N", sort=list(models), scale=scale, legend=legend if len(models) > 1 else None)


def tooltips(plain: Mapping[str, str], numbers: Sequence[str], form: str = ".1%") -> list[Spec]:
    """Return tooltips of plain fields by their types, and of numbers in a format."""
    shown = [field(f"{name}:{kind}") for name, kind in plain.items()]
    return shown + [field(f"{name}:Q", format=form) for name in numbers]


def finished_spec(chart: Spec, height: int | Mapping[str, int], description: str) -> Spec:
    """Return the specification of a chart as wide as its container, with the page's colours and fonts."""
    axis = {"labelColor": INK, "titleColor": SOFT, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "$schema": _SCHEMA,
        "width": "container",
        "height": height,
        "background": "transparent",
        "description": description,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": _FONT,
            "axis": axis | sizes,
            "view": {"stroke": None},
            "legend": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 12},
            "title": {"color": INK, "fontSize": 13, "anchor": "start", "fontWeight": 600},
        },
        **chart,
    }
