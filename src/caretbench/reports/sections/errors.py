"""Section of error classes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.problem import Question
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.error_classes import EXCEPTION, OURS, class_title
from caretbench.reports.results.errors import ErrorColumn, classes_present, error_columns
from caretbench.reports.section import Chart, ColumnGroup, Section
from caretbench.reports.summary import Column
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    display_labels,
    existing_tables,
    share_field,
    table_of,
)

MAX_EXCEPTION_TYPES = 8
"""Maximum number of exception types with a column; all other types share one."""


class ErrorsSection(Section):
    """Section of error classes by model, language and mode; only for programs, not for answers to questions."""

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the error classes by model, if the run has completions and problems that are programs."""
        run = source.run
        programs = any(not isinstance(problem.shown, Question) for problem in run.problems)
        if not programs or not run.completions:
            return {}
        return {"errors": error_columns(run.frame, run.completions)}

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return shares of the classes, and types of exceptions."""
        return error_tables(group.summary.errors, error_titles(group.columns))

    def group_charts(self, group: ColumnGroup) -> Iterable[Chart]:
        """Return shares of all answers and of the failures."""
        from caretbench.reports.sections import answer_charts  # Altair takes long to import

        errors, titles = group.summary.errors, error_titles(group.columns)
        outcomes = answer_charts.outcome_shares(errors, titles)
        yield Chart("outcomes", "Outcomes of all answers", outcomes)
        yield Chart("errors", "Failures by error class", answer_charts.error_shares(errors, titles))


def error_titles(columns: Sequence[Column]) -> Mapping[tuple[str, ...], str]:
    """Return the titles of the models among the columns of a report; of the baselines if there are no models."""
    shown = [column for column in columns if not column.baseline] or columns
    return {(c.model, c.parameters, c.policy, c.profile): c.title for c in shown}


def error_tables(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> tuple[ReportTable, ...]:
    """Return shares of the classes by model, language and mode, then types of exceptions, of columns with a title."""
    shown = [column for column in columns if column.key in titles]
    classes = classes_present(shown)
    if not classes:
        return ()
    heads = ("Model", "Part", "Answers", *(class_title(name) for name in classes), class_title(OURS))
    rows: list[FieldValues] = [
        (
            titles[column.key],
            display_labels(part.labels),
            part.total,
            *(_share(part.by_class().get(name, 0), part.total) for name in classes),
            part.ours,
        )
        for column in shown
        for part in column.parts
    ]
    caption = "Shares of the answers with a verdict. Failures of the infrastructure are not counted."
    ended = table_of("Outcomes by error class", heads, rows, caption)
    return tuple(existing_tables([ended, _exceptions(shown, titles)]))


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
