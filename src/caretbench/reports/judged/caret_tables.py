"""The tables of what the judges said. How far the scores are validated stands in the title of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.judging.aggregation import TOTAL
from caretbench.reports.judged.numbers import ALL_GRADERS, HumanNumbers, Judged, JudgedColumn
from caretbench.reports.tables import (
    Field,
    Table,
    number_field,
    percent,
    score_field,
    shown_label,
    text_field,
)

_RULE = (
    "An instance's score is the mean over samples, graders and repeats; a number here is a mean over instances, with "
    "its 95% interval."
)
_RELEASED_RULE = (
    "As the released code does it: all is the unweighted mean of the means of the files (one for each language and "
    "category), its interval is over all instances."
)


def judged_tables(judged: Judged) -> tuple[Table, ...]:
    """The tables of one criterion in the order in which they are read."""
    return tuple(_tables(judged))


def _tables(judged: Judged) -> Iterator[Table]:
    if judged.columns:
        yield _language_table(judged, judged.columns, "")
        if len(judged.scores) > 1:
            yield _parts_table(judged)
    for grader in dict.fromkeys(column.grader for column in judged.by_grader):
        columns = [column for column in judged.by_grader if column.grader == grader]
        yield _language_table(judged, columns, f", {grader} alone")
    if any(column.strata.get("category") for column in judged.columns):
        yield _category_table(judged)
    yield _graders_table(judged)
    if any(grader.controls for grader in judged.graders):
        yield _controls_table(judged)
    if judged.pairs:
        yield _pairs_table(judged)
    if judged.people:
        yield people_table(judged.criterion, judged.people)


def _title(judged: Judged, what: str) -> str:
    return f"{what}, {judged.criterion} ({judged.validity})"


def _name(column: JudgedColumn) -> Field:
    return text_field(column.title, "baseline" if column.baseline else "")


def _by_stratum(judged: Judged, columns: Sequence[JudgedColumn], stratum: str, title: str) -> Table:
    """Models down, the values of one label across: Table 7 of DevBench in form."""
    values = sorted(
        {cell.labels[stratum] for column in columns for cell in column.strata.get(stratum, ())},
        key=lambda value: shown_label(stratum, value).lower(),
    )
    rows = []
    for column in columns:
        cells = {cell.labels[stratum]: cell.scores[TOTAL] for cell in column.strata.get(stratum, ())}
        rows.append(
            (
                _name(column),
                score_field(column.overall.scores[TOTAL]),
                *(score_field(cells.get(value)) for value in values),
                number_field(column.judged / column.samples, percent(column.judged / column.samples)),
            )
        )
    heads = ("Model", "All", *(shown_label(stratum, value) for value in values), "Judged")
    return Table(
        title=_title(judged, title),
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=tuple(rows),
        caption=_RELEASED_RULE if judged.released else _RULE,
    )


def _language_table(judged: Judged, columns: Sequence[JudgedColumn], whose: str) -> Table:
    return _by_stratum(
        judged, columns, "language", f"Judge scores by language, 0 to {judged.maximum:g}{whose}"
    )


def _category_table(judged: Judged) -> Table:
    return _by_stratum(
        judged, judged.columns, "category", f"Judge scores by category, 0 to {judged.maximum:g}"
    )


def _parts_table(judged: Judged) -> Table:
    rows = tuple(
        (
            _name(column),
            *(score_field(column.overall.scores.get(name)) for name in judged.scores),
            score_field(column.overall.scores[TOTAL]),
            number_field(column.overall.scores[TOTAL].problems),
            number_field(column.samples),
        )
        for column in judged.columns
    )
    parts = (f"{name.replace('_', ' ').capitalize()}, 0 to {top:g}" for name, top in judged.scores.items())
    heads = ("Model", *parts, "Sum", "Instances", "Completions")
    return Table(
        title=_title(judged, "Judge scores by part"),
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=rows,
    )


def _graders_table(judged: Judged) -> Table:
    rows = tuple(
        (
            text_field(grader.title),
            number_field(grader.texts),
            number_field(grader.judgements),
            _share(grader.unreadable, grader.judgements),
            _share(grader.tried_again, grader.judgements),
            number_field(grader.missing),
            number_field(
                grader.repeat_deviation,
                None if grader.repeat_deviation is None else f"{grader.repeat_deviation:.2f}",
            ),
            number_field(grader.cost, None if grader.cost is None else f"{grader.cost:.4f}"),
        )
        for grader in judged.graders
    )
    return Table(
        title=_title(judged, "Graders"),
        heads=(
            "Grader", "Texts", "Judgements", "Unreadable", "Asked again", "Missing", "SD of repeats", "Cost ($)",
        ),
        numeric=(False, *[True] * 7),
        rows=rows,
        caption="Equal texts are judged once. What is unreadable after all tries is missing from the scores.",
    )  # fmt: skip


def _share(count: int, whole: int) -> Field:
    return number_field(count, percent(count / whole) if whole else None, str(count) if count else "")


def _controls_table(judged: Judged) -> Table:
    rows = []
    for grader in judged.graders:
        for place, (name, numbers) in enumerate(grader.controls.items()):
            order = "" if place else "right" if grader.in_order else "wrong"
            rows.append(
                (
                    text_field(grader.title),
                    text_field(name),
                    number_field(numbers.mean, f"{numbers.mean:.2f}"),
                    _two_digits(numbers.separation),
                    _two_digits(numbers.golden_above),
                    number_field(grader.control_problems),
                    text_field(order, "warning" if order == "wrong" else ""),
                )
            )
    return Table(
        title=_title(judged, "Calibration by controls"),
        heads=("Grader", "Control", "Mean", "Separation", "Golden above", "Problems", "Order"),
        numeric=(False, False, True, True, True, True, False),
        rows=tuple(rows),
        caption=(
            "Separation: the probability that a golden answer is rated above the control (0.5 is chance); golden "
            "above: the same within one problem. Right order: golden, golden twice in a row, then the two wrong ones."
        ),
    )


def _two_digits(value: float | None) -> Field:
    return number_field(value, None if value is None else f"{value:.2f}")


def _pairs_table(judged: Judged) -> Table:
    rows = [
        (
            text_field(pair.first),
            text_field(pair.second),
            _two_digits(pair.pearson),
            _two_digits(pair.spearman),
            number_field(None),
            number_field(pair.texts),
        )
        for pair in judged.pairs
    ]
    together = (
        text_field(ALL_GRADERS),
        text_field(None),
        number_field(None),
        number_field(None),
        number_field(judged.alpha, None if judged.alpha is None else f"{judged.alpha:.3f}"),
        number_field(judged.alpha_texts),
    )
    return Table(
        title=_title(judged, "Agreement of graders"),
        heads=("Grader", "And", "Pearson", "Spearman", "Krippendorff's alpha", "Texts"),
        numeric=(False, False, True, True, True, True),
        rows=(*rows, together),
        caption="Alpha is ordinal, over all texts that two graders judged: 1 is perfect, 0 as by chance.",
    )


def people_table(criterion: str, people: Sequence[HumanNumbers]) -> Table:
    """How far graders agree with people."""
    rows = [
        (
            text_field(entry.grader),
            _two_digits(entry.spearman),
            _two_digits(entry.pearson),
            number_field(entry.mean_difference, f"{entry.mean_difference:+.2f}"),
            number_field(entry.texts),
            number_field(entry.raters),
            _two_digits(entry.alpha),
        )
        for entry in people
    ]
    return Table(
        title=f"Graders beside people, {criterion}",
        heads=("Grader", "Spearman", "Pearson", "Judge minus people", "Texts", "People", "Alpha of people"),
        numeric=(False, *[True] * 6),
        rows=tuple(rows),
        caption="Of people the mean over the raters of a text. Alpha: Krippendorff's (ordinal), among the people.",
    )
