"""Tables of judge scores, decisions and controls. Each title contains the state of validation of the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from caretbench.judging.aggregation import TOTAL
from caretbench.metrics.intervals import wilson
from caretbench.reports.judged.answers import STRATA
from caretbench.reports.judged.judged_answers import ALL_JUDGES
from caretbench.reports.judged.scores import (
    SIMULATED,
    AnswerScoreColumn,
    AnswerScores,
    CaretScoreColumn,
    CaretScores,
    DecisionAgreement,
    JudgeCounts,
    JudgeDecisions,
    JudgeHumanAgreement,
    JudgeTrust,
    RoundDecisions,
)
from caretbench.reports.judged.trust import GOOD_JUDGE_ACCURACY, MAX_FALSE_REJECTION
from caretbench.reports.tables import (
    MISSING_FIELD,
    FieldValue,
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    display_label,
    number_field,
    percent,
    score_field,
    share_field,
    table_of,
    text_field,
    title_field,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK

_RULE = (
    "The score of an instance is the mean over samples, judges and repeats. Numbers are means over instances, with "
    "95% intervals."
)
MARK_NOTE = f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls."
_RELEASED_RULE = (
    "As in the released code: All is the unweighted mean of the means of the files (one for each language and "
    "category); its interval is over all instances."
)


def caret_score_tables(judged: CaretScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion in display order."""
    if judged.columns:
        yield _by_stratum(judged, judged.columns, "language")
        if len(judged.scores) > 1:
            yield _parts_table(judged)
    for judge in dict.fromkeys(column.judge for column in judged.by_judge):
        columns = [column for column in judged.by_judge if column.judge == judge]
        yield _by_stratum(judged, columns, "language", f", {judge} alone")
    if any(column.strata.get("category") for column in judged.columns):
        yield _by_stratum(judged, judged.columns, "category")
    yield _caret_judges_table(judged)
    if any(judge.controls for judge in judged.judges):
        yield _caret_controls_table(judged)
    yield from decision_tables(judged)
    if judged.pairs:
        yield _pairs_table(judged)
    if judged.people:
        yield human_agreement_table(judged.criterion, judged.people)


def _caret_title(judged: CaretScores, subject: str) -> str:
    answers = ", answers that passed" if judged.only else ""
    return f"{subject}{answers}, {judged.criterion} ({judged.validity})"


def _by_stratum(judged: CaretScores, columns: Sequence[CaretScoreColumn], stratum: str, judge: str = "") -> ReportTable:
    """Return a table with models as rows and the values of one label as columns, like Table 7 of DevBench."""
    values = sorted(
        {cell.labels[stratum] for column in columns for cell in column.strata.get(stratum, ())},
        key=lambda value: display_label(stratum, value).lower(),
    )
    rows: list[FieldValues] = []
    for column in columns:
        cells = {cell.labels[stratum]: cell.scores[TOTAL] for cell in column.strata.get(stratum, ())}
        rows.append(
            (
                title_field(column.title, baseline=column.baseline),
                marked_field(score_field(column.overall.scores[TOTAL]), column.refused),
                *(marked_field(score_field(cells.get(one)), column.refused) for one in values),
                share_field(column.judged / column.samples),
            )
        )
    heads = ("Model", "All", *(display_label(stratum, value) for value in values), "Judged")
    title = _caret_title(judged, f"Judge scores by {stratum}, 0 to {judged.maximum:g}{judge}")
    caption = _RELEASED_RULE if judged.released else _RULE
    return table_of(title, heads, rows, f"{caption} {MARK_NOTE}" if any(one.refused for one in columns) else caption)


def _parts_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            title_field(column.title, baseline=column.baseline),
            *(
                marked_field(score_field(column.overall.scores.get(name)), column.refused)
                for name in (*judged.scores, TOTAL)
            ),
            column.overall.scores[TOTAL].problems,
            column.samples,
        )
        for column in judged.columns
    ]
    parts = (f"{name.replace('_', ' ').capitalize()}, 0 to {top:g}" for name, top in judged.scores.items())
    heads = ("Model", *parts, "Sum", "Instances", "Completions")
    return table_of(_caret_title(judged, "Judge scores by part"), heads, rows)


def _caret_judges_table(judged: CaretScores) -> ReportTable:
    spreads = [judge.repeat_deviation for judge in judged.judges]
    caption = "Equal texts are judged once. Judgements that are unreadable after all tries are missing in the scores."
    return _judges_table(_caret_title(judged, "Judges"), judged.judges, "SD of repeats", spreads, caption, _count_share)


