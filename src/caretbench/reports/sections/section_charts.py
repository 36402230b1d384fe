"""Charts of the sections: rates by label, policies, heat maps, outcomes, and judge scores, as in the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.grouping import grouped
from caretbench.metrics.correlation import pearson
from caretbench.metrics.error_kinds.kind_table import NO_ERROR, error_kind_title
from caretbench.reports.charts import (
    HATCHES,
    OURS,
    SERIES,
    SOFT,
    STATUS_ORDER,
    Spec,
    field,
    finished_spec,
    layer,
    layered,
    model_colour,
    name_axis,
    names_in_order,
    outcome_colour,
    points_with_intervals,
    share_axis,
    stacked_shares,
    tooltips,
)
from caretbench.reports.charts import heat_map as heat_map_of
from caretbench.reports.judged.scores import JudgedScores, ScoreColumn
from caretbench.reports.results.errors import ErrorColumn, outcomes_present
from caretbench.reports.results.paired_models import MIN_TESTED
from caretbench.reports.summary import ModelResults, RateCell
from caretbench.reports.tables import (
    display_label,
    display_labels,
    display_stratum,
    headline_title,
    models_in,
    ordered_names,
    pass_columns,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK

_SPLIT = "split(datum.label, ' ')"
"""Expression that puts each word of a label on its own line."""


def rates_by_label(columns: Sequence[ModelResults], stratum: str) -> Spec | None:
    """Return the headline number by one label: a point for each model with its 95 % interval.

    Parts with fewer than 20 problems are only in the tables; None if fewer than two parts are left.
    """
    # Points, not bars: a bar hides its interval, and a rate of 0 had none.
    judged = models_in(columns)
    models = [column.title for column in judged]
    rows = [
        {
            "label": display_labels(cell.labels), "model": column.title, "rate": number.value, "low": number.low,
            "high": number.high, "problems": number.problems,
        }
        for column in judged
        for cell in column.strata.get(stratum, ())
        if (number := column.headline_of(cell)) is not None and number.problems >= MIN_TESTED
    ]  # fmt: skip
    shown = {row["label"] for row in rows}
    if len(shown) < 2:
        return None
    there = [title for title in models if any(row["model"] == title for row in rows)]
    labels = [name for name in ordered_names(judged, stratum) if name in shown]
    base = {
        "y": names_in_order("label", labels, title=None, axis=name_axis()),
        "yOffset": names_in_order("model", there, scale={"paddingInner": 0.12, "paddingOuter": 0.08}),
        "tooltip": tooltips({"label": "N", "model": "N", "problems": "Q"}, ("rate", "low", "high")),
    }
    title = headline_title(judged)
    points = points_with_intervals(rows, base, field("rate:Q", **share_axis(title)), model_colour(models))
    step = max(14, 30 - 4 * len(models)) if len(models) > 1 else 24
    return finished_spec(points, {"step": step}, f"{title} by {display_stratum(stratum)} with 95% intervals")


def multi_label_charts(columns: Sequence[ModelResults], stratum: str) -> dict[str, Spec]:
    """Yield pass@1 by three labels or more, a chart for each value of the first: title and specification.

    ``language / mode / constructs`` gives a chart for each language, with bars by mode and construct.
    """
    first = stratum.split(" / ")[0]
    cells = [cell for column in columns for cell in column.strata.get(stratum, ())]
    charts = {}
    for value in dict.fromkeys(cell.labels[first] for cell in cells):
        of_value = [
            column.model_copy(update={"strata": {stratum: _without(column.strata.get(stratum, ()), first, value)}})
            for column in columns
        ]
        spec = rates_by_label(of_value, stratum)
        if spec is not None:
            rest = display_stratum(stratum.partition(" / ")[2])
            charts[f"{display_label(first, value)}: {headline_title(columns)} by {rest}"] = spec
    return charts


def policy_charts(columns: Sequence[ModelResults], stratum: str) -> dict[str, Spec]:
    """Yield pass@1 by the main labels of every model scored under several policies, a bar for each policy."""
    models = (column for column in pass_columns(columns) if not column.baseline)
    by_model = grouped(((column.profile, column.title), column) for column in models)
    charts = {}
    for (profile, title), several in list(by_model.items())[:6]:
        named = [column.model_copy(update={"title": column.policy}) for column in several]
        spec = rates_by_label(named, stratum) if len(several) > 1 else None
        if spec is not None:
            charts[f"{title}: pass@1 by {display_stratum(stratum)} ({profile} profile)"] = spec
    return charts


def _without(cells: Sequence[RateCell], name: str, value: str) -> tuple[RateCell, ...]:
    """Return the cells with this value of a label, without it."""
    return tuple(
        cell.model_copy(
            update={"labels": {key: text for key, text in cell.labels.items() if key != name}, "order": cell.order[1:]}
        )
        for cell in cells
        if cell.labels[name] == value
    )


def heat_map(column: ModelResults, stratum: str = "language / category") -> Spec | None:
    """Return a heat map of one model's headline number: the last label as columns, the others as rows.

    None without two cells.
    """
    cells = [cell for cell in column.strata.get(stratum, ()) if column.headline_of(cell) is not None]
    if len(cells) < 2:
        return None
    names = [[display_label(name, value) for name, value in cell.labels.items()] for cell in cells]
    rows = [
        {
            "down": " / ".join(shown[:-1]), "across": shown[-1], "rate": number.value, "low": number.low,
            "high": number.high, "problems": number.problems,
        }
        for cell, shown in zip(cells, names, strict=True)
        if (number := column.headline_of(cell))
    ]  # fmt: skip
    down = _names_by_index((cell.order[:-1], " / ".join(shown[:-1])) for cell, shown in zip(cells, names, strict=True))
    across = _names_by_index((cell.order[-1:], shown[-1]) for cell, shown in zip(cells, names, strict=True))
    words = {"orient": "bottom", "labelAngle": 0, "labelFontSize": 11, "labelExpr": _SPLIT}
    base = {
        "x": names_in_order("across", across, title=None, axis=words | {"ticks": False, "domain": False}),
        "y": names_in_order("down", down, title=None, axis=name_axis()),
        "tooltip": tooltips({"down": "N", "across": "N", "problems": "Q"}, ("rate", "low", "high")),
    }
    fields = heat_map_of(rows, base, "rate", field("rate:Q", format=".0%"), "problems")
    return finished_spec(
        fields, {"step": 40}, f"{column.title}: {headline_title([column])} by {display_stratum(stratum)}"
    )


def _names_by_index(values: Iterable[tuple[tuple[int, ...], str]]) -> list[str]:
    """Return each text once, sorted by index, then by the alphabet."""
    return list(dict.fromkeys(text for _, text in sorted(set(values), key=lambda pair: (pair[0], pair[1].lower()))))


def similarity_against_passing(columns: Sequence[ModelResults]) -> Spec | None:
    """Return a scatter plot of mean cosine and pass@1: a dot for each language and category of each model."""
    models = [column for column in pass_columns(columns) if not column.baseline]
    rows: list[dict[str, Any]] = []
    for column in models:
        cosine = next((name for name in column.similarity_titles if name.startswith("cosine")), None)
        rows += [
            {
                "model": column.title,
                "part": display_labels(cell.labels),
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
    narrow = {"zero": False, "nice": False, "padding": 12}
    base = {
        "x": field("cosine:Q", title="mean cosine similarity", scale={"zero": False, "nice": True}),
        "y": field("rate:Q", title="pass@1", scale=narrow, axis={"format": "%"}),
    }
    titles = [column.title for column in models]
    series = {
        "color": model_colour(titles),
        "shape": field("model:N", sort=titles, legend=None),
        "tooltip": [*tooltips({"part": "N", "model": "N"}, ("cosine",), ".3f"), field("rate:Q", format=".1%")],
    }
    dots = layer("point", base | series, filled=True, size=62, opacity=0.8)
    line = layer("line", base, clip=True, color=SOFT, strokeDash=[5, 4], strokeWidth=1.5)
    line |= {"transform": [{"on": "cosine", "regression": "rate"}]}
    chart = {"title": title, **layered(rows, line, dots)}
    return finished_spec(chart, 320, f"Similarity against pass rate: {title}")


def _finest(column: ModelResults) -> Sequence[RateCell]:
    """Return the finest cells that the problems' labels allow."""
    pairs = [name for name in column.strata if name.count(" / ") == 1]
    for stratum in (*pairs[:1], "category", "language"):
        if column.strata.get(stratum):
            return column.strata[stratum]
    return ()


