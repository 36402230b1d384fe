"""Section of error kinds: how answers went wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from caretbench.metrics.error_kinds.kind_table import EXCEPTION, NO_ERROR, OURS, error_kind_title
from caretbench.problem import Question
from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.errors import ErrorColumn, ErrorPart, error_columns, kinds_present
from caretbench.reports.results.problem_lists import excluded_in, lead_note, leading_in
from caretbench.reports.section import Chart, ColumnGroup, Section
from caretbench.reports.sections import section_charts
from caretbench.reports.summary import ModelResults
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    display_labels,
    existing_tables,
    share_field,
    table_of,
)
from caretbench.runs.verdict import needs_execution

MAX_EXCEPTION_TYPES = 8
"""Maximum number of exception types with a column; all other types share one."""


class ErrorsSection(Section):
    """Section of error kinds by model, language and mode; of answers to questions, only where kinds were measured."""

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the error kinds by model, if the run has completions."""
        run = source.run
        if not run.completions:
            return {}
        executed = bool(run.manifest.get("executed", True))
        unchecked = {problem.id for problem in run.problems if not (executed and needs_execution(problem))}
        carets = [problem.id for problem in run.problems if not isinstance(problem.shown, Question)]
        frame = run.frame.filter(pl.col("problem_id").is_in(carets) | pl.col("error_kinds").is_not_null())
        return {"errors": error_columns(_leading(run, frame), run.completions, unchecked)}

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return shares of the error kinds, and types of exceptions."""
        rule = group.columns[0].needed_rule if group.columns and group.columns[0].needed_lead else "all"
        return error_tables(group.summary.errors, error_titles(group.columns), lead_note(rule))

    def group_charts(self, group: ColumnGroup) -> Iterable[Chart]:
        """Return shares of all answers and of the failures."""
        errors, titles = group.summary.errors, error_titles(group.columns)
        outcomes = section_charts.outcome_shares(errors, titles)
        yield Chart("outcomes", "Outcomes of all answers", outcomes)
        yield Chart("errors", "Failures by outcome", section_charts.error_shares(errors, titles))


def _leading(run: LoadedRun, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows about the problems that lead under the profile of each row, and about excluded ones."""
    kept = pl.lit(value=False)
    for profile in frame["profile"].unique():
        problems = leading_in(run, profile).problems | excluded_in(run, profile)
        kept |= (pl.col("profile") == profile) & pl.col("problem_id").is_in(list(problems))
    return frame.filter(kept)


def error_titles(columns: Sequence[ModelResults]) -> Mapping[tuple[str, ...], str]:
    """Return the titles of the models among the columns of a report; of the baselines if there are no models."""
    shown = [column for column in columns if not column.baseline] or columns
    return {(c.model, c.parameters, c.policy, c.profile): c.title for c in shown}


def error_tables(
    columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str], note: str = ""
) -> tuple[ReportTable, ...]:
    """Return shares of the kinds by model, language and mode, then types of exceptions, of columns with a title.

    ``note`` is about the problems that count.
    """
    shown = [column for column in columns if column.key in titles]
    parts = [(titles[column.key], part) for column in shown for part in column.parts]
    if not any(part.total for _, part in parts):
        return ()
    kinds = kinds_present(shown)
    heads = (
        "Model",
        "Part",
        "Answers",
        error_kind_title(NO_ERROR),
        *map(error_kind_title, kinds),
        error_kind_title(OURS),
    )
    rows: list[FieldValues] = [
        (
            title,
            display_labels(part.labels),
            part.total,
            _share(part.counts.get(NO_ERROR, 0), part.total) if part.counts else None,
            *(_share(part.kinds.get(name, 0), part.total) for name in kinds),
            part.ours,
        )
        for title, part in parts
    ]
    caption = " ".join(filter(None, (_caption([part for _, part in parts]), note)))
    wrong = table_of("How answers went wrong", heads, rows, caption)
    return tuple(existing_tables([wrong, _exceptions(shown, titles)]))


def _caption(parts: Iterable[ErrorPart]) -> str:
    text = (
        "Shares of all answers. One may have several kinds: by its text, next to the reference, even if it passed, "
        "and by its outcome. "
    )
    if any(part.unchecked for part in parts):
        text += "Where no check decides, kinds are by the text alone, next to the reference. "
    return f"{text}Failures of the infrastructure are not counted."


def _exceptions(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> ReportTable | None:
    by_model: dict[str, Counter[str]] = defaultdict(Counter)
    for column in columns:
        for part in column.parts:
            for name, count in part.counts.items():
                kind, _, detail = name.partition(":")
                if kind == EXCEPTION:
                    by_model[titles[column.key]][detail] += count
    total = sum(by_model.values(), Counter[str]())
    if not total:
        return None
    types = sorted(total, key=lambda name: (-total[name], name))[:MAX_EXCEPTION_TYPES]
    rows: list[FieldValues] = [
        (title, *(counter[name] for name in types), sum(n for name, n in counter.items() if name not in types))
        for title, counter in by_model.items()
    ]
    heads = ("Model", *(name.replace("_", " ") for name in types), "Others")
    return table_of("Run-time exceptions by type", heads, rows)


def _share(count: int, total: int) -> TableField:
    return share_field(count / total if total else None, str(count) if count else "")
