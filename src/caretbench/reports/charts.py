"""The charts, as Vega-Lite specifications built with Altair: the page draws them, :func:`to_svg` without a browser."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from caretbench.metrics.correlation import pearson
from caretbench.reports.summary import Cell, Column
from caretbench.reports.tables import ordered_names, pass_columns, shown_label, shown_name, shown_stratum

Spec = dict[str, Any]


@dataclass(frozen=True)
class Palette:
    """Colours of a chart; the page's are CSS variables, so that one drawing follows dark, light and print."""

    ink: str
    soft: str
    grid: str
    series: tuple[str, ...]
    good: str
    bad: tuple[str, ...]
    ours: str
    font: str = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


PAGE = Palette(
    ink="var(--ink)",
    soft="var(--soft)",
    grid="var(--grid)",
    series=tuple(f"var(--series-{number})" for number in range(1, 9)),
    good="var(--good)",
    bad=tuple(f"var(--bad-{number})" for number in range(1, 13)),
    ours="var(--ours)",
)
PAPER = Palette(
    ink="#1b2330",
    soft="#59636f",
    grid="#e1e5ea",
    series=("#2563a8", "#d9730d", "#1f8a70", "#a23b72", "#6b5ca5", "#8c6d1f", "#3f8fb0", "#7a7f87"),
    good="#2c8c66",
    bad=(
        "#c8553d",
        "#e08e45",
        "#a23b72",
        "#6b5ca5",
        "#3f8fb0",
        "#b8a13a",
        "#8a5a44",
        "#7a7f87",
        "#d98880",
        "#5b8c3a",
        "#b58ad1",
        "#2f4f7f",
    ),
    ours="#b5bbc3",
    font="DejaVu Sans, sans-serif",
)

_LETTER, _LEGEND_LABEL, _LEGEND_WIDTH = 7, 260, 420
"""Pixels: a letter of a legend, its longest label, and the room for it in half a page."""

STATUS_ORDER = (
    "passed",
    "failed",
    "runtime_error",
    "compile_error",
    "type_error",
    "unresolved_import",
    "timeout",
    "oom",
    "output_limit",
    "incomplete",
    "missing_dependency",
    "skipped",
    "sandbox_error",
)
"""Passes first, failures of the model next, what is ours last."""

OURS = frozenset({"missing_dependency", "skipped", "sandbox_error"})
"""Statuses that say nothing about the model."""


def rates_by(columns: Sequence[Column], stratum: str, palette: Palette = PAGE) -> Spec | None:
    """pass@1 by one label: a bar for each model with its 95 % interval; None where there is nothing to show."""
    judged = [column for column in pass_columns(columns) if not column.baseline]
    models = [column.title for column in judged]
    rows = [
        {
            "label": shown_name(cell), "model": column.title, "rate": cell.pass_at[1].value,
            "low": cell.pass_at[1].low, "high": cell.pass_at[1].high, "problems": cell.problems,
        }
        for column in judged
        for cell in column.strata.get(stratum, ())
        if 1 in cell.pass_at
    ]  # fmt: skip
    if not rows:
        return None
    labels = ordered_names(judged, stratum)
    base = chart_of(rows).encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False)),
        yOffset=alt.YOffset("model:N", sort=models, scale=alt.Scale(paddingInner=0.12, paddingOuter=0.08)),
        tooltip=_tooltips({"label": "N", "model": "N", "problems": "Q"}, ("rate", "low", "high")),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X(
            "rate:Q", title="pass@1", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=6)
        ),
        color=_model_colour(models, palette),
    )
    whiskers = base.mark_rule(strokeWidth=1.6, color=palette.ink).encode(x="low:Q", x2="high:Q")
    step = max(11, 30 - 4 * len(models)) if len(models) > 1 else 22
    chart = (bars + whiskers).properties(width="container", height={"step": step})
    return finished(chart, palette, f"pass@1 by {shown_stratum(stratum)} with 95% intervals")


def figures(columns: Sequence[Column], stratum: str, palette: Palette = PAGE) -> dict[str, Spec]:
    """pass@1 by three labels or more, a chart for each value of the first: its title, and the specification.

    ``language / mode / constructs`` gives a chart for each language, with bars by mode and construct.
    """
    first = stratum.split(" / ")[0]
    cells = [cell for column in columns for cell in column.strata.get(stratum, ())]
    found = {}
    for value in dict.fromkeys(cell.labels[first] for cell in cells):
        part = [
            column.model_copy(
                update={"strata": {stratum: _without(column.strata.get(stratum, ()), first, value)}}
            )
            for column in columns
        ]
        spec = rates_by(part, stratum, palette)
        if spec is not None:
            rest = shown_stratum(stratum.partition(" / ")[2])
            found[f"{shown_label(first, value)}: pass@1 by {rest}"] = spec
    return found


