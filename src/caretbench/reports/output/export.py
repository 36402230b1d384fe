"""A summary as JSON, as CSV in long form (one number a line) and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from caretbench.reports.estimates import Estimate
from caretbench.reports.judged.answer_numbers import AnswersJudged
from caretbench.reports.judged.numbers import Judged
from caretbench.reports.output.terminal import summary_tables
from caretbench.reports.sections.flags import Flagged
from caretbench.reports.sections.usage import TOKENS, ModelUsage
from caretbench.reports.summary import Cell, Column, Summary
from caretbench.reports.tables import Table

CSV_FIELDS = (
    "suite",
    "run",
    "model",
    "parameters",
    "policy",
    "profile",
    "scope",
    "language",
    "category",
    "mode",
    "metric",
    "value",
    "low",
    "high",
    "problems",
    "method",
    "grader",
    "note",
    "labels",
)


def to_json(summary: Summary) -> str:
    """The whole summary; rates run from 0 to 1. :meth:`Summary.model_validate_json` reads it back."""
    return summary.model_dump_json(indent=2)


def to_csv(summary: Summary) -> str:
    """One line per model, scope and metric; rates run from 0 to 1, the scope says which problems were counted."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_FIELDS, lineterminator="\n", restval="")
    writer.writeheader()
    for column in summary.columns:
        common = {name: getattr(column, name) for name in ("model", "parameters", "policy", "profile")}
        for scope, cell in _scopes(column):
            for metric, estimate in _estimates(cell):
                writer.writerow(
                    {"suite": summary.suite, "run": summary.run, "scope": scope, "metric": metric}
                    | common
                    | _labels(cell)
                    | estimate.model_dump(include={"value", "low", "high", "problems", "method"})
                )
        if column.coverage is not None:
            row = {"metric": "coverage", "value": column.coverage, "problems": column.overall.problems}
            writer.writerow({"suite": summary.suite, "run": summary.run, "scope": "all"} | common | row)
    for flagged in summary.flagged:
        for row in _flagged_rows(flagged):
            writer.writerow({"suite": summary.suite, "run": summary.run} | row)
    for entry in summary.usage:
        asked = {"scope": "usage", "model": entry.model, "parameters": entry.parameters}
        for metric, value in _usage_numbers(entry):
            writer.writerow(
                {"suite": summary.suite, "run": summary.run} | asked | {"metric": metric, "value": value}
            )
    for judged in summary.judged:
        for row in _judged_rows(judged):
            writer.writerow({"suite": summary.suite, "run": summary.run} | row)
    for answers in summary.answers:
        for row in _answers_rows(answers):
            writer.writerow({"suite": summary.suite, "run": summary.run} | row)
    return stream.getvalue()


def _flagged_rows(entry: Flagged) -> Iterator[dict[str, object]]:
    """Flagged passes, the rate without them, and how many answers and passes carry each flag."""
    common = {
        name: getattr(entry, name) for name in ("model", "parameters", "policy", "profile")
    } | {"scope": "flagged"}  # fmt: skip
    without = entry.pass_at_1_without.model_dump(include={"value", "low", "high", "problems", "method"})
    yield common | {"metric": "pass@1 without flagged"} | without
    yield common | {"metric": "flagged_passes", "value": entry.flagged_passes}
    for flag, count in entry.kinds.items():
        yield common | {"metric": f"{flag} answers", "value": count.answers}
        yield common | {"metric": f"{flag} passes", "value": count.passes}


def _judged_rows(judged: Judged) -> Iterator[dict[str, object]]:
    """Judge scores in points, each with how far they are validated."""
    for column in (*judged.columns, *judged.by_grader):
        common = {
            "model": column.model, "parameters": column.parameters, "policy": judged.policy,
            "profile": judged.profile, "grader": column.grader, "note": judged.validity,
        }  # fmt: skip
        cells = [("all", column.overall)]
        cells += [(stratum, cell) for stratum, found in column.strata.items() for cell in found]
        for scope, cell in cells:
            for name, estimate in cell.scores.items():
                numbers = estimate.model_dump(include={"value", "low", "high", "problems", "method"})
                yield (
                    common
                    | {"scope": scope, "metric": f"{judged.criterion}:{name}"}
                    | dict(cell.labels)
                    | numbers
                )
    for grader in judged.graders:
        for name, control in grader.controls.items():
            for metric, value in (("mean", control.mean), ("separation", control.separation)):
                if value is not None:
                    yield {
                        "scope": f"control {name}", "metric": f"{judged.criterion}:{metric}", "value": value,
                        "problems": grader.control_problems, "grader": grader.title, "note": judged.validity,
                    }  # fmt: skip


