"""Charts of answers: similarity against passing, and shares of statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from caretbench.metrics.correlation import pearson
from caretbench.reports.charts import (
    PAGE,
    Palette,
    Spec,
    chart_of,
    finished,
    model_colour,
    quiet_axis,
    stacked_shares,
)
from caretbench.reports.summary import Column, RateCell
from caretbench.reports.tables import pass_columns, shown_name

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
        color=model_colour(titles, palette),
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


def _finest(column: Column) -> Sequence[RateCell]:
    """The finest cells that the problems' labels allow."""
    pairs = [name for name in column.strata if name.count(" / ") == 1]
    for stratum in (*pairs[:1], "category", "language"):
        if column.strata.get(stratum):
            return column.strata[stratum]
    return ()


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
    shown_order = [status.replace("_", " ") for status in order]
    bar = alt.Y("model:N", sort=[column.title for column in shown], title=None, axis=quiet_axis())
    part = alt.Color(
        "status:N",
        title=None,
        scale=alt.Scale(domain=shown_order, range=colours),
        legend=alt.Legend(orient="bottom", columns=4, symbolType="square"),
    )
    chart = stacked_shares(rows, palette, bar, part, "share of completions")
    return finished(
        chart.properties(width="container", height={"step": 30}), palette, "Completions by status"
    )
