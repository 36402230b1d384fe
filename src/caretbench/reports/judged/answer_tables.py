"""Tables of judged answers to questions. Each title contains the state of validation of the scores."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.reports.judged.acceptance import GOOD_GRADER_ACCURACY, MAX_FALSE_REJECTION
from caretbench.reports.judged.answers import STRATA
from caretbench.reports.judged.caret_tables import human_agreement_table
from caretbench.reports.judged.scores import AnswerScoreColumn, AnswerScores, GraderTrust
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    score_field,
    share_field,
    table_of,
    text_field,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK


def answer_score_tables(judged: AnswerScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion in display order."""
    if judged.columns:
        yield _scores_table(judged)
        for stratum in STRATA:
            if len({label for column in judged.columns for label in column.strata.get(stratum, ())}) > 1:
                yield _stratum_table(judged, stratum)
    yield _graders_table(judged)
    if any(grader.consistency["texts"] for grader in judged.graders):
        yield _consistency_table(judged)
    if any(grader.controls for grader in judged.graders):
        yield _controls_table(judged)
    if judged.people:
        yield human_agreement_table(judged.criterion, judged.people)


def _title(judged: AnswerScores, what: str) -> str:
    return f"{what}, {judged.criterion} ({judged.validity})"


def _scale(judged: AnswerScores) -> str:
    return "share with a hallucination" if judged.hallucinations else f"0 to {judged.maximum:g}"


def _scores_table(judged: AnswerScores) -> ReportTable:
    columns = (*judged.columns, *judged.by_grader)
    names = tuple(dict.fromkeys(name for column in columns for name in column.parts))
    parts = names if len(names) > 1 else ()
    counted = any(column.claim_rate is not None or column.says_nothing for column in columns)
    rows: list[FieldValues] = [
        (
            column.model,
            column.grader,
            _marked(score_field(column.value), column),
            *(digits_field(column.parts.get(name)) for name in parts),
            *((share_field(column.claim_rate), column.says_nothing) if counted else ()),
            column.value.problems if column.value else 0,
            _coverage(column),
        )
        for column in columns
    ]
    heads = (
        "Model", "Grader", f"Score ({_scale(judged)})",
        *(name.replace("_", " ").capitalize() for name in parts),
        *(("False statements", "No statement") if counted else ()),
        "Instances", "Judged",
    )  # fmt: skip
    return table_of(
        _title(judged, "Judged answers"),
        heads,
        rows,
        (
            "Numbers are means over instances, with 95% intervals over pull requests. Answers that could not be judged "
            "are in no mean; below 98% judged the run has failed. An answer without a statement counts as a "
            f"hallucination. {FAILED_CONTROLS_MARK}: the grader did not pass its controls."
        ),
    )


def _marked(field: TableField, column: AnswerScoreColumn) -> TableField:
    """Return the field, marked if the graders did not pass their controls."""
    if not column.refused or field.sort is None:
        return field
    return field.model_copy(update={"text": f"{field.text} {FAILED_CONTROLS_MARK}", "tone": "warning"})


def _coverage(column: AnswerScoreColumn) -> TableField:
    found = share_field(column.coverage, f"{column.rated} of {column.answers}")
    return found.model_copy(update={"tone": "warning"}) if column.failed else found


def _stratum_table(judged: AnswerScores, stratum: str) -> ReportTable:
    labels = sorted({label for column in judged.columns for label in column.strata.get(stratum, ())})
    rows: list[FieldValues] = [
        (
            column.model,
            _marked(score_field(column.value), column),
            *(_marked(score_field(column.strata[stratum].get(label)), column) for label in labels),
        )
        for column in judged.columns
    ]
    return table_of(_title(judged, f"Judged answers by {stratum}, {_scale(judged)}"), ("Model", "All", *labels), rows)


def _graders_table(judged: AnswerScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            grader.title,
            grader.texts,
            grader.judgements,
            grader.unreadable,
            grader.tried_again,
            grader.missing,
            digits_field(judged.alpha),
            digits_field(grader.cost, ".4f"),
        )
        for grader in judged.graders
    ]
    return table_of(
        _title(judged, "Graders"),
        ("Grader", "Texts", "Judgements", "Unreadable", "Retried", "Missing", "Alpha", "Cost ($)"),
        rows,
        "Equal texts are judged once. Alpha: Krippendorff's (ordinal), between the graders.",
    )


def _consistency_table(judged: AnswerScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            grader.title,
            grader.consistency["texts"],
            share_field(grader.consistency["same"]),
            *(digits_field(grader.consistency[name]) for name in ("difference", "deviation", "alpha")),
            digits_field(grader.consistency["order_effect"], "+.2f"),
        )
        for grader in judged.graders
    ]
    return table_of(
        _title(judged, "Consistency over repeats"),
        ("Grader", "Texts", "Same", "Difference", "SD", "Alpha", "Order effect"),
        rows,
        (
            "For answers that were judged more than once. Order effect: the gain of an answer from being shown before "
            "the reference."
        ),
    )


def _verdict(grader: GraderTrust) -> tuple[str, str]:
    """Return the verdict on a grader, and its tone."""
    if grader.state == "accepted":
        return "passed", "good"
    return f"{'failed' if grader.state == 'failed' else 'not known'}: {grader.reason}", "warning"


def _controls_table(judged: AnswerScores) -> ReportTable:
    rows: list[FieldValues] = []
    for grader in judged.graders:
        for place, (name, control) in enumerate(grader.controls.items()):
            order = "" if place or grader.in_order is None else "right" if grader.in_order else "wrong"
            first = place == 0
            rows.append(
                (
                    grader.title,
                    name,
                    digits_field(control["mean"]),
                    share_field(control["right"]),
                    digits_field(control["separation"]),
                    control["problems"],
                    share_field(grader.precision if first else None),
                    share_field(grader.recall if first else None),
                    text_field(order, "warning" if order == "wrong" else ""),
                    text_field(*_verdict(grader) if first else ("",)),
                )
            )
    return table_of(
        _title(judged, "Calibration by controls"),
        (
            "Grader", "Control", "Mean", "Correct", "Separation", "Problems", "Precision", "Recall", "Order",
            "Verdict",
        ),
        rows,
        (
            "reference: the reference; false-claim: with one false statement more; other-reference: of another pull "
            "request; empty: nothing. Separation: the probability that a reference is judged better (0.5 is "
            "chance). Precision and recall: of the controls that are hallucinations, whether they are found out. "
            "Verdict: a grader that is right about every control in "
            f"{GOOD_GRADER_ACCURACY:.0%} of the cases fails in at most {MAX_FALSE_REJECTION:.0%} of the runs "
            f"({judged.acceptance})."
        ),
    )  # fmt: skip