def _answers_rows(answers: AnswersJudged) -> Iterator[dict[str, object]]:
    """What judges said of answers, each number with how far it is validated."""
    for column in (*answers.columns, *answers.by_grader):
        common = {
            "model": column.model, "parameters": column.parameters, "profile": answers.profile,
            "grader": column.grader, "note": "; ".join(filter(None, (answers.validity, column.refused))),
        }  # fmt: skip
        cells = [
            (stratum, label, found)
            for stratum, cells in column.strata.items()
            for label, found in cells.items()
        ]
        for scope, label, estimate in [("all", "", column.value), *cells]:
            if estimate is not None:
                numbers = estimate.model_dump(include={"value", "low", "high", "problems", "method"})
                where = scope if scope == "all" else f"{scope} {label}"
                yield common | {"scope": where, "metric": answers.criterion} | numbers
        yield common | {"scope": "all", "metric": f"{answers.criterion}:coverage", "value": column.coverage}
    for grader in answers.graders:
        common = {"grader": grader.title, "note": "; ".join(filter(None, (answers.validity, grader.reason)))}
        for metric in ("precision", "recall"):
            if (value := getattr(grader, metric)) is not None:
                yield common | {
                    "scope": "controls",
                    "metric": f"{answers.criterion}:{metric}",
                    "value": value,
                }
        for name, control in grader.controls.items():
            for metric in ("mean", "right", "separation"):
                if control[metric] is not None:
                    metric_of = {"scope": f"control {name}", "metric": f"{answers.criterion}:{metric}"}
                    yield common | metric_of | {"value": control[metric], "problems": control["problems"]}


def _usage_numbers(entry: ModelUsage) -> Iterator[tuple[str, float]]:
    for name in ("requests", "answers", "tries", *TOKENS, "cost", "stopped_by_length"):
        value = getattr(entry, name)
        if value is not None:
            yield name, value
    for name, spread in (("first_token", entry.first_token), ("last_token", entry.last_token)):
        if spread is not None:
            yield f"{name}_median_s", spread.median_s
            yield f"{name}_percentile_95_s", spread.percentile_95_s
    for kind, count in entry.missing.items():
        yield f"missing_{kind}", count


def _scopes(column: Column) -> Iterator[tuple[str, Cell]]:
    yield "all", column.overall
    if column.valid is not None:
        yield "valid", column.valid
    if column.net_of_empty is not None:
        yield "net_of_empty", column.net_of_empty
    for stratum, cells in column.strata.items():
        for cell in cells:
            yield stratum, cell


def _labels(cell: Cell) -> dict[str, str]:
    """The labels that have columns of their own, and the others as ``name=value; name=value``."""
    own = {name: value for name, value in cell.labels.items() if name in CSV_FIELDS}
    further = [f"{name}={value}" for name, value in cell.labels.items() if name not in own]
    return own | ({"labels": "; ".join(further)} if further else {})


def _estimates(cell: Cell) -> Iterator[tuple[str, Estimate]]:
    for k, estimate in cell.pass_at.items():
        yield f"pass@{k}", estimate
    for method, estimate in cell.printed.items():
        yield f"pass@1 ({method})", estimate
    yield from cell.similarity.items()


def to_markdown(summary: Summary, *, published: bool = False) -> str:
    """The tables of the terminal as Markdown."""
    parts = [f"# {summary.suite}: {summary.run}".rstrip(": ")]
    parts += [table_to_markdown(table) for table in summary_tables(summary, published=published)]
    parts += [f"- {note}" for note in (*summary.warnings, *summary.notes)]
    return "\n\n".join(parts)


def table_to_markdown(table: Table) -> str:
    """One table under its title; bars in texts are escaped."""
    lines = [f"## {table.title}", "", _line(table.heads)]
    lines.append(_line(["---:" if numeric else "---" for numeric in table.numeric]))
    lines += [_line([f"{f.text} ({f.note})" if f.note else f.text for f in row]) for row in table.rows]
    return "\n".join(lines + (["", table.caption] if table.caption else []))


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"