def policies_of_models(
    columns: Sequence[Column], stratum: str, palette: Palette = PAGE, most: int = 6
) -> dict[str, Spec]:
    """pass@1 by the main labels of every model that was scored under several policies, a bar for each policy."""
    by_model: dict[tuple[str, str], list[Column]] = {}
    for column in pass_columns(columns):
        if not column.baseline:
            by_model.setdefault((column.profile, column.title), []).append(column)
    found = {}
    for (profile, title), several in list(by_model.items())[:most]:
        named = [column.model_copy(update={"title": column.policy}) for column in several]
        spec = rates_by(named, stratum, palette) if len(several) > 1 else None
        if spec is not None:
            found[f"{title}: pass@1 by {shown_stratum(stratum)} ({profile} profile)"] = spec
    return found


def _without(cells: Sequence[Cell], name: str, value: str) -> tuple[Cell, ...]:
    """The cells with this value of a label, without it."""
    return tuple(
        cell.model_copy(
            update={
                "labels": {key: text for key, text in cell.labels.items() if key != name},
                "order": cell.order[1:],
            }
        )
        for cell in cells
        if cell.labels[name] == value
    )


def heat_map(column: Column, stratum: str = "language / category", palette: Palette = PAGE) -> Spec | None:
    """pass@1 of one model by the labels of a stratum: the last across, the others down; None without such cells."""
    cells = [cell for cell in column.strata.get(stratum, ()) if 1 in cell.pass_at]
    if not cells:
        return None
    names = [[shown_label(name, value) for name, value in cell.labels.items()] for cell in cells]
    rows = [
        {
            "down": " / ".join(shown[:-1]), "across": shown[-1], "rate": cell.pass_at[1].value,
            "low": cell.pass_at[1].low, "high": cell.pass_at[1].high, "problems": cell.problems,
        }
        for cell, shown in zip(cells, names, strict=True)
    ]  # fmt: skip
    down = _in_order(
        (cell.order[:-1], " / ".join(shown[:-1])) for cell, shown in zip(cells, names, strict=True)
    )
    across = _in_order((cell.order[-1:], shown[-1]) for cell, shown in zip(cells, names, strict=True))
    base = chart_of(rows).encode(
        x=alt.X(
            "across:N",
            sort=across,
            title=None,
            axis=alt.Axis(
                orient="bottom",
                labelAngle=0,
                labelFontSize=11,
                ticks=False,
                domain=False,
                labelExpr="split(datum.label, ' ')",
            ),
        ),
        y=alt.Y("down:N", sort=down, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=220)),
        tooltip=_tooltips({"down": "N", "across": "N", "problems": "Q"}, ("rate", "low", "high")),
    )
    fields = base.mark_rect(cornerRadius=3, stroke="transparent", strokeWidth=3).encode(
        color=alt.Color(
            "rate:Q",
            scale=alt.Scale(domain=[0, 0.5, 1], range=["#b2442f", "#f1e6c8", "#1d6b57"], interpolate="lab"),
            legend=None,
        )
    )
    numbers = base.mark_text(fontSize=12.5, fontWeight=600).encode(
        text=alt.Text("rate:Q", format=".0%"),
        color=alt.condition(
            "datum.rate > 0.78 || datum.rate < 0.2", alt.value("#ffffff"), alt.value("#1b2330")
        ),
    )
    chart = (fields + numbers).properties(width="container", height={"step": 36})
    return finished(chart, palette, f"{column.title}: pass@1 by {shown_stratum(stratum)}")


def _in_order(values: Iterable[tuple[tuple[int, ...], str]]) -> list[str]:
    """Texts by their places, then by the alphabet, each once."""
    return list(
        dict.fromkeys(text for _, text in sorted(set(values), key=lambda pair: (pair[0], pair[1].lower())))
    )


def similarity_against_passing(columns: Sequence[Column], palette: Palette = PAGE) -> Spec | None:
    """Mean cosine against pass@1, a dot for each language and category of each model, r in the title."""
    models = [column for column in pass_columns(columns) if not column.baseline]
    rows: list[dict[str, Any]] = []
    for column in models:
        cosine = next((name for name in column.similarity_titles if name.startswith("cosine")), None)
        rows += [
            {
                "model": column.title,
                "part": shown_name(cell),
                "cosine": cell.similarity[cosine].value,
                "rate": cell.pass_at[1].value,
            }
            for cell in _finest(column)
            if cosine is not None and cosine in cell.similarity and 1 in cell.pass_at
        ]
    correlation = pearson([row["cosine"] for row in rows], [row["rate"] for row in rows]) if rows else None
    if correlation is None:
        return None
    title = (
        f"r = {correlation.coefficient:.2f} over {correlation.n} cells "
        f"({'p < 0.001' if correlation.p_value < 0.001 else f'p = {correlation.p_value:.2g}'})"
    )
    base = chart_of(rows).encode(
        x=alt.X("cosine:Q", title="mean cosine similarity", scale=alt.Scale(zero=False, nice=True)),
        y=alt.Y(
            "rate:Q",
            title="pass@1",
            scale=alt.Scale(zero=False, nice=False, padding=12),
            axis=alt.Axis(format="%"),
        ),
    )
    titles = [column.title for column in models]
    dots = base.mark_point(filled=True, size=62, opacity=0.8).encode(
        color=_model_colour(titles, palette),
        shape=alt.Shape("model:N", sort=titles, legend=None),
        tooltip=[
            alt.Tooltip("part:N"),
            alt.Tooltip("model:N"),
            alt.Tooltip("cosine:Q", format=".3f"),
            alt.Tooltip("rate:Q", format=".1%"),
        ],
    )
    line = base.transform_regression("cosine", "rate").mark_line(
        clip=True, color=palette.soft, strokeDash=[5, 4], strokeWidth=1.5
    )
    chart = (line + dots).properties(width="container", height=320, title=title)
    return finished(chart, palette, f"Similarity against pass rate: {title}")


