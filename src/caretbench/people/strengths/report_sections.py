"""Section of a model's strengths and weaknesses (``--strengths``), and reports with the sections of this wing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.metrics.skill import skill, skill_interval
from caretbench.people.strengths.bias_section import GeneratorBiasSection
from caretbench.people.strengths.strength_sentences import contrast_side, number_range, points_range, strength_sentences
from caretbench.people.strengths.strength_tests import field_title, rates_of, tested_strengths
from caretbench.reports.estimates import ReportedNumber, mean_estimate
from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import MIN_TESTED, model_rates
from caretbench.reports.results.problem_lists import lead_note, leading_in
from caretbench.reports.results.run_settings import identity_of
from caretbench.reports.results.strengths import SIMILARITY, LanguageNumbers, ModelStrengths, StrengthTest
from caretbench.reports.run_summary import summarise_run
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.section_registry import add_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    display_label,
    number_field,
    rate_field,
    share_field,
    table_of,
    text_field,
)
from caretbench.text_tables import p_text

EMPTY = "empty"
"""Baseline whose rate is the floor of a language."""


def language_numbers(source: ReportSource, model: str) -> Iterator[LanguageNumbers]:
    """Yield the numbers of a model by language, of languages with at least 20 problems.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    rates = rates_of(list(model_rates(source.run)), model).rates
    # A run without the baseline `empty` has no floor: its skill is unknown, not zero.
    empty = next(iter(model_rates(source.run, [EMPTY])), None) if EMPTY in source.run.baselines else None
    for language in rates["language"].drop_nulls().unique().sort():
        rows = rates.filter(pl.col("language") == language).sort("problem_id")
        # A language with a handful of problems has an interval over the whole scale.
        if rows.height >= MIN_TESTED:
            floor = None if empty is None else empty.rates.select("problem_id", pl.col("rate").alias("floor"))
            yield _numbers(
                str(language), rows, rows.clear() if floor is None else rows.join(floor, on="problem_id"), source.seed
            )


def _numbers(language: str, rows: pl.DataFrame, both: pl.DataFrame, seed: int) -> LanguageNumbers:
    """Return the numbers of one language; ``both`` are the problems that the empty answer has too, with its rate."""
    rate = mean_estimate(rows["rate"].to_list(), rows, seed)
    if not both.height:
        return LanguageNumbers(language=language, rate=rate)
    scores, floors = both["rate"].to_list(), both["floor"].to_list()
    empty = math.fsum(floors) / len(floors)
    value, above = skill(math.fsum(scores) / len(scores), empty), None
    if value is not None:
        # Rate and floor are drawn together, since both are of the same problems.
        interval = skill_interval(scores, floors, both["cluster"].to_list(), seed=seed)
        above = ReportedNumber.from_interval(interval, value, len(scores))
    return LanguageNumbers(language=language, rate=rate, empty=empty, skill=above)


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
        # On request only: the tests of one model are a family, and a report of nine models would have nine.
        if source.strengths is None:
            return {}
        strengths = tested_strengths(source, source.strengths)
        rule = leading_in(source.run, identity_of(source.run)["profile"]).rule
        values = {
            "languages": tuple(language_numbers(source, source.strengths)),
            "sentences": tuple(strength_sentences(strengths)),
            "notes": (_adjusted(strengths), *filter(None, (lead_note(rule),))) if strengths.tests else (),
        }
        return {"strengths": strengths.model_copy(update=values)}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the sentences and the tables of tests."""
        strengths = summary.strengths
        if strengths is None:
            return []
        sentences = table_of(
            f"Strengths and weaknesses of {strengths.model}", ("Finding",), [(line,) for line in strengths.sentences]
        )
        return [sentences, *_tables(strengths)]

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the sentences, then the tables."""
        strengths = shown.summary.strengths
        if strengths is None:
            return []
        against = f"Against {field_title(strengths.field)}." if strengths.field else ""
        return [
            PageBlock(title=strengths.model, subtitle=against, notes=strengths.sentences),
            PageBlock(tables=_tables(strengths), notes=strengths.notes),
        ]


