"""Charts of answers: shares of statuses, and of outcomes by error kind (like Figure 8 of SimCopilot's paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caretbench.metrics.error_kinds.kind_table import NO_ERROR, error_kind_title
from caretbench.reports.charts import (
    HATCHES,
    STATUS_ORDER,
    Spec,
    field,
    finished_spec,
    name_axis,
    names_in_order,
    outcome_colour,
    stacked_shares,
)
from caretbench.reports.results.errors import ErrorColumn, outcomes_present
from caretbench.reports.summary import Column
from caretbench.reports.tables import display_labels

NOT_THE_MODELS = "not the model's fault"
"""Mark of the statuses whose cause is the machine."""


_FORMER = {"left_out": "excluded"}
"""Names of statuses in rows of earlier versions."""


def status_title(status: str) -> str:
    """Return the name of a status in charts; statuses that are the machine's fault are marked."""
    name = _FORMER.get(status, status).replace("_", " ")
    return f"{name} ({NOT_THE_MODELS})" if outcome_colour(status) in HATCHES else name


def status_shares(columns: Sequence[Column]) -> Spec | None:
    """Return a chart of each model's and baseline's statuses, as shares of all completions."""
    shown = [column for column in columns if column.statuses]
    present = {status for column in shown for status in column.statuses}
    order = [status for status in map(str, STATUS_ORDER) if status in present] + sorted(
        present - set(map(str, STATUS_ORDER))
    )
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
    part = field("status:N", title=None, scale=scale, legend={})
    chart = stacked_shares(rows, bar, part, "share of completions")
    return finished_spec(chart, {"step": 30}, "Completions by status")


def error_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the outcomes of failed answers: a bar for each model, language and mode.

    None if nothing failed.
    """
    shown = _in_order(columns, titles)
    outcomes = [name for name in outcomes_present(tuple(shown.values())) if name != NO_ERROR]
    rows = []
    for key, column in shown.items():
        for part in column.parts:
            counts = {name: count for name, count in part.by_outcome().items() if name != NO_ERROR}
            failed = sum(counts.values())
            rows += [
                {
                    "bar": f"{titles[key]}, {display_labels(part.labels)}", "outcome": error_kind_title(name),
                    "count": count, "place": outcomes.index(name), "share": count / failed,
                }
                for name, count in counts.items()
                if count
            ]  # fmt: skip
    if not rows:
        return None
    return _stacked(rows, outcomes, "share of failures", "Shares of outcomes in failed answers")


def outcome_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the shares of all outcomes of each model, passes included (like the paper's Figure 8).

    None if there are no verdicts.
    """
    shown = _in_order(columns, titles)
    outcomes = outcomes_present(tuple(shown.values()))
    rows = []
    for key, column in shown.items():
        total = sum(part.total for part in column.parts)
        for place, name in enumerate(outcomes):
            count = sum(part.by_outcome().get(name, 0) for part in column.parts)
            if count:
                rows.append(
                    {
                        "bar": titles[key], "outcome": error_kind_title(name), "count": count, "place": place,
                        "share": count / total,
                    }
                )  # fmt: skip
    if not rows:
        return None
    return _stacked(rows, outcomes, "share of all answers", "Shares of outcomes of all answers")


def _in_order(
    columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]
) -> dict[tuple[str, ...], ErrorColumn]:
    """Return the columns with a title, in the order of the titles."""
    known = {column.key: column for column in columns}
    return {key: known[key] for key in titles if key in known}


def _stacked(rows: Sequence[Mapping[str, Any]], outcomes: Sequence[str], axis: str, description: str) -> Spec:
    """Return stacked bars of shares, one colour for each outcome."""
    names = [error_kind_title(name) for name in outcomes]
    colours = [outcome_colour(name) for name in outcomes]
    bar = field("bar:N", sort=None, title=None, axis=name_axis())
    part = field("outcome:N", sort=names, scale={"domain": names, "range": colours}, legend={})
    chart = stacked_shares(rows, bar, part, axis)
    return finished_spec(chart, {"step": 24}, description)
