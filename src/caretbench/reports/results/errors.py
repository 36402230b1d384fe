"""Numbers of answers by error class, for each model (like Figure 8 of SimCopilot's paper)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from caretbench.problem import Completion
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import GROUP
from caretbench.reports.results.error_classes import OURS, AnswerEvidence, class_of, error_classes

_PARTS = ("language", "mode")


class ErrorPart(ReportValue):
    """Numbers of answers by error class, for one part of the problems; exceptions are counted by type."""

    labels: Mapping[str, str]
    counts: Mapping[str, int]
    ours: int = 0
    """Number of answers without a verdict because of the machine; they count in no share."""

    @property
    def total(self) -> int:
        """Number of answers with a verdict."""
        return sum(self.counts.values())

    def by_class(self) -> Mapping[str, int]:
        """Return the counts with all exceptions in one class."""
        folded: Counter[str] = Counter()
        for name, count in self.counts.items():
            folded[name.partition(":")[0]] += count
        return folded


class ErrorColumn(ReportValue):
    """Error classes of one model with one set of parameters, policy and profile, by language and mode."""

    model: str
    parameters: str
    policy: str
    profile: str
    parts: tuple[ErrorPart, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Unique key of the column."""
        return tuple(str(getattr(self, name)) for name in GROUP)


def error_columns(frame: pl.DataFrame, completions: Iterable[Completion]) -> tuple[ErrorColumn, ...]:
    """Return the error classes of every model; completions are needed to detect blank and truncated answers."""
    answers = {completion.key: completion for completion in completions}
    counts: dict[tuple[str, ...], dict[tuple[str, ...], Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in frame.filter(pl.col("status").is_not_null()).iter_rows(named=True):
        group = tuple(str(row[name]) for name in GROUP)
        part = tuple(row[name] or "" for name in _PARTS)
        key = (row["problem_id"], row["model"], row["parameters"], row["sample"])
        counts[group][part][class_of(_evidence(row, answers.get(key)))] += 1
    return tuple(
        ErrorColumn(
            **dict(zip(GROUP, group, strict=True)),
            parts=tuple(_part(values, counter) for values, counter in sorted(parts.items())),
        )
        for group, parts in sorted(counts.items())
    )


def _part(values: tuple[str, ...], counter: Counter[str]) -> ErrorPart:
    ours = counter.pop(OURS, 0)
    labels = {name: value for name, value in zip(_PARTS, values, strict=True) if value}
    return ErrorPart(labels=labels, counts=dict(sorted(counter.items())), ours=ours)


def _evidence(row: Mapping[str, Any], completion: Completion | None) -> AnswerEvidence:
    if completion is not None and row["refusal"]:
        completion = completion.model_copy(update={"text": None})  # nothing was inserted
    compiling = row["stage"] == "compile" or row["status"] == "type_error"
    message = row["message"] or ""
    return AnswerEvidence(
        language=row["language"] or "",
        outcome=row["status"],
        text=completion.text or "" if completion is not None else None,
        diagnostics=message if compiling else "",
        output="" if compiling else message,
        finish_reason=completion.finish_reason if completion is not None else None,
        parses=None if row["fault"] is None else not row["fault"],
        fault=row["fault"] or "",
    )


def classes_present(columns: Sequence[ErrorColumn]) -> tuple[str, ...]:
    """Return the classes that occur, in the order of the tables."""
    present = {name for column in columns for part in column.parts for name in part.by_class()}
    return tuple(name for name in error_classes() if name in present)