def _adjusted(strengths: ModelStrengths) -> str:
    """Return the note on the families of tests."""
    number = len(strengths.tests) + len(strengths.contrasts)
    return (
        f"{number} tests and contrasts of {strengths.model}. Each p value is for the tests in brackets: passes, parts, "
        "similarities and kinds of answers by max-T, contrasts by Holm. A sentence needs a test that finds something."
    )


def _tables(strengths: ModelStrengths) -> list[ReportTable]:
    adjusted = " ".join(strengths.notes)
    tables = (
        _test_table("Against the field, overall", strengths.overall, adjusted),
        _test_table("Against the field, passes by part", strengths.passes, adjusted),
        _contrast_table(strengths.passes, adjusted),
        _test_table("Against the field, similarity (cosine) by part", strengths.similarity, adjusted),
        _test_table("Against the field, kinds of answers", strengths.answers, adjusted, of_answers=True),
        _language_table(strengths.languages),
    )
    return [table for table in tables if table.rows]


def _test_table(title: str, tests: Sequence[StrengthTest], caption: str, *, of_answers: bool = False) -> ReportTable:
    first, last = ("Answers that …", "Finding") if of_answers else ("Part", "Verdict")
    rows: list[FieldValues] = []
    for test in tests:
        row, is_rate = test.row, test.measure != SIMILARITY
        rows.append(
            (
                test.title,
                row.problems,
                share_field(row.first_rate) if is_rate else digits_field(row.first_rate, ".3f"),
                share_field(row.second_rate) if is_rate else digits_field(row.second_rate, ".3f"),
                _difference(row.difference, row.low, row.high, is_rate=is_rate),
                number_field(row.p_value, p_text(row.p_value, row.family)),
                _finding(test) if of_answers else text_field(row.verdict, "good" if row.distinguishable else ""),
            )
        )
    return table_of(title, (first, "Problems", "Model", "Field", "Difference", "p (tests)", last), rows, caption)


def _contrast_table(tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Part", "Problems", "Points", "Log odds", "p (tests)", "Verdict")
    rows: list[FieldValues] = []
    for test in tests:
        contrast = test.contrast
        if contrast is None:
            continue
        odds_range = number_range(contrast.log_odds_low, contrast.log_odds_high, 2)
        verdict = contrast_side(contrast) if contrast.distinguishable else NOT_DISTINGUISHABLE
        rows.append(
            (
                test.title,
                test.row.problems,
                _difference(contrast.difference, contrast.low, contrast.high),
                number_field(contrast.log_odds, f"{contrast.log_odds:+.2f}", odds_range),
                number_field(contrast.p_value, p_text(contrast.p_value, contrast.family)),
                text_field(verdict, "good" if contrast.distinguishable else ""),
            )
        )
    return table_of(
        "Difference to the field in a part, against all other problems", heads, rows, f"{_SCALES} {caption}"
    )


def _finding(test: StrengthTest) -> str:
    if not test.row.distinguishable:
        return test.row.verdict
    return "more often" if test.row.difference > 0 else "less often"


def _language_table(languages: Sequence[LanguageNumbers]) -> ReportTable:
    heads = ("Language", "Problems", "Rate", "Empty answer", "Skill above empty")
    rows = [
        (
            text_field(display_label("language", numbers.language)),
            numbers.rate.problems,
            rate_field(numbers.rate),
            share_field(numbers.empty),
            rate_field(numbers.skill),
        )
        for numbers in languages
    ]
    caption = (
        "Each language has other problems, so that their rates do not compare languages. The difference to the field "
        "against all other problems does."
    )
    return table_of("Languages", heads, rows, caption)


def _difference(value: float, low: float | None, high: float | None, *, is_rate: bool = True) -> TableField:
    """Return a difference with its interval: in points for rates, plain for similarities."""
    if is_rate:
        return number_field(value, f"{100 * value:+.1f} points", points_range(low, high))
    return number_field(value, f"{value:+.3f}", number_range(low, high, 3))


def add_strength_sections() -> None:
    """Add both sections to all reports of this process."""
    add_sections(StrengthsSection(), GeneratorBiasSection())


def whole_summary(run: LoadedRun, by: Sequence[tuple[str, ...]] = (), strengths: str | None = None) -> Summary:
    """Return the summary of a run with the sections of this wing; the arguments are those of ``summarise_run``."""
    add_strength_sections()
    return summarise_run(run, by, strengths)
