"""Tables of judge scores, reliability and decisions. Each title contains the state of validation of the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.metrics.intervals import wilson
from caretbench.reports.judged.judged_scores import ALL_JUDGES
from caretbench.reports.judged.scores import (
    SIMULATED,
    DecisionAgreement,
    JudgeDecisions,
    JudgedScores,
    JudgeTrust,
    RoundDecisions,
    ScoreColumn,
)
from caretbench.reports.judged.trust import GOOD_JUDGE_ACCURACY, MAX_FALSE_REJECTION
from caretbench.reports.tables import (
    MISSING_FIELD,
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
_ANSWER_RULE = (
    "Answers that could not be judged are in no mean; below 98% judged the run has failed. An answer without a "
    "statement counts as a hallucination."
)
_RELEASED_RULE = (
    "As in the released code: All is the unweighted mean of the means of the files (one for each language and "
    "category); its interval is over all instances."
)
MARK_NOTE = f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls."


def judged_tables(judged: JudgedScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion in display order."""
    if judged.columns:
        yield _parts_table(judged)
    yield from _stratum_tables(judged)
    yield _judges_table(judged)
    if any(judge.consistency["texts"] for judge in judged.judges):
        yield _consistency_table(judged)
    if any(judge.controls for judge in judged.judges):
        yield _controls_table(judged)
    yield from _decision_tables(judged)
    if judged.pairs:
        yield _pairs_table(judged)
    if judged.people:
        yield _people_table(judged)


def _stratum_tables(judged: JudgedScores) -> Iterator[ReportTable]:
    """Yield the scores by each label: language and category, or task and repository; crossed labels are drawn."""
    for name in dict.fromkeys(name for column in judged.columns for name in column.strata if " / " not in name):
        if judged.subject == "caret" or len(_values(judged.columns, name)) > 1:
            yield _stratum_table(judged, judged.columns, name)
    for judge in dict.fromkeys(column.judge for column in judged.by_judge if judged.subject == "caret"):
        columns = [column for column in judged.by_judge if column.judge == judge]
        yield _stratum_table(judged, columns, "language", f", {judge} alone")


def _title(judged: JudgedScores, subject: str) -> str:
    answers = ", answers that passed" if judged.only else ""
    return f"{subject}{answers}, {judged.criterion} ({judged.validity})"


def _scale(judged: JudgedScores) -> str:
    return "share with a hallucination" if judged.hallucinations else f"0 to {judged.maximum:g}"


def _caption(judged: JudgedScores, columns: Sequence[ScoreColumn]) -> str:
    rule = _RELEASED_RULE if judged.released else _RULE
    parts = (rule, _ANSWER_RULE * (judged.subject == "answer"), MARK_NOTE * any(column.refused for column in columns))
    return " ".join(filter(None, parts))


def marked_field(field: TableField, refused: str) -> TableField:
    """Return the field, marked if the judges did not pass their controls."""
    if not refused or field.sort is None:
        return field
    return field.model_copy(update={"text": f"{field.text} {FAILED_CONTROLS_MARK}", "tone": "warning"})


def _coverage(judged: JudgedScores, column: ScoreColumn) -> TableField:
    share = share_field(column.coverage, f"{column.rated} of {column.answers}")
    return share.model_copy(update={"tone": "warning"}) if column.coverage < judged.required_coverage else share


def _values(columns: Sequence[ScoreColumn], stratum: str) -> list[str]:
    """Return the values of a label, as they are shown in order."""
    values = {cell.labels[stratum] for column in columns for cell in column.strata.get(stratum, ())}
    return sorted(values, key=lambda value: display_label(stratum, value).lower())


def _stratum_table(judged: JudgedScores, columns: Sequence[ScoreColumn], stratum: str, judge: str = "") -> ReportTable:
    """Return a table with models as rows and the values of one label as columns, like Table 7 of DevBench."""
    values = _values(columns, stratum)
    rows: list[FieldValues] = []
    for column in columns:
        cells = {cell.labels[stratum]: cell.value for cell in column.strata.get(stratum, ())}
        rows.append(
            (
                title_field(column.title, baseline=column.baseline),
                marked_field(score_field(column.value), column.refused),
                *(marked_field(score_field(cells.get(value)), column.refused) for value in values),
                _coverage(judged, column),
            )
        )
    heads = ("Model", "All", *(display_label(stratum, value) for value in values), "Judged")
    title = _title(judged, f"Judge scores by {stratum}, {_scale(judged)}{judge}")
    return table_of(title, heads, rows, _caption(judged, columns))


