"""Common parts of charts: Vega-Lite specifications, which the page draws.

Colours are CSS variables of the page, so that one chart fits dark, light and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from caretbench.execution.execution_types import Status
from caretbench.metrics.error_kinds.kind_table import NO_ERROR, error_kind_table
from caretbench.metrics.error_kinds.kind_table import OURS as OURS_KIND

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one. Written as data: altair takes half a second of CPU to load."""

INK, SOFT, GRID, GOOD, OURS = "var(--ink)", "var(--soft)", "var(--grid)", "var(--good)", "var(--ours)"
SERIES = tuple(f"var(--series-{number})" for number in range(1, 9))
BAD = tuple(f"var(--bad-{number})" for number in range(1, 13))
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"

MANY: Final = 20
"""Minimum number of problems of a rectangle that does not fade."""
FADED: Final = 0.3
"""Opacity of a rectangle over few problems."""

HATCHES = ("url(#hatch-1)", "url(#hatch-2)", "url(#hatch-3)")
"""Fills of the statuses that are the machine's fault; the page defines the patterns."""
_FAILURES = tuple(status for status in Status if status.is_verdict and status is not Status.PASSED)
_FAULTS = tuple(status for status in Status if status.is_machine_fault)
_STATUS_COLOURS: Final[Mapping[str, str]] = {
    Status.PASSED.value: GOOD,
    NO_ERROR: GOOD,
    OURS_KIND: HATCHES[-1],
    **{status.value: colour for status, colour in zip(_FAILURES, BAD, strict=False)},
    **{status.value: hatch for status, hatch in zip(_FAULTS, HATCHES, strict=True)},
}
_KINDS: Final = {
    "wrong_output": Status.FAILED.value,
    "runtime_exception": Status.RUNTIME_ERROR.value,
    "compile_other": Status.COMPILE_ERROR.value,
}
"""Statuses of the error kinds that have the same meaning."""
_OTHERS = (*BAD[len(_FAILURES) :], *SERIES)
STATUS_ORDER = (Status.PASSED, *_FAILURES, *_FAULTS)
"""Order of statuses in charts: passes, failures of the model, faults of the machine."""

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_TYPES: Final = {"N": "nominal", "Q": "quantitative"}


