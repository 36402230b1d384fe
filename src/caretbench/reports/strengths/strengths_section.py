"""Section of a model's strengths and weaknesses, on request (``--strengths``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.reports.report_source import ReportSource
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.strengths.language_numbers import language_numbers
from caretbench.reports.strengths.sentence_parts import p_text, points_interval
from caretbench.reports.strengths.strength_sentences import strength_sentences
from caretbench.reports.strengths.strength_tests import field_title, tested_strengths
from caretbench.reports.strengths.strength_values import PASSES, LanguageNumbers, ModelStrengths, StrengthTest
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

_ADJUSTED = "P values are adjusted (Holm) within each table; a sentence needs a test that finds a difference."


class StrengthsSection(Section):
    """Section of strengths and weaknesses: sentences by rule, and the tests behind them."""

    positions = SectionPositions(text=55, page=72)
    part = PagePart("strengths", "Strengths", "Strengths and weaknesses")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the strengths of the requested model."""
        if source.strengths is None:
            return {}
        tested = tested_strengths(source, source.strengths)
        return {
            "strengths": ModelStrengths(
                model=source.strengths,
                field=tested.field,
                overall=tested.overall,
                passes=tested.passes,
                similarity=tested.similarity,
                answers=tested.answers,
                languages=language_numbers(source, source.strengths),
                sentences=tuple(strength_sentences(source.strengths, tested)),
                notes=(_ADJUSTED,),
            )
        }

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


def _tables(found: ModelStrengths) -> list[ReportTable]:
    tables = []
    if found.overall:
        tables.append(_part_table("Against the field, overall", found.overall))
    if found.passes:
        tables.append(_part_table("Against the field, passes by part", found.passes))
    if found.similarity:
        tables.append(_part_table("Against the field, similarity (cosine) by part", found.similarity))
    if found.answers:
        tables.append(_answer_table(found.answers))
    return [*tables, *([_language_table(found.languages)] if found.languages else [])]


def _part_table(title: str, tests: Sequence[StrengthTest]) -> ReportTable:
    heads = ("Part", "Problems", "Model", "Field", "Difference", "p (Holm)", "Verdict", "Against elsewhere", "p")
    rows: list[FieldValues] = []
    for test in tests:
        row, contrast = test.row, test.contrast
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
                None if contrast is None else _difference(contrast.difference, contrast.low, contrast.high),
                None if contrast is None else number_field(contrast.p_value, p_text(contrast.p_value)),
            )
        )
    caption = "Against elsewhere: the difference to the field in the part, minus that on all other problems."
    return table_of(title, heads, rows, f"{_ADJUSTED} {caption}" if any(test.contrast for test in tests) else _ADJUSTED)


def _answer_table(tests: Sequence[StrengthTest]) -> ReportTable:
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
    return table_of("Against the field, kinds of answers", heads, rows, _ADJUSTED)


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
        return number_field(value, f"{100 * value:+.1f} points", points_interval(low, high).strip(" []"))
    interval = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return number_field(value, f"{value:+.3f}", interval)
