"""Numbers of answers by error kind and by outcome, for each model (outcomes like Figure 8 of SimCopilot's paper)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl
from pydantic import Field

from caretbench.errors import DataError
from caretbench.metrics.error_kinds.kind_table import NO_ERROR, OURS, error_kind_names
from caretbench.metrics.error_kinds.outcome_kinds import AnswerEvidence, outcome_kind
from caretbench.problem import AnyCompletion
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import GROUP, KEY

_PARTS = ("language", "mode")
_OF_ANSWER = ("status", "stage", "message", "fault", "refusal")


class ErrorPart(ReportValue):
    """Numbers of answers by outcome and by error kind, for one part of the problems."""

    labels: Mapping[str, str]
    counts: Mapping[str, int]
    """Number of answers by outcome: each has one. Exceptions are counted by type."""
    kinds: Mapping[str, int] = Field(default_factory=dict)
    """Number of answers by error kind, by outcome or text: a passed one has those by text."""
    unchecked: int = 0
    """Number of answers that no check decides; their kinds are by the text alone."""
    ours: int = 0
    """Number of answers without a verdict because of the machine; they count in no share."""

    @property
    def total(self) -> int:
        """Number of answers with a verdict, and of unchecked ones."""
        return sum(self.counts.values()) + self.unchecked

    def by_outcome(self) -> Mapping[str, int]:
        """Return the numbers by outcome with all exceptions in one."""
        folded: Counter[str] = Counter()
        for name, count in self.counts.items():
            folded[name.partition(":")[0]] += count
        return folded


class ErrorColumn(ReportValue):
    """Error kinds of one model with one set of parameters, policy and profile, by language and mode."""

    model: str
    parameters: str
    policy: str
    profile: str
    parts: tuple[ErrorPart, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Unique key of the column."""
        return tuple(str(getattr(self, name)) for name in GROUP)


def counted_kinds(outcome: str | None, by_text: Iterable[str]) -> frozenset[str]:
    """Return the error kinds of an answer, by its text, and by its outcome if it failed; none if the machine failed.

    Args:
        outcome: Its kind by the outcome; None where no check decides.
        by_text: Its kinds by the text.
    """
    # Passed answers count, too: 35 of 1,300 answers went on too long, and all 35 passed.
    if outcome in (None, NO_ERROR):
        return frozenset(by_text)
    return frozenset() if outcome == OURS else frozenset({*by_text, outcome.partition(":")[0]})


_Answers = Counter[tuple[str | None, str]]
"""Numbers of answers by their kind by the outcome, None where no check decides, and their kinds by the text."""


def _part(values: Sequence[str], answers: _Answers) -> ErrorPart:
    """Return the counts of one part of the problems.

    Raises:
        DataError: an error kind is unknown.
    """
    outcomes: Counter[str | None] = Counter()
    kinds: Counter[str] = Counter()
    for (outcome, by_text), number in answers.items():
        outcomes[outcome] += number
        kinds.update(dict.fromkeys(counted_kinds(outcome, by_text.split()), number))
    if unknown := kinds.keys() - set(error_kind_names()):
        raise DataError(f"unknown error kinds, of another version: {', '.join(sorted(unknown))}; score the run again")
    unchecked, ours = outcomes.pop(None, 0), outcomes.pop(OURS, 0)
    return ErrorPart(
        labels={name: value for name, value in zip(_PARTS, values, strict=True) if value},
        counts={name: count for name, count in sorted(outcomes.items()) if name is not None},
        kinds={name: kinds[name] for name in error_kind_names() if name in kinds},
        unchecked=unchecked,
        ours=ours,
    )


def error_columns(
    frame: pl.DataFrame, completions: Iterable[AnyCompletion], unchecked: Collection[str] = ()
) -> tuple[ErrorColumn, ...]:
    """Return the error kinds of every model.

    Args:
        frame: The table of the run.
        completions: Its completions, to detect blank and truncated answers.
        unchecked: Ids of the problems that no check decides in this run: answers count by their text alone.

    Raises:
        DataError: an error kind is unknown.
    """
    # Counters, not rows: a run may have a million answers.
    counted: dict[tuple[str, ...], dict[tuple[str, ...], _Answers]] = defaultdict(lambda: defaultdict(Counter))
    rows = frame.select(*KEY, *_PARTS, *_OF_ANSWER, kinds=pl.col("error_kinds").list.join(" "))
    ended = rows.filter(pl.col("status").is_not_null())
    answers = {completion.key: completion for completion in completions} if len(ended) else {}
    measured = pl.col("status").is_null() & pl.col("kinds").is_not_null() & pl.col("problem_id").is_in(list(unchecked))
    alike = rows.filter(measured).group_by(*GROUP, *_PARTS, "kinds").len("answers")
    for row in chain(ended.iter_rows(named=True), alike.iter_rows(named=True)):
        group = tuple(str(row[name]) for name in GROUP)
        part = tuple(row[name] or "" for name in _PARTS)
        outcome = None
        if "answers" not in row:
            outcome = row_outcome(row, answers.get((row["problem_id"], row["model"], row["parameters"], row["sample"])))
        counted[group][part][outcome, row["kinds"] or ""] += row.get("answers", 1)
    return tuple(
        ErrorColumn(
            **dict(zip(GROUP, group, strict=True)),
            parts=tuple(_part(values, parts[values]) for values in sorted(parts)),
        )
        for group, parts in sorted(counted.items())
    )


def row_outcome(row: Mapping[str, Any], completion: AnyCompletion | None) -> str | None:
    """Return the error kind of a row of a run's table by its outcome; None without a verdict."""
    return None if row["status"] is None else outcome_kind(_evidence(row, completion))


def _evidence(row: Mapping[str, Any], completion: AnyCompletion | None) -> AnswerEvidence:
    compiling = row["stage"] == "compile" or row["status"] == "type_error"
    message = row["message"] or ""
    return AnswerEvidence(
        language=row["language"] or "",
        outcome=row["status"],
        # Nothing was inserted of a refused text.
        text=None if completion is None else "" if row["refusal"] else completion.text or "",
        diagnostics=message if compiling else "",
        output="" if compiling else message,
        finish_reason=completion.finish_reason if completion is not None else None,
        parses=None if row["fault"] is None else not row["fault"],
        fault=row["fault"] or "",
    )


def outcomes_present(columns: Iterable[ErrorColumn]) -> tuple[str, ...]:
    """Return the outcomes that occur, in the order of the tables."""
    present = {name for column in columns for part in column.parts for name in part.by_outcome()}
    return tuple(name for name in error_kind_names() if name in present)


def kinds_present(columns: Sequence[ErrorColumn]) -> tuple[str, ...]:
    """Return the error kinds that occur, in the order of the tables."""
    present = {name for column in columns for part in column.parts for name in part.kinds}
    return tuple(name for name in error_kind_names() if name in present)
