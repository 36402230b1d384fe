"""Tables of judged texts at carets. Each title contains the state of validation of the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.judging.aggregation import TOTAL
from caretbench.reports.judged.decision_tables import decision_tables
from caretbench.reports.judged.judged_answers import ALL_GRADERS
from caretbench.reports.judged.scores import SIMULATED, CaretScoreColumn, CaretScores, GraderHumanAgreement
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

_RULE = (
    "The score of an instance is the mean over samples, graders and repeats. Numbers are means over instances, with "
    "95% intervals."
)
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
    for grader in dict.fromkeys(column.grader for column in judged.by_grader):
        columns = [column for column in judged.by_grader if column.grader == grader]
        yield _by_stratum(judged, columns, "language", f", {grader} alone")
    if any(column.strata.get("category") for column in judged.columns):
        yield _by_stratum(judged, judged.columns, "category")
    yield _graders_table(judged)
    if any(grader.controls for grader in judged.graders):
        yield _controls_table(judged)
    yield from decision_tables(judged)
    if judged.pairs:
        yield _pairs_table(judged)
    if judged.people:
        yield human_agreement_table(judged.criterion, judged.people)


def _title(judged: CaretScores, subject: str) -> str:
    answers = ", answers that passed" if judged.only else ""
    return f"{subject}{answers}, {judged.criterion} ({judged.validity})"


def _by_stratum(
    judged: CaretScores, columns: Sequence[CaretScoreColumn], stratum: str, grader: str = ""
) -> ReportTable:
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
                score_field(column.overall.scores[TOTAL]),
                *(score_field(cells.get(value)) for value in values),
                share_field(column.judged / column.samples),
            )
        )
    heads = ("Model", "All", *(display_label(stratum, value) for value in values), "Judged")
    title = _title(judged, f"Judge scores by {stratum}, 0 to {judged.maximum:g}{grader}")
    return table_of(title, heads, rows, _RELEASED_RULE if judged.released else _RULE)


def _parts_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            title_field(column.title, baseline=column.baseline),
            *(score_field(column.overall.scores.get(name)) for name in (*judged.scores, TOTAL)),
            column.overall.scores[TOTAL].problems,
            column.samples,
        )
        for column in judged.columns
    ]
    parts = (f"{name.replace('_', ' ').capitalize()}, 0 to {top:g}" for name, top in judged.scores.items())
    heads = ("Model", *parts, "Sum", "Instances", "Completions")
    return table_of(_title(judged, "Judge scores by part"), heads, rows)


def _graders_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = [
        (
            grader.title,
            grader.texts,
            grader.judgements,
            _share(grader.unreadable, grader.judgements),
            _share(grader.tried_again, grader.judgements),
            grader.missing,
            digits_field(grader.repeat_deviation),
            digits_field(grader.cost, ".4f"),
        )
        for grader in judged.graders
    ]
    heads = ("Grader", "Texts", "Judgements", "Unreadable", "Retried", "Missing", "SD of repeats", "Cost ($)")
    caption = "Equal texts are judged once. Judgements that are unreadable after all tries are missing in the scores."
    return table_of(_title(judged, "Graders"), heads, rows, caption)


def _share(count: int, whole: int) -> TableField:
    return number_field(count, percent(count / whole) if whole else None, str(count) if count else "")


def _controls_table(judged: CaretScores) -> ReportTable:
    rows: list[FieldValues] = []
    for grader in judged.graders:
        for place, (name, numbers) in enumerate(grader.controls.items()):
            order = "" if place else "right" if grader.in_order else "wrong"
            rows.append(
                (
                    grader.title,
                    name,
                    digits_field(numbers.mean),
                    digits_field(numbers.separation),
                    digits_field(numbers.reference_above),
                    grader.control_problems,
                    text_field(order, "warning" if order == "wrong" else ""),
                )
            )
    return table_of(
        _title(judged, "Calibration by controls"),
        ("Grader", "Control", "Mean", "Separation", "Reference above", "Problems", "Order"),
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
    rows.append((ALL_GRADERS, MISSING_FIELD, None, None, digits_field(judged.alpha, ".3f"), judged.alpha_texts))
    heads = ("Grader", "And", "Pearson", "Spearman", "Krippendorff's alpha", "Texts")
    caption = "Alpha is ordinal, over all texts that two graders judged: 1 is perfect, 0 is chance."
    return table_of(_title(judged, "Agreement of graders"), heads, rows, caption)


def human_agreement_table(criterion: str, people: Sequence[GraderHumanAgreement]) -> ReportTable:
    """Return the table of graders' agreement with people."""
    rows: list[FieldValues] = [
        (
            entry.grader,
            digits_field(entry.spearman),
            "{:.2f} to {:.2f}".format(*entry.spearman_interval) if entry.spearman_interval else "",
            digits_field(entry.pearson),
            digits_field(entry.mean_difference, "+.2f"),
            entry.texts,
            entry.raters,
            digits_field(entry.alpha),
        )
        for entry in people
    ]
    return table_of(
        f"Graders compared with {SIMULATED if any(entry.simulated for entry in people) else 'people'}, {criterion}",
        ("Grader", "Spearman", "95% interval", "Pearson", "Judge minus people", "Texts", "People", "Alpha of people"),
        rows,
        "People: the mean over the raters of a text. Alpha: Krippendorff's (ordinal), among the people.",
    )