NOT_THE_MODELS = "not the model's fault"
"""Mark of the statuses whose cause is the machine."""


def status_title(status: str) -> str:
    """Return the name of a status in charts; statuses that are the machine's fault are marked."""
    name = status.replace("_", " ")
    return f"{name} ({NOT_THE_MODELS})" if outcome_colour(status) in HATCHES else name


def status_shares(columns: Sequence[ModelResults]) -> Spec | None:
    """Return a chart of each model's and baseline's statuses, as shares of all completions."""
    shown = [column for column in columns if column.statuses]
    present = {status for column in shown for status in column.statuses}
    ordered = list(map(str, STATUS_ORDER))
    order = [*(status for status in ordered if status in present), *sorted(present.difference(ordered))]
    rows = [
        {
            "model": column.title, "status": status_title(status), "place": order.index(status),
            "count": count, "share": count / sum(column.statuses.values()),
        }
        for column in shown
        for status, count in column.statuses.items()
    ]  # fmt: skip
    if not rows:
        return None
    scale = {"domain": [status_title(s) for s in order], "range": [outcome_colour(status) for status in order]}
    bar = names_in_order("model", [column.title for column in shown], title=None, axis=name_axis())
    by_status = field("status:N", title=None, scale=scale, legend={})
    chart = stacked_shares(rows, bar, by_status, "share of completions")
    return finished_spec(chart, {"step": 30}, "Completions by status")


