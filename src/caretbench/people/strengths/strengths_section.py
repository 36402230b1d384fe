"""Section of a model's strengths and weaknesses, on request (``--strengths``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.people.strengths.field_rates import field_title
from caretbench.people.strengths.language_numbers import language_numbers
from caretbench.people.strengths.sentence_parts import number_range, points_range
from caretbench.people.strengths.strength_sentences import contrast_side, strength_sentences
from caretbench.people.strengths.strength_tests import tested_strengths
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.strengths import PASSES, LanguageNumbers, ModelStrengths, StrengthTest
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    display_label,
    number_field,
    rate_field,
    score_field,
    share_field,
    table_of,
    text_field,
)
from caretbench.text_tables import p_text

_SCALES = (
    "The same lead in ability is fewer points where problems are easy or hard. So a difference counts only if it holds "
    "in points and in log odds (Mantel-Haenszel), in the same direction; p is the greater one of both."
)


class StrengthsSection(Section):
    """Section of strengths and weaknesses: sentences by rule, and the tests behind them."""

    positions = SectionPositions(text=55, page=72)
    part = PagePart("strengths", "Strengths", "Strengths and weaknesses")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the strengths of the requested model."""
        if source.strengths is None:
            return {}
        tested = tested_strengths(source, source.strengths)
        found = ModelStrengths(
            model=source.strengths,
            field=tested.field,
            overall=tested.overall,
            passes=tested.passes,
            similarity=tested.similarity,
            answers=tested.answers,
            languages=language_numbers(source, source.strengths),
            sentences=tuple(strength_sentences(source.strengths, tested)),
        )
        return {"strengths": found.model_copy(update={"notes": (_adjusted(found),)} if found.tests else {})}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the sentences and the tables of tests."""
        found = summary.strengths
        if found is None:
            return []
        sentences = table_of(
            f"Strengths and weaknesses of {found.model}", ("Finding",), [(one,) for one in found.sentences]
        )
        return [sentences, *_tables(found)]

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the sentences, then the tables."""
        found = shown.summary.strengths
        if found is None:
            return []
        against = f"Against {field_title(found.field)}." if found.field else ""
        return [
            PageBlock(title=found.model, subtitle=against, notes=found.sentences),
            PageBlock(tables=_tables(found), notes=found.notes),
        ]


def _adjusted(found: ModelStrengths) -> str:
    """Return the note on the adjustment for all tests of the model together."""
    number = len(found.tests) + len(found.contrasts)
    return (
        f"P values are adjusted (Holm) together for all {number} tests and contrasts of {found.model}; a sentence "
        "needs a test that finds a difference."
    )


def _tables(found: ModelStrengths) -> list[ReportTable]:
    tables, adjusted = [], _adjusted(found)
    if found.overall:
        tables.append(_part_table("Against the field, overall", found.overall, adjusted))
    if found.passes:
        tables.append(_part_table("Against the field, passes by part", found.passes, adjusted))
    if found.contrasts:
        tables.append(_contrast_table(found.passes, adjusted))
    if found.similarity:
        tables.append(_part_table("Against the field, similarity (cosine) by part", found.similarity, adjusted))
    if found.answers:
        tables.append(_answer_table(found.answers, adjusted))
    return [*tables, *([_language_table(found.languages)] if found.languages else [])]


def _part_table(title: str, tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Part", "Problems", "Model", "Field", "Difference", "p (Holm)", "Verdict")
    rows: list[FieldValues] = []
    for test in tests:
        row = test.row
        passes = test.measure == PASSES
        rows.append(
            (
                test.title,
                row.problems,
                share_field(row.first_rate) if passes else digits_field(row.first_rate, ".3f"),
                share_field(row.second_rate) if passes else digits_field(row.second_rate, ".3f"),
                _difference(row.difference, row.low, row.high, passes=passes),
                number_field(row.p_value, p_text(row.p_value)),
                text_field(row.verdict, "good" if row.distinguishable else ""),
            )
        )
    return table_of(title, heads, rows, caption)


def _contrast_table(tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Part", "Problems", "Points", "Log odds", "p (Holm)", "Verdict")
    rows: list[FieldValues] = []
    for test in tests:
        found = test.contrast
        if found is None:
            continue
        odds_range = number_range(found.log_odds_low, found.log_odds_high, 2)
        verdict = contrast_side(found) if found.distinguishable else NOT_DISTINGUISHABLE
        rows.append(
            (
                test.title,
                test.row.problems,
                _difference(found.difference, found.low, found.high),
                number_field(found.log_odds, f"{found.log_odds:+.2f}", odds_range),
                number_field(found.p_value, p_text(found.p_value)),
                text_field(verdict, "good" if found.distinguishable else ""),
            )
        )
    return table_of(
        "Difference to the field in a part, against all other problems", heads, rows, f"{_SCALES} {caption}"
    )


def _answer_table(tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Answers that …", "Problems", "Model", "Field", "Difference", "p (Holm)", "Finding")
    rows = [
        (
            test.title,
            test.row.problems,
            share_field(test.row.first_rate),
            share_field(test.row.second_rate),
            _difference(test.row.difference, test.row.low, test.row.high),
            number_field(test.row.p_value, p_text(test.row.p_value)),
            _finding(test),
        )
        for test in tests
    ]
    return table_of("Against the field, kinds of answers", heads, rows, caption)


def _finding(test: StrengthTest) -> str:
    if not test.row.distinguishable:
        return test.row.verdict
    return "more often" if test.row.difference > 0 else "less often"


def _language_table(languages: Sequence[LanguageNumbers]) -> ReportTable:
    heads = (
        "Language",
        "Problems",
        "Rate",
        "Empty answer",
        "Skill above empty",
        "Difficulty",
        "Ability",
        "Rate at equal difficulty",
    )
    rows = [
        (
            text_field(display_label("language", one.language)),
            one.rate.problems,
            rate_field(one.rate),
            share_field(one.empty),
            rate_field(one.skill),
            score_field(one.difficulty),
            score_field(one.ability),
            rate_field(one.at_equal_difficulty),
        )
        for one in languages
    ]
    caption = (
        "Difficulty of a language's problems for the average model of this run, and ability of the model against it, "
        "in log odds (1PL). At equal difficulty: the rate if this language's problems were as hard as those of the "
        "average language. A language that all models know badly looks like one with hard problems."
    )
    return table_of("Languages made comparable", heads, rows, caption)


def _difference(value: float, low: float | None, high: float | None, *, passes: bool = True) -> TableField:
    """Return a difference with its interval: in points for rates, plain for similarities."""
    if passes:
        return number_field(value, f"{100 * value:+.1f} points", points_range(low, high))
    return number_field(value, f"{value:+.3f}", number_range(low, high, 3))
