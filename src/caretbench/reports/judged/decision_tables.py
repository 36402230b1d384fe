"""Tables of judges' decisions about instructions: against controls, predicates and people, and round by round."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.metrics.intervals import wilson
from caretbench.reports.judged.scores import CaretScores, DecisionAgreement, GraderDecisions, RoundDecisions
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    number_field,
    percent,
    share_field,
    table_of,
    text_field,
)

SOURCES = {"known": "controls", "predicate": "predicates", "people": "people"}
"""Titles of what decisions are compared with, by field of the numbers."""

_STATES = {"accepted": "good", "failed": "warning", "too_few": "warning", "unknown": ""}


def decision_tables(judged: CaretScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion that is answered by yes or no."""
    if not judged.decisions:
        return
    if any(grader.controls for grader in judged.decisions):
        yield _controls(judged)
    if any(_there(grader) for grader in judged.decisions):
        yield _agreement(judged)
    for grader in judged.decisions:
        if grader.rounds:
            yield _rounds(judged, grader)


def _there(numbers: GraderDecisions | RoundDecisions) -> list[tuple[str, DecisionAgreement]]:
    """Return what there are known decisions of, with the agreement."""
    found: list[tuple[str, DecisionAgreement]] = [(name, getattr(numbers, name)) for name in SOURCES]
    return [(name, agreement) for name, agreement in found if agreement.decisions]


def _controls(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = []
    for grader in judged.decisions:
        for place, (name, control) in enumerate(grader.controls.items()):
            state = "" if place else grader.state.replace("_", " ")
            rows.append(
                (
                    grader.title,
                    name,
                    control.expected,
                    share_field(control.right),
                    control.problems,
                    text_field(state, _STATES[grader.state] if state else ""),
                )
            )
    return table_of(
        f"Controls of decisions, {judged.criterion}",
        ("Grader", "Control", "Right decision", "Decided so", "Problems", "Grader by controls"),
        rows,
        "other-variant: the right answer to another instruction at the same caret. A control that was judged several "
        "times is decided by the majority.",
    )


def _agreement(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            grader.title, SOURCES[name], _share(agreement), share_field(agreement.precision),
            share_field(agreement.recall), agreement.decisions,
        )
        for grader in judged.decisions
        for name, agreement in _there(grader)
    ]  # fmt: skip
    return table_of(
        f"Decisions compared with what is known, {judged.criterion}",
        ("Grader", "Compared with", "Agreement", "Precision of yes", "Recall of yes", "Decisions"),
        rows,
        "Predicates and people are compared on the models' answers, where both decide. Every round counts. Wilson's "
        "interval of the agreement treats decisions as independent.",
    )


def _rounds(judged: CaretScores, grader: GraderDecisions) -> ReportTable:
    """Return the table of agreement by round; the last rows are the mean and the extremes."""
    names = [name for name, _ in _there(grader)]
    rows: list[FieldValues] = [
        (
            str(one.number), one.judged, one.unreadable, share_field(one.yes),
            *(share_field(getattr(one, name).agreement) for name in names),
        )
        for one in grader.rounds
    ]  # fmt: skip
    rows.append(
        (
            "all rounds", sum(one.judged for one in grader.rounds), sum(one.unreadable for one in grader.rounds),
            _range([one.yes for one in grader.rounds]),
            *(_range([getattr(one, name).agreement for one in grader.rounds]) for name in names),
        )
    )  # fmt: skip
    heads = ("Round", "Judged", "Unreadable", "Yes", *(f"Agreement with {SOURCES[name]}" for name in names))
    same, alpha = digits_field(grader.same, ".3f").text, digits_field(grader.alpha, ".3f").text
    caption = (
        f"Pairs of rounds with the same decision about a text: {same}; Krippendorff's alpha between rounds: {alpha}. "
        "All rounds: the mean, with the lowest and the highest."
    )
    return table_of(f"Agreement by round, {grader.title}, {judged.criterion}", heads, rows, caption)


def _share(agreement: DecisionAgreement) -> TableField:
    if agreement.agreement is None:
        return share_field(None)
    interval = wilson(round(agreement.agreement * agreement.decisions), agreement.decisions)
    return number_field(
        agreement.agreement, percent(agreement.agreement), f"{percent(interval.low)} to {percent(interval.high)}"
    )


def _range(values: list[float | None]) -> TableField:
    there = [value for value in values if value is not None]
    if not there:
        return share_field(None)
    mean = sum(there) / len(there)
    return number_field(mean, percent(mean), f"{percent(min(there))} to {percent(max(there))}")