def _judges_table(
    title: str,
    judges: Sequence[JudgeCounts],
    head: str,
    values: Sequence[float | None],
    caption: str,
    count: Callable[[int, int], FieldValue] = lambda number, _whole: number,
) -> ReportTable:
    """Return the numbers of judgements of each judge, with one value more; ``count`` shows one of its judgements."""
    rows: list[FieldValues] = [
        (
            judge.title, judge.texts, judge.judgements, count(judge.unreadable, judge.judgements),
            count(judge.tried_again, judge.judgements), judge.missing, digits_field(value),
            digits_field(judge.cost, ".4f"),
        )
        for judge, value in zip(judges, values, strict=True)
    ]  # fmt: skip
    heads = ("Judge", "Texts", "Judgements", "Unreadable", "Retried", "Missing", head, "Cost ($)")
    return table_of(title, heads, rows, caption)


def _count_share(count: int, whole: int) -> TableField:
    return number_field(count, percent(count / whole) if whole else None, str(count) if count else "")


def _controls(judges: Iterable[Any]) -> Iterator[tuple[Any, str, Any, bool]]:
    """Yield each control with its judge, its name, and whether it is the judge's first."""
    for judge in judges:
        for place, (name, control) in enumerate(judge.controls.items()):
            yield judge, name, control, not place


def _order_field(in_order: bool | None) -> TableField:
    return text_field({None: "", True: "right", False: "wrong"}[in_order], "warning" if in_order is False else "")


def _caret_controls_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title, name, digits_field(numbers.mean), digits_field(numbers.separation),
            digits_field(numbers.reference_above), judge.control_problems,
            _order_field(judge.in_order if first else None),
        )
        for judge, name, numbers, first in _controls(judged.judges)
    ]  # fmt: skip
    return table_of(
        _caret_title(judged, "Calibration by controls"),
        ("Judge", "Control", "Mean", "Separation", "Reference above", "Problems", "Order"),
        rows,
        (
            "Separation: the probability that a reference is rated above the control (0.5 is chance); reference "
            "above: the same within one problem. Right order: reference, reference twice in a row, then the "
            "two wrong ones."
        ),
    )


def _pairs_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (pair.first, pair.second, digits_field(pair.pearson), digits_field(pair.spearman), None, pair.texts)
        for pair in judged.pairs
    ]
    rows.append((ALL_JUDGES, MISSING_FIELD, None, None, digits_field(judged.alpha, ".3f"), judged.alpha_texts))
    heads = ("Judge", "And", "Pearson", "Spearman", "Krippendorff's alpha", "Texts")
    caption = "Alpha is ordinal, over all texts that two judges judged: 1 is perfect, 0 is chance."
    return table_of(_caret_title(judged, "Agreement of judges"), heads, rows, caption)


def human_agreement_table(criterion: str, people: Sequence[JudgeHumanAgreement]) -> ReportTable:
    """Return the table of judges' agreement with people."""
    rows: list[FieldValues] = [
        (
            entry.judge, digits_field(entry.spearman),
            "{:.2f} to {:.2f}".format(*entry.spearman_interval) if entry.spearman_interval else "",
            digits_field(entry.pearson), digits_field(entry.mean_difference, "+.2f"), entry.texts, entry.raters,
            digits_field(entry.alpha),
        )
        for entry in people
    ]  # fmt: skip
    return table_of(
        f"Judges compared with {SIMULATED if any(entry.simulated for entry in people) else 'people'}, {criterion}",
        ("Judge", "Spearman", "95% interval", "Pearson", "Judge minus people", "Texts", "People", "Alpha of people"),
        rows,
        "People: the mean over the raters of a text. Alpha: Krippendorff's (ordinal), among the people.",
    )


