"""Charts of answers: shares of statuses, and of error classes (like Figure 8 of SimCopilot's paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caretbench.execution.execution_types import Status
from caretbench.reports.charts import BAD, GOOD, OURS, Spec, field, finished_spec, name_axis, stacked_shares
from caretbench.reports.results.error_classes import class_title
from caretbench.reports.results.errors import ErrorColumn, classes_present
from caretbench.reports.summary import Column
from caretbench.reports.tables import display_labels

STATUS_ORDER = (
    "passed", "failed", "runtime_error", "compile_error", "type_error", "unresolved_import", "timeout", "oom",
    "output_limit", "incomplete", "missing_dependency", "skipped", "sandbox_error",
)  # fmt: skip
"""Order of statuses in charts: passes, failures of the model, faults of the machine."""


_MACHINE_FAULTS = {str(status) for status in Status if status.is_machine_fault}


def status_shares(columns: Sequence[Column]) -> Spec | None:
    """Return a chart of each model's and baseline's statuses, as shares of all completions."""
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
    bad = iter(BAD * 2)
    colours = [GOOD if s == "passed" else OURS if s in _MACHINE_FAULTS else next(bad) for s in order]
    shown_order = [status.replace("_", " ") for status in order]
    bar = field("model:N", sort=[column.title for column in shown], title=None, axis=name_axis())
    legend = {"orient": "bottom", "columns": 4, "symbolType": "square"}
    part = field("status:N", title=None, scale={"domain": shown_order, "range": colours}, legend=legend)
    chart = stacked_shares(rows, bar, part, "share of completions")
    return finished_spec(chart, {"step": 30}, "Completions by status")


def error_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the shares of error classes in failed answers: a bar for each model, language and mode.

    None if nothing failed.
    """
    shown = {column.key: column for column in columns if column.key in titles}
    classes = [name for name in classes_present(tuple(shown.values())) if name != "pass"]
    rows = []
    for key, column in shown.items():
        for part in column.parts:
            counts = {name: count for name, count in part.by_class().items() if name != "pass"}
            failed = sum(counts.values())
            rows += [
                {
                    "bar": f"{titles[key]}, {display_labels(part.labels)}", "class": class_title(name), "count": count,
                    "place": classes.index(name), "share": count / failed,
                }
                for name, count in counts.items()
                if count
            ]  # fmt: skip
    if not rows:
        return None
    return _stacked(rows, classes, "share of failures", "Shares of error classes in failed answers")


def outcome_shares(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Spec | None:
    """Return a chart of the shares of all outcomes of each model, passes included (like the paper's Figure 8).

    None if there are no verdicts.
    """
    shown = {column.key: column for column in columns if column.key in titles}
    classes = classes_present(tuple(shown.values()))
    rows = []
    for key, column in shown.items():
        total = sum(part.total for part in column.parts)
        for place, name in enumerate(classes):
            count = sum(part.by_class().get(name, 0) for part in column.parts)
            if count:
                rows.append(
                    {
                        "bar": titles[key], "class": class_title(name), "count": count, "place": place,
                        "share": count / total,
                    }
                )  # fmt: skip
    if not rows:
        return None
    return _stacked(rows, classes, "share of all answers", "Shares of outcomes of all answers, by error class")


def _stacked(rows: Sequence[Mapping[str, Any]], classes: Sequence[str], axis: str, description: str) -> Spec:
    """Return stacked bars of shares, one colour for each class."""
    names = [class_title(name) for name in classes]
    bad = iter(BAD * 2)
    # The legend begins at the bars: next to long names there is less room for it.
    columns = 2 if max(len(str(row["bar"])) for row in rows) > 16 else 3
    colours = [GOOD if name == "pass" else next(bad) for name in classes]
    bar = field("bar:N", title=None, axis=name_axis(320))
    legend = {"orient": "top", "title": None, "columns": columns}
    part = field("class:N", sort=names, scale={"domain": names, "range": colours}, legend=legend)
    chart = stacked_shares(rows, bar, part, axis)
    return finished_spec(chart, {"step": 24}, description)
