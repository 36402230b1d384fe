"""Results of a study as lines and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.people.review.agreement_tables import StatusTable
from caretbench.people.review.study.study_types import StudyNumber, StudyResult

SIMULATED = "simulated ratings (test only)"


def study_lines(result: StudyResult) -> Iterator[str]:
    """Yield what a study says, the answers first."""
    who = SIMULATED if result.simulated else "1 person" if result.people == 1 else f"{result.people} people"
    alpha = "undefined" if result.alpha is None else f"{result.alpha:.2f}"
    yield f"{who}, {result.texts} texts by {result.criterion}; Krippendorff's alpha among people: {alpha}"
    if len({one.criterion for one in result.comparisons}) > 1:
        yield f"several criteria: numbers are over the {result.reported_texts} texts of the half that chose none"
    for one in result.replacements:
        name = f"{one.judge} ({one.criterion})"
        if one.passes is None:
            yield f"{name}: no test against people: {one.reason}"
        else:
            verdict = "may take the place of a person" if one.passes else "may not take the place of a person"
            yield f"{name} {verdict}: wins against {one.winning_rate:.0%} of them"
    for gap in result.styles:
        if gap.verdict != "not distinguishable":
            yield f"{gap.judge} ({gap.criterion}) rates {gap.style} {gap.verdict}: {_text(gap.gap, '+.2f')} points"


def study_tables(result: StudyResult) -> Iterator[StatusTable]:
    """Yield the tables that have rows."""
    return (table for table in (*_people_tables(result), *_control_tables(result)) if table.rows)


def _people_tables(result: StudyResult) -> list[StatusTable]:
    return [
        StatusTable(
            "Judges compared with people",
            ("Judge", "Criterion", "Part", "Score", "Texts", "Spearman", "Pearson", "Judge minus people", "Kappa"),
            [
                (
                    one.judge, one.criterion, one.part, one.score, str(one.texts), _text(one.spearman),
                    _text(one.pearson), _text(one.mean_difference, "+.2f"), _text(one.kappa),
                )
                for one in result.comparisons
            ],
        ),
        StatusTable(
            "May the judge take the place of a person?",
            ("Judge", "Criterion", "Texts", "Winning rate", "Advantage", "Passes"),
            [
                (
                    one.judge, one.criterion, str(one.texts), _share(one.winning_rate), _share(one.advantage),
                    one.reason if one.passes is None else "yes" if one.passes else "no",
                )
                for one in result.replacements
            ],
        ),
        StatusTable(
            "Criteria, by the mean of their judges",
            ("Criterion", "Spearman on the first half", "Spearman on the second half", "Chosen"),
            [
                (
                    one.criterion, "undefined" if one.on_first_half is None else f"{one.on_first_half:.2f}",
                    _text(one.on_second_half), "yes" if one.chosen else "",
                )
                for one in result.criteria
            ],
        ),
    ]  # fmt: skip


def _control_tables(result: StudyResult) -> list[StatusTable]:
    return [
        StatusTable(
            "Ensembles minus their best member, on the second half",
            ("Ensemble", "Criterion", "Best member", "Spearman", "p"),
            [
                (
                    one.ensemble, one.criterion, one.member, _text(one.difference, "+.2f"),
                    "" if one.p_value is None else f"{one.p_value:.3f}",
                )
                for one in result.ensembles
            ],
        ),
        StatusTable(
            "The same answer in another style",
            ("Judge", "Criterion", "Style", "Texts", "Change of the total", "Rated"),
            [
                (one.judge, one.criterion, one.style, str(one.texts), _text(one.gap, "+.2f"), one.verdict)
                for one in result.styles
            ],
        ),
        StatusTable(
            "Leaning towards the judge's own family of models",
            ("Judge", "Criterion", "Family", "Own texts", "Other texts", "Points"),
            [
                (one.judge, one.criterion, one.family, str(one.own_texts), str(one.other_texts),
                 _text(one.leaning, "+.2f"))
                for one in result.families
            ],
        ),
    ]  # fmt: skip


def _text(number: StudyNumber, form: str = ".2f") -> str:
    if number.value is None:
        return "undefined"
    if number.low is None or number.high is None:
        return f"{number.value:{form}}"
    return f"{number.value:{form}} [{number.low:{form}} to {number.high:{form}}]"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