def _parts_table(judged: JudgedScores) -> ReportTable:
    columns = (*judged.columns, *judged.by_judge)
    names = tuple(dict.fromkeys(name for column in columns for name in column.parts))
    parts = names if len(names) > 1 else ()
    counted = any(column.claim_rate is not None or column.says_nothing for column in columns)
    rows: list[FieldValues] = [
        (
            title_field(column.title, baseline=column.baseline),
            column.judge,
            marked_field(score_field(column.value), column.refused),
            *(marked_field(score_field(column.parts.get(name)), column.refused) for name in parts),
            *((marked_field(share_field(column.claim_rate), column.refused), column.says_nothing) if counted else ()),
            column.value.problems if column.value else 0,
            _coverage(judged, column),
        )
        for column in columns
    ]
    heads = (
        "Model", "Judge", f"Score, {_scale(judged)}",
        *(_part_title(judged, name) for name in parts),
        *(("False statements", "No statement") if counted else ()),
        "Instances", "Judged",
    )  # fmt: skip
    return table_of(_title(judged, "Judge scores"), heads, rows, _caption(judged, columns))


def _part_title(judged: JudgedScores, name: str) -> str:
    top = f", 0 to {judged.scores[name]:g}" if name in judged.scores else ""
    return name.replace("_", " ").capitalize() + top


def _judges_table(judged: JudgedScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title, judge.texts, judge.judgements, _count_share(judge.unreadable, judge.judgements),
            _count_share(judge.tried_again, judge.judgements), judge.missing, digits_field(judge.cost, ".4f"),
        )
        for judge in judged.judges
    ]  # fmt: skip
    heads = ("Judge", "Texts", "Judgements", "Unreadable", "Retried", "Missing", "Cost ($)")
    caption = "Equal texts are judged once. Judgements that are unreadable after all tries are missing in the scores."
    return table_of(_title(judged, "Judges"), heads, rows, caption)


def _count_share(count: int, whole: int) -> TableField:
    return number_field(count, percent(count / whole) if whole else None, str(count) if count else "")


def _consistency_table(judged: JudgedScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            judge.title,
            judge.consistency["texts"],
            share_field(judge.consistency["same"]),
            *(digits_field(judge.consistency[name]) for name in ("difference", "deviation")),
            digits_field(judge.consistency["alpha"], ".3f"),
            digits_field(judge.consistency["order_effect"], "+.2f"),
        )
        for judge in judged.judges
    ]
    return table_of(
        _title(judged, "Consistency over repeats"),
        ("Judge", "Texts", "Same", "Difference", "SD", "Alpha", "Order effect"),
        rows,
        (
            "For texts that were judged more than once. Same: pairs of repeats with equal values. Alpha: "
            "Krippendorff's, between repeats. Order effect: the gain of an answer from being shown before the "
            "reference."
        ),
    )


def _control_verdict(judge: JudgeTrust) -> tuple[str, str]:
    """Return the verdict on a judge, and its tone."""
    if judge.state == "accepted":
        return "passed", "good"
    return f"{'failed' if judge.state == 'failed' else 'not known'}: {judge.reason}", "warning"


def _controls_table(judged: JudgedScores) -> ReportTable:
    order = {None: "", True: "right", False: "wrong"}
    rows: list[FieldValues] = []
    for judge in judged.judges:
        for number, (name, control) in enumerate(judge.controls.items()):
            ordered = judge.in_order if not number else None
            rows.append(
                (
                    judge.title, name, digits_field(control["mean"]), share_field(control["right"]),
                    digits_field(control["separation"]), digits_field(control["reference_above"]), control["problems"],
                    *(share_field(None if number else value) for value in (judge.precision, judge.recall)),
                    text_field(order[ordered], "warning" if ordered is False else ""),
                    text_field(*(("",) if number else _control_verdict(judge))),
                )
            )  # fmt: skip
    return table_of(
        _title(judged, "Calibration by controls"),
        (
            "Judge", "Control", "Mean", "Correct", "Separation", "Reference above", "Problems", "Precision", "Recall",
            "Order", "Verdict",
        ),
        rows,
        (
            "reference: the right answer; reference-twice: twice in a row; false-claim: with one false statement more; "
            "other-reference: of another problem; other-variant: of another instruction at the same caret; empty: "
            "nothing. Separation: the probability that a reference is judged better than the control (0.5 is chance); "
            "reference above: the same within one problem. Precision and recall: of the controls that are "
            "hallucinations, whether they are found out. Verdict: a judge that is right about every control in "
            f"{GOOD_JUDGE_ACCURACY:.0%} of the cases fails in at most {MAX_FALSE_REJECTION:.0%} of the runs "
            f"({judged.acceptance})."
        ),
    )  # fmt: skip