def field(shorthand: str, **options: Any) -> Spec:
    """Return the encoding of a field by its name and type: ``rate:Q`` (quantitative) or ``model:N`` (nominal)."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def names_in_order(name: str, values: Iterable[str], **options: Any) -> Spec:
    """Return the encoding of names along an axis, in this order.

    A domain has the order, not ``sort``: Vega-Lite makes an expression of that, in which Vega takes the name "if" for a
    function.
    """
    scale = {"domain": list(dict.fromkeys(values))} | options.pop("scale", {})
    return field(f"{name}:N", sort=None, scale=scale, **options)


def layered(rows: Sequence[Mapping[str, Any]], *layers: Spec) -> Spec:
    """Return a chart of several layers, which show the same rows."""
    return {"data": {"values": list(rows)}, "layer": list(layers)}


def layer(mark: str, encoding: Mapping[str, Any], **options: Any) -> Spec:
    """Return one layer: a mark with its options, and the encoding of its channels."""
    return {"mark": {"type": mark, **options}, "encoding": dict(encoding)}


def name_axis(label_limit: int = 220, **options: Any) -> Spec:
    """Return an axis of names: labels without ticks and line."""
    return {"labelLimit": label_limit, "labelPadding": 10, "ticks": False, "domain": False, **options}


def share_axis(title: str, **options: Any) -> Spec:
    """Return options of a field that is shown as a percentage from 0 to 100."""
    return {"title": title, "scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 6}, **options}


def points_with_intervals(rows: Sequence[Mapping[str, Any]], base: Mapping[str, Any], x: Spec, colour: Spec) -> Spec:
    """Return a point for each row, with a line from ``low`` to ``high``; a point at the edge is not cut."""
    ends = {"x": field("low:Q"), "x2": {"field": "high"}}
    return layered(
        rows,
        layer("rule", {**base, **ends, "color": colour}, strokeWidth=2),
        layer("point", {**base, "x": x, "color": colour}, filled=True, size=70, opacity=1, clip=False),
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
    rows: Sequence[Mapping[str, Any]], base: Mapping[str, Any], share: str, number: Spec, count: str, size: float = 12
) -> Spec:
    """Return a heat map: rectangles coloured by ``share`` (0 to 1), each with a number and its n, the field ``count``.

    Rectangles over fewer than :data:`MANY` problems fade.
    """
    scale = {"domain": [0, 0.5, 1], "range": ["#b2442f", "#f1e6c8", "#1d6b57"], "interpolate": "lab"}
    many = f"datum.{count} >= {MANY}"
    dark = f"{many} && (datum.{share} > 0.78 || datum.{share} < 0.2)"
    pale = f"{many} && datum.{share} >= 0.2 && datum.{share} <= 0.78"
    ink = {"condition": [{"test": dark, "value": "#ffffff"}, {"test": pale, "value": "#1b2330"}], "value": INK}
    faded = {"condition": {"test": many, "value": 1}, "value": FADED}
    text = {**base, "color": ink}
    return layered(
        rows,
        layer(
            "rect",
            {**base, "color": field(f"{share}:Q", scale=scale, legend=None), "opacity": faded},
            cornerRadius=3,
            stroke="transparent",
            strokeWidth=3,
        ),
        layer("text", {**text, "text": number}, fontSize=size, fontWeight=600, dy=-5),
        layer("text", {**text, "text": field("n:N")}, fontSize=size - 3, dy=8),
    ) | {"transform": [{"calculate": f"'n = ' + datum.{count}", "as": "n"}]}


def model_colour(models: Sequence[str]) -> Spec:
    """Return the encoding of models by colour; with a legend if there are several."""
    colours = [SERIES[index % len(SERIES)] for index in range(len(models))]
    scale = {"domain": list(models), "range": colours}
    return field("model:N", sort=list(models), scale=scale, legend={} if len(models) > 1 else None)


def outcome_colour(name: str) -> str:
    """Return the colour of a status or of an error kind, the same in every chart.

    A status that is the machine's fault is hatched; an error kind by outcome has the colour of its status.
    """
    table = error_kind_table()
    if table.outcomes.get(name) == OURS_KIND and name not in _STATUS_COLOURS:  # a status of earlier versions
        return HATCHES[0]
    same = {kind: status for status, kind in table.outcomes.items() if status in _STATUS_COLOURS} | _KINDS
    for key in (name, same.get(name, ""), same.get(name.partition(":")[0], "")):
        if key in _STATUS_COLOURS:
            return _STATUS_COLOURS[key]
    others = [kind for kind in table.order if not {kind, same.get(kind)} & _STATUS_COLOURS.keys()]
    return _OTHERS[(others.index(name) if name in others else len(others)) % len(_OTHERS)]


def tooltips(plain: Mapping[str, str], numbers: Sequence[str], form: str = ".1%") -> list[Spec]:
    """Return tooltips of plain fields by their types, and of numbers in a format."""
    shown = [field(f"{name}:{kind}") for name, kind in plain.items()]
    return shown + [field(f"{name}:Q", format=form) for name in numbers]


def _height(chart: Spec, step: int) -> int:
    """Return the height of a chart with ``step`` pixels for each bar or point; Vega warns of its own steps."""
    encoding = chart.get("encoding", {}) | (chart["layer"][0].get("encoding", {}) if "layer" in chart else {})
    rows, count = chart.get("data", {}).get("values", ()), 1
    for channel in ("y", "yOffset"):
        name = (encoding.get(channel) or {}).get("field")
        count *= max(1, len({row.get(name) for row in rows})) if name else 1
    return step * max(2, count)


def finished_spec(chart: Spec, height: int | Mapping[str, int], description: str) -> Spec:
    """Return the specification of a chart as wide as its container, with the page's colours and fonts."""
    if isinstance(height, Mapping):
        height = _height(chart, height["step"])
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
            "header": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 12},
            "title": {"color": INK, "fontSize": 13, "anchor": "start", "fontWeight": 600},
        },
        **chart,
    }