def answer_score_tables(judged: AnswerScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion in display order."""
    if judged.columns:
        yield _answer_scores_table(judged)
        for stratum in STRATA:
            if len({label for column in judged.columns for label in column.strata.get(stratum, ())}) > 1:
                yield _stratum_table(judged, stratum)
    yield _answer_judges_table(judged)
    if any(judge.consistency["texts"] for judge in judged.judges):
        yield _consistency_table(judged)
    if any(judge.controls for judge in judged.judges):
        yield _answer_controls_table(judged)
    if judged.people:
        yield human_agreement_table(judged.criterion, judged.people)


def _answer_title(judged: AnswerScores, what: str) -> str:
    return f"{what}, {judged.criterion} ({judged.validity})"


def _scale(judged: AnswerScores) -> str:
    return "share with a hallucination" if judged.hallucinations else f"0 to {judged.maximum:g}"


def _answer_scores_table(judged: AnswerScores) -> ReportTable:
    columns = (*judged.columns, *judged.by_judge)
    names = tuple(dict.fromkeys(name for column in columns for name in column.parts))
    parts = names if len(names) > 1 else ()
    counted = any(column.claim_rate is not None or column.says_nothing for column in columns)
    rows: list[FieldValues] = [
        (
            column.model,
            column.judge,
            marked_field(score_field(column.value), column.refused),
            *(marked_field(digits_field(column.parts.get(name)), column.refused) for name in parts),
            *((marked_field(share_field(column.claim_rate), column.refused), column.says_nothing) if counted else ()),
            column.value.problems if column.value else 0,
            _coverage(column),
        )
        for column in columns
    ]
    heads = (
        "Model", "Judge", f"Score ({_scale(judged)})",
        *(name.replace("_", " ").capitalize() for name in parts),
        *(("False statements", "No statement") if counted else ()),
        "Instances", "Judged",
    )  # fmt: skip
    return table_of(
        _answer_title(judged, "Judged answers"),
        heads,
        rows,
        (
            "Numbers are means over instances, with 95% intervals over pull requests. Answers that could not be judged "
            "are in no mean; below 98% judged the run has failed. An answer without a statement counts as a "
            f"hallucination. {MARK_NOTE}"
        ),
    )


def marked_field(field: TableField, refused: str) -> TableField:
    """Return the field, marked if the judges did not pass their controls."""
    if not refused or field.sort is None:
        return field
    return field.model_copy(update={"text": f"{field.text} {FAILED_CONTROLS_MARK}", "tone": "warning"})


def _coverage(column: AnswerScoreColumn) -> TableField:
    share = share_field(column.coverage, f"{column.rated} of {column.answers}")
    return share.model_copy(update={"tone": "warning"}) if column.failed else share


def _stratum_table(judged: AnswerScores, stratum: str) -> ReportTable:
    labels = sorted({label for column in judged.columns for label in column.strata.get(stratum, ())})
    rows: list[FieldValues] = [
        (
            column.model,
            marked_field(score_field(column.value), column.refused),
            *(marked_field(score_field(column.strata[stratum].get(label)), column.refused) for label in labels),
        )
        for column in judged.columns
    ]
    return table_of(
        _answer_title(judged, f"Judged answers by {stratum}, {_scale(judged)}"), ("Model", "All", *labels), rows
    )


def _answer_judges_table(judged: AnswerScores) -> ReportTable:
    caption = "Equal texts are judged once. Alpha: Krippendorff's (ordinal), between the judges."
    alphas = [judged.alpha] * len(judged.judges)
    return _judges_table(_answer_title(judged, "Judges"), judged.judges, "Alpha", alphas, caption)


def _consistency_table(judged: AnswerScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title,
            judge.consistency["texts"],
            share_field(judge.consistency["same"]),
            *(digits_field(judge.consistency[name]) for name in ("difference", "deviation", "alpha")),
            digits_field(judge.consistency["order_effect"], "+.2f"),
        )
        for judge in judged.judges
    ]
    return table_of(
        _answer_title(judged, "Consistency over repeats"),
        ("Judge", "Texts", "Same", "Difference", "SD", "Alpha", "Order effect"),
        rows,
        (
            "For answers that were judged more than once. Order effect: the gain of an answer from being shown before "
            "the reference."
        ),
    )


def _control_verdict(judge: JudgeTrust) -> tuple[str, str]:
    """Return the verdict on a judge, and its tone."""
    if judge.state == "accepted":
        return "passed", "good"
    return f"{'failed' if judge.state == 'failed' else 'not known'}: {judge.reason}", "warning"


def _answer_controls_table(judged: AnswerScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title, name, digits_field(control["mean"]), share_field(control["right"]),
            digits_field(control["separation"]), control["problems"], share_field(judge.precision if first else None),
            share_field(judge.recall if first else None), _order_field(judge.in_order if first else None),
            text_field(*_control_verdict(judge) if first else ("",)),
        )
        for judge, name, control, first in _controls(judged.judges)
    ]  # fmt: skip
    return table_of(
        _answer_title(judged, "Calibration by controls"),
        ("Judge", "Control", "Mean", "Correct", "Separation", "Problems", "Precision", "Recall", "Order", "Verdict"),
        rows,
        (
            "reference: the reference; false-claim: with one false statement more; other-reference: of another pull "
            "request; empty: nothing. Separation: the probability that a reference is judged better (0.5 is "
            "chance). Precision and recall: of the controls that are hallucinations, whether they are found out. "
            "Verdict: a judge that is right about every control in "
            f"{GOOD_JUDGE_ACCURACY:.0%} of the cases fails in at most {MAX_FALSE_REJECTION:.0%} of the runs "
            f"({judged.acceptance})."
        ),
    )


SOURCES = {"known": "controls", "predicate": "predicates", "people": "people"}
"""Titles of what decisions are compared with, by field of the numbers."""

_STATES = {"accepted": "good", "failed": "warning", "too_few": "warning", "unknown": ""}


def decision_tables(judged: CaretScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion that is answered by yes or no."""
    if not judged.decisions:
        return
    if any(judge.controls for judge in judged.decisions):
        yield _decision_controls_table(judged)
    if any(_known_agreements(judge) for judge in judged.decisions):
        yield _decision_agreement_table(judged)
    for judge in judged.decisions:
        if judge.rounds:
            yield _rounds_table(judged, judge)


def _known_agreements(numbers: JudgeDecisions | RoundDecisions) -> list[tuple[str, DecisionAgreement]]:
    """Return what there are known decisions of, with the agreement."""
    agreements: list[tuple[str, DecisionAgreement]] = [(name, getattr(numbers, name)) for name in SOURCES]
    return [(name, agreement) for name, agreement in agreements if agreement.decisions]


def _decision_controls_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title, name, control.expected, share_field(control.right), control.problems,
            text_field(judge.state.replace("_", " "), _STATES[judge.state]) if first else text_field(""),
        )
        for judge, name, control, first in _controls(judged.decisions)
    ]  # fmt: skip
    return table_of(
        f"Controls of decisions, {judged.criterion}",
        ("Judge", "Control", "Right decision", "Decided so", "Problems", "Judge by controls"),
        rows,
        "other-variant: the right answer to another instruction at the same caret. A control that was judged several "
        "times is decided by the majority.",
    )