def _pairs_table(judged: JudgedScores) -> ReportTable:
    rows: list[FieldValues] = [
        (pair.first, pair.second, digits_field(pair.pearson), digits_field(pair.spearman), None, pair.texts)
        for pair in judged.pairs
    ]
    rows.append((ALL_JUDGES, MISSING_FIELD, None, None, digits_field(judged.alpha, ".3f"), judged.alpha_texts))
    heads = ("Judge", "And", "Pearson", "Spearman", "Krippendorff's alpha", "Texts")
    caption = "Alpha is ordinal, over all texts that two judges judged: 1 is perfect, 0 is chance."
    return table_of(_title(judged, "Agreement of judges"), heads, rows, caption)


def _people_table(judged: JudgedScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            entry.judge, digits_field(entry.spearman),
            "{:.2f} to {:.2f}".format(*entry.spearman_interval) if entry.spearman_interval else "",
            digits_field(entry.pearson), digits_field(entry.mean_difference, "+.2f"), entry.texts, entry.raters,
            digits_field(entry.alpha),
        )
        for entry in judged.people
    ]  # fmt: skip
    return table_of(
        f"Judges compared with {SIMULATED if any(entry.simulated for entry in judged.people) else 'people'}, "
        f"{judged.criterion}",
        ("Judge", "Spearman", "95% interval", "Pearson", "Judge minus people", "Texts", "People", "Alpha of people"),
        rows,
        "People: the mean over the raters of a text. Alpha: Krippendorff's (ordinal), among the people.",
    )


SOURCES = {"known": "controls", "predicate": "predicates", "people": "people"}
"""Titles of what decisions are compared with, by field of the numbers."""


def _decision_tables(judged: JudgedScores) -> Iterator[ReportTable]:
    """Yield the tables of one criterion that is answered by yes or no."""
    decisions = [(judge, judge.decisions) for judge in judged.judges if judge.decisions is not None]
    rows: list[FieldValues] = [
        (
            judge.title, SOURCES[name], _agreement_field(agreement), share_field(agreement.precision),
            share_field(agreement.recall), agreement.decisions,
        )
        for judge, decided in decisions
        for name, agreement in _known_agreements(decided)
    ]  # fmt: skip
    if rows:
        yield table_of(
            f"Decisions compared with what is known, {judged.criterion}",
            ("Judge", "Compared with", "Agreement", "Precision of yes", "Recall of yes", "Decisions"),
            rows,
            "Predicates and people are compared on the models' answers, where both decide. Every round counts. "
            "Wilson's interval of the agreement treats decisions as independent.",
        )
    for judge, decided in decisions:
        if decided.rounds:
            yield _rounds_table(judged, judge, decided)


def _known_agreements(numbers: JudgeDecisions | RoundDecisions) -> list[tuple[str, DecisionAgreement]]:
    """Return what there are known decisions of, with the agreement."""
    agreements: list[tuple[str, DecisionAgreement]] = [(name, getattr(numbers, name)) for name in SOURCES]
    return [(name, agreement) for name, agreement in agreements if agreement.decisions]


def _rounds_table(judged: JudgedScores, judge: JudgeTrust, decided: JudgeDecisions) -> ReportTable:
    """Return the table of agreement by round; the last row has the mean and the extremes."""
    names = [name for name, _ in _known_agreements(decided)]
    rows: list[FieldValues] = [
        (
            str(counts.number), counts.judged, counts.unreadable, share_field(counts.yes),
            *(share_field(getattr(counts, name).agreement) for name in names),
        )
        for counts in decided.rounds
    ]  # fmt: skip
    rows.append(
        (
            "all rounds",
            *(sum(getattr(counts, name) for counts in decided.rounds) for name in ("judged", "unreadable")),
            _mean_and_range([counts.yes for counts in decided.rounds]),
            *(_mean_and_range([getattr(counts, name).agreement for counts in decided.rounds]) for name in names),
        )
    )
    heads = ("Round", "Judged", "Unreadable", "Yes", *(f"Agreement with {SOURCES[name]}" for name in names))
    caption = "All rounds: the mean, with the lowest and the highest."
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