def status_shares(columns: Sequence[Column], palette: Palette = PAGE) -> Spec | None:
    """How the completions of each model and baseline ended, as shares of all of them."""
    shown = [column for column in columns if column.statuses]
    present = {status for column in shown for status in column.statuses}
    order = [status for status in STATUS_ORDER if status in present] + sorted(present - set(STATUS_ORDER))
    rows = [
        {
            "model": column.title, "status": status.replace("_", " "), "place": order.index(status),
            "count": count, "share": count / sum(column.statuses.values()),
        }
        for column in shown
        for status, count in column.statuses.items()
    ]  # fmt: skip
    if not rows:
        return None
    bad = iter(palette.bad * 2)
    colours = [palette.good if s == "passed" else palette.ours if s in OURS else next(bad) for s in order]
    chart = (
        chart_of(rows)
        .mark_bar(stroke="var(--surface)" if palette is PAGE else "#ffffff", strokeWidth=1)
        .encode(
            y=alt.Y(
                "model:N",
                sort=[column.title for column in shown],
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=220),
            ),
            x=alt.X(
                "share:Q",
                stack="zero",
                title="share of completions",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=6),
            ),
            color=alt.Color(
                "status:N",
                title=None,
                scale=alt.Scale(domain=[status.replace("_", " ") for status in order], range=colours),
                legend=alt.Legend(orient="bottom", columns=4, symbolType="square"),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("status:N"),
                alt.Tooltip("count:Q"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width="container", height={"step": 30})
    )
    return finished(chart, palette, "Completions by status")


def to_svg(spec: Spec, width: int = 720) -> str:
    """A chart as SVG, drawn without a browser; build it with the ``PAPER`` palette."""
    import vl_convert

    sized = {**spec, "width": width} if spec.get("width") == "container" else spec
    return str(vl_convert.vegalite_to_svg(sized))


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart over rows, which stand in its specification."""
    data = alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # altair leaves this one untyped
    return alt.Chart(data)


def _finest(column: Column) -> Sequence[Cell]:
    """The finest cells that the problems' labels allow."""
    pairs = [name for name in column.strata if name.count(" / ") == 1]
    for stratum in (*pairs[:1], "category", "language"):
        if column.strata.get(stratum):
            return column.strata[stratum]
    return ()


def _model_colour(models: Sequence[str], palette: Palette) -> alt.Color:
    colours = [palette.series[place % len(palette.series)] for place in range(len(models))]
    scale = alt.Scale(domain=list(models), range=colours)
    # Two charts stand side by side: what does not fit into one's width goes to the next row.
    widest = max((min(len(name) * _LETTER, _LEGEND_LABEL) for name in models), default=0) + 2 * _LETTER
    legend = (
        alt.Legend(
            orient="top", title=None, labelLimit=_LEGEND_LABEL, columns=max(1, _LEGEND_WIDTH // widest)
        )
        if len(models) > 1
        else None
    )
    return alt.Color("model:N", sort=list(models), scale=scale, legend=legend)


def _tooltips(plain: Mapping[str, str], rates: Sequence[str]) -> list[alt.Tooltip]:
    shown = [alt.Tooltip(f"{name}:{kind}") for name, kind in plain.items()]
    return shown + [alt.Tooltip(f"{name}:Q", format=".1%") for name in rates]


def finished(chart: Any, palette: Palette, description: str) -> Spec:
    """The specification with the palette's configuration."""
    configured = (
        chart.properties(
            background="transparent",
            description=description,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(font=palette.font)
        .configure_axis(
            labelColor=palette.ink,
            titleColor=palette.soft,
            gridColor=palette.grid,
            domainColor=palette.grid,
            tickColor=palette.grid,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_view(stroke=None)
        .configure_legend(labelColor=palette.ink, titleColor=palette.soft, labelFontSize=12)
        .configure_title(color=palette.ink, fontSize=13, anchor="start", fontWeight=600)
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # altair's hints about automatic types do not apply: all given
        spec: Spec = configured.to_dict()
    return spec
