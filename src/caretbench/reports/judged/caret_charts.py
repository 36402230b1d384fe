"""Charts of judged texts at carets, like Figures 2 and 3 of DevBench."""

from __future__ import annotations

from caretbench.judging.aggregation import TOTAL
from caretbench.reports.charts import (
    OURS,
    SERIES,
    Spec,
    field,
    finished_spec,
    heat_map,
    name_axis,
    points_with_intervals,
    tooltips,
)
from caretbench.reports.judged.scores import CaretScores
from caretbench.reports.tables import display_label


def overall_scores(judged: CaretScores) -> Spec | None:
    """Return every model's score with its 95 % interval, best first; None if no model was judged."""
    rows = [
        {
            "model": column.title,
            "score": column.overall.scores[TOTAL].value,
            "low": column.overall.scores[TOTAL].low,
            "high": column.overall.scores[TOTAL].high,
            "instances": column.overall.scores[TOTAL].problems,
            "kind": "baseline" if column.baseline else "model",
        }
        for column in judged.columns
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -float(str(row["score"])))
    order = [str(row["model"]) for row in rows]
    base = {
        "y": field("model:N", sort=order, title=None, axis=name_axis()),
        "tooltip": tooltips({"model": "N", "instances": "Q"}, ("score", "low", "high"), ".2f"),
    }
    x = field("score:Q", title=f"judge score ({judged.validity})", scale={"domain": [0, judged.maximum]})
    kinds = {"domain": ["model", "baseline"], "range": [SERIES[0], OURS]}
    bars = points_with_intervals(rows, base, x, field("kind:N", scale=kinds, legend=None))
    return finished_spec(bars, {"step": 26}, f"Judge scores with 95% intervals, {judged.criterion}, {judged.validity}")


def score_map(judged: CaretScores) -> Spec | None:
    """Return a heat map of scores: language and category as rows, models as columns."""
    rows = [
        {
            "part": " / ".join(display_label(name, value) for name, value in cell.labels.items()),
            "model": column.title,
            "score": cell.scores[TOTAL].value,
            "share": cell.scores[TOTAL].value / judged.maximum,
            "low": cell.scores[TOTAL].low,
            "high": cell.scores[TOTAL].high,
            "instances": cell.scores[TOTAL].problems,
        }
        for column in judged.columns
        if not column.baseline
        for cell in column.strata.get("language / category", ())
    ]
    if not rows:
        return None
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    parts = sorted({str(row["part"]) for row in rows}, key=str.lower)
    names = {"orient": "top", "labelAngle": 0 if len(models) < 5 else -40, "ticks": False, "domain": False}
    base = {
        "x": field("model:N", sort=models, title=None, axis=names),
        "y": field("part:N", sort=parts, title=None, axis=name_axis(260)),
        "tooltip": tooltips({"part": "N", "model": "N", "instances": "Q"}, ("score", "low", "high"), ".2f"),
    }
    fields = heat_map(rows, base, "share", field("score:Q", format=".1f"), "instances", 11)
    description = f"Judge scores by language, category and model, {judged.criterion}, {judged.validity}"
    return finished_spec(fields, {"step": 34}, description)
