"""Legends of charts in HTML, which wrap at any width; those of Vega are cut where a chart is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.charts import SERIES
from caretbench.reports.section import Chart, LegendEntry


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
    names = scale.get("domain") or list(_names(rows, str(encoding["field"])))
    colours = scale.get("range") or [SERIES[place % len(SERIES)] for place in range(len(names))]
    if "legend" not in encoding or encoding["legend"] is not None:
        legend |= dict(zip(map(str, names), colours, strict=False))
    return {**encoding, "legend": None, "scale": {**scale, "domain": names, "range": colours}}


def _names(rows: Sequence[Mapping[str, Any]], field: str) -> Iterator[str]:
    return iter(dict.fromkeys(str(row[field]) for row in rows if row.get(field) is not None))