def _decision_agreement_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title, SOURCES[name], _agreement_field(agreement), share_field(agreement.precision),
            share_field(agreement.recall), agreement.decisions,
        )
        for judge in judged.decisions
        for name, agreement in _known_agreements(judge)
    ]  # fmt: skip
    return table_of(
        f"Decisions compared with what is known, {judged.criterion}",
        ("Judge", "Compared with", "Agreement", "Precision of yes", "Recall of yes", "Decisions"),
        rows,
        "Predicates and people are compared on the models' answers, where both decide. Every round counts. Wilson's "
        "interval of the agreement treats decisions as independent.",
    )


def _rounds_table(judged: CaretScores, judge: JudgeDecisions) -> ReportTable:
    """Return the table of agreement by round; the last rows are the mean and the extremes."""
    names = [name for name, _ in _known_agreements(judge)]
    rows: list[FieldValues] = [
        (
            str(one.number), one.judged, one.unreadable, share_field(one.yes),
            *(share_field(getattr(one, name).agreement) for name in names),
        )
        for one in judge.rounds
    ]  # fmt: skip
    rows.append(
        (
            "all rounds", sum(one.judged for one in judge.rounds), sum(one.unreadable for one in judge.rounds),
            _mean_and_range([one.yes for one in judge.rounds]),
            *(_mean_and_range([getattr(one, name).agreement for one in judge.rounds]) for name in names),
        )
    )  # fmt: skip
    heads = ("Round", "Judged", "Unreadable", "Yes", *(f"Agreement with {SOURCES[name]}" for name in names))
    same, alpha = digits_field(judge.same, ".3f").text, digits_field(judge.alpha, ".3f").text
    caption = (
        f"Pairs of rounds with the same decision about a text: {same}; Krippendorff's alpha between rounds: {alpha}. "
        "All rounds: the mean, with the lowest and the highest."
    )
    return table_of(f"Agreement by round, {judge.title}, {judged.criterion}", heads, rows, caption)


def _agreement_field(agreement: DecisionAgreement) -> TableField:
    if agreement.agreement is None:
        return share_field(None)
    interval = wilson(round(agreement.agreement * agreement.decisions), agreement.decisions)
    return number_field(
        agreement.agreement, percent(agreement.agreement), f"{percent(interval.low)} to {percent(interval.high)}"
    )


def _mean_and_range(values: list[float | None]) -> TableField:
    there = [value for value in values if value is not None]
    if not there:
        return share_field(None)
    mean = sum(there) / len(there)
    return number_field(mean, percent(mean), f"{percent(min(there))} to {percent(max(there))}")