def error_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the outcomes of failed answers: a bar for each model, language and mode.

    None if nothing failed.
    """
    shown = _titled_columns(columns, titles)
    outcomes = [name for name in outcomes_present(shown.values()) if name != NO_ERROR]
    bars = []
    for key, column in shown.items():
        for part in column.parts:
            counts = {name: count for name, count in part.by_outcome().items() if name != NO_ERROR}
            bars.append((f"{titles[key]}, {display_labels(part.labels)}", counts, sum(counts.values())))
    return _stacked(bars, outcomes, "share of failures", "Shares of outcomes in failed answers")


def outcome_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the shares of all outcomes of each model, passes included (like the paper's Figure 8).

    None if there are no verdicts.
    """
    shown = _titled_columns(columns, titles)
    outcomes = outcomes_present(shown.values())
    bars = []
    for key, column in shown.items():
        counts = {name: sum(part.by_outcome().get(name, 0) for part in column.parts) for name in outcomes}
        bars.append((titles[key], counts, sum(part.total for part in column.parts)))
    return _stacked(bars, outcomes, "share of all answers", "Shares of outcomes of all answers")


def _titled_columns(
    columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]
) -> dict[tuple[str, ...], ErrorColumn]:
    """Return the columns with a title, in the order of the titles."""
    by_key = {column.key: column for column in columns}
    return {key: by_key[key] for key in titles if key in by_key}


def _stacked(
    bars: Sequence[tuple[str, Mapping[str, int], int]], outcomes: Sequence[str], axis: str, description: str
) -> Spec | None:
    """Return stacked bars of shares, one colour for each outcome; None if nothing is counted.

    A bar has a title, counts by outcome, and the number that they are shares of.
    """
    rows = [
        {"bar": title, "outcome": error_kind_title(name), "count": count, "place": outcomes.index(name),
         "share": count / total}
        for title, counts, total in bars
        for name, count in counts.items()
        if count
    ]  # fmt: skip
    if not rows:
        return None
    names = [error_kind_title(name) for name in outcomes]
    colours = [outcome_colour(name) for name in outcomes]
    bar = field("bar:N", sort=None, title=None, axis=name_axis())
    by_outcome = field("outcome:N", sort=names, scale={"domain": names, "range": colours}, legend={})
    chart = stacked_shares(rows, bar, by_outcome, axis)
    return finished_spec(chart, {"step": 24}, description)


def _scored_model(column: ScoreColumn) -> str:
    return f"{column.title} {FAILED_CONTROLS_MARK}" if column.refused else column.title


def overall_scores(judged: JudgedScores) -> Spec | None:
    """Return every model's score with its 95 % interval, best first; None if no model was judged."""
    rows = [
        {
            "model": _scored_model(column),
            "score": column.value.value,
            "low": column.value.low,
            "high": column.value.high,
            "instances": column.value.problems,
            "kind": "baseline" if column.baseline else "model",
        }
        for column in judged.columns
        if column.value is not None
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


def score_map(judged: JudgedScores) -> Spec | None:
    """Return a heat map of scores: language and category as rows, models as columns."""
    rows = [
        {
            "part": " / ".join(display_label(name, value) for name, value in cell.labels.items()),
            "model": _scored_model(column),
            "score": cell.value.value,
            "share": cell.value.value / judged.maximum,
            "low": cell.value.low,
            "high": cell.value.high,
            "instances": cell.value.problems,
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
    fields = heat_map_of(rows, base, "share", field("score:Q", format=".1f"), "instances", 11)
    description = f"Judge scores by language, category and model, {judged.criterion}, {judged.validity}"
    return finished_spec(fields, {"step": 34}, description)
