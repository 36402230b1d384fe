"""Section of a model's strengths and weaknesses (``--strengths``), and reports with the sections of this wing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from caretbench.metrics.intervals import Interval
from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats
from caretbench.metrics.skill import skill, skill_interval
from caretbench.people.strengths.bias_section import GeneratorBiasSection
from caretbench.people.strengths.strength_sentences import contrast_side, number_range, points_range, strength_sentences
from caretbench.people.strengths.strength_tests import field_title, rates_of, tested_strengths
from caretbench.people.study_statistics.item_difficulty import (
    DifficultyModel,
    Scaled,
    are_copies,
    fit_difficulties,
    majorities,
    rate_at_equal_difficulty,
)
from caretbench.reports.estimates import ReportedNumber, mean_estimate
from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import MIN_TESTED, ModelRates, model_rates
from caretbench.reports.results.problem_lists import lead_note, leading_in
from caretbench.reports.results.run_settings import identity_of
from caretbench.reports.results.strengths import PASSES, LanguageNumbers, ModelStrengths, StrengthTest
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
    score_field,
    share_field,
    table_of,
    text_field,
)
from caretbench.text_tables import p_text

EMPTY = "empty"
"""Baseline whose rate is the floor of a language."""


class _LanguageAnswers(NamedTuple):
    """Passes on the problems of one language that all models have: the model's own first, then the others'.

    ``passes`` and ``samples`` have one row a model, one column a problem.
    """

    language: str
    problems: pl.DataFrame
    passes: Floats
    samples: Floats
    empty: pl.DataFrame


def language_numbers(source: ReportSource, model: str) -> tuple[LanguageNumbers, ...]:
    """Return the numbers of a model by language, of languages with at least 20 problems that all models have.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    rates = list(model_rates(source.run))
    own = rates_of(rates, model)
    ordered = [own, *(one for one in rates if one is not own)]
    # A run without the baseline `empty` has no floor: its skill is unknown, not zero.
    baselines = [EMPTY] if EMPTY in source.run.baselines else []
    empty = next(iter(model_rates(source.run, baselines)), None) if baselines else None
    parts = _answers(list(_parts(ordered, empty)))
    # Difficulty and ability of one model cannot be told apart.
    fits = {part.language: _fit(part) for part in parts} if len(ordered) > 1 else {}
    scale = {language: fit for language, fit in fits.items() if fit is not None}
    equal = {language: rate_at_equal_difficulty(list(scale.values()), place) for place, language in enumerate(scale)}
    return tuple(_numbers(part, scale.get(part.language), equal.get(part.language), source.seed) for part in parts)


def _parts(ordered: Sequence[ModelRates], empty: ModelRates | None) -> Iterator[_LanguageAnswers]:
    table = ordered[0].rates.rename({"total": "total_0", "samples": "samples_0"})
    for place, entry in enumerate(ordered[1:], start=1):
        names = {"total": f"total_{place}", "samples": f"samples_{place}"}
        table = table.join(entry.rates.select("problem_id", *names).rename(names), on="problem_id")
    columns = [[f"{name}_{place}" for place in range(len(ordered))] for name in ("total", "samples")]
    for language in table["language"].drop_nulls().unique().sort():
        rows = table.filter(pl.col("language") == language).sort("problem_id")
        # A language with a handful of problems has an interval over the whole scale.
        if rows.height >= MIN_TESTED:
            floor = rows.join(
                empty.rates.select("problem_id", pl.col("rate").alias("floor")), on="problem_id"
            ) if empty is not None else rows.clear()  # fmt: skip
            passes, samples = (rows.select(chosen).to_numpy().T.astype(np.float64) for chosen in columns)
            yield _LanguageAnswers(str(language), rows, passes, samples, floor)


def _answers(parts: Sequence[_LanguageAnswers]) -> list[_LanguageAnswers]:
    """Return the parts; with one answer a problem in all of them, on one scale, if samples are nearly copies."""
    if not parts:
        return []
    passes = np.concatenate([part.passes.ravel() for part in parts])
    # Over all languages at once: a scale by samples in one and by answers in another could not be compared.
    if not are_copies(passes, np.concatenate([part.samples.ravel() for part in parts])):
        return list(parts)
    return [
        part._replace(passes=majorities(part.passes, part.samples), samples=np.ones_like(part.samples))
        for part in parts
    ]


def _fit(part: _LanguageAnswers) -> DifficultyModel | None:
    clusters = part.problems["cluster"].to_list()
    if np.ptp(part.passes / part.samples) == 0 or len(set(clusters)) < MIN_CLUSTERS:
        return None  # all answers are alike, or too few sources tell the spread
    return fit_difficulties(part.passes, part.samples, clusters)


def _numbers(part: _LanguageAnswers, fit: DifficultyModel | None, equal: Scaled | None, seed: int) -> LanguageNumbers:
    count = part.problems.height
    values = part.problems["rate"].to_list()
    floors = part.empty["floor"].to_list() if part.empty.height else []
    empty = math.fsum(floors) / len(floors) if floors else None
    above = None
    if floors:
        scores, clusters = part.empty["rate"].to_list(), part.empty["cluster"].to_list()
        value = skill(math.fsum(scores) / len(scores), math.fsum(floors) / len(floors))
        if value is not None:
            # Rate and floor are drawn together, since both are of the same problems.
            interval = skill_interval(scores, floors, clusters, seed=seed)
            above = ReportedNumber.from_interval(interval, value, len(scores))
    return LanguageNumbers(
        language=part.language,
        rate=mean_estimate(values, part.problems, seed),
        empty=empty,
        skill=above,
        difficulty=None if fit is None else _number(fit.difficulty, count),
        ability=None if fit is None else _number(fit.abilities[0], count),
        at_equal_difficulty=None if equal is None else _number(equal, count),
    )


def _number(found: Scaled, problems: int) -> ReportedNumber:
    return ReportedNumber.from_interval(Interval(found.low, found.high, "jackknife"), found.value, problems)


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
        found = tested_strengths(source, source.strengths)
        rule = leading_in(source.run, identity_of(source.run)["profile"]).rule
        values = {
            "languages": language_numbers(source, source.strengths),
            "sentences": tuple(strength_sentences(found)),
            "notes": (_adjusted(found), *filter(None, (lead_note(rule),))) if found.tests else (),
        }
        return {"strengths": found.model_copy(update=values)}

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
    """Return the note on the families of tests."""
    number = len(found.tests) + len(found.contrasts)
    return (
        f"{number} tests and contrasts of {found.model}. Each p value is for the tests in brackets: passes, parts, "
        "similarities and kinds of answers by max-T, contrasts by Holm. A sentence needs a test that finds something."
    )


def _tables(found: ModelStrengths) -> list[ReportTable]:
    tables, adjusted = [], " ".join(found.notes)
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
    heads = ("Part", "Problems", "Model", "Field", "Difference", "p (tests)", "Verdict")
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
                number_field(row.p_value, p_text(row.p_value, row.family)),
                text_field(row.verdict, "good" if row.distinguishable else ""),
            )
        )
    return table_of(title, heads, rows, caption)


def _contrast_table(tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Part", "Problems", "Points", "Log odds", "p (tests)", "Verdict")
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
                number_field(found.p_value, p_text(found.p_value, found.family)),
                text_field(verdict, "good" if found.distinguishable else ""),
            )
        )
    return table_of(
        "Difference to the field in a part, against all other problems", heads, rows, f"{_SCALES} {caption}"
    )


def _answer_table(tests: Sequence[StrengthTest], caption: str) -> ReportTable:
    heads = ("Answers that …", "Problems", "Model", "Field", "Difference", "p (tests)", "Finding")
    rows = [
        (
            test.title,
            test.row.problems,
            share_field(test.row.first_rate),
            share_field(test.row.second_rate),
            _difference(test.row.difference, test.row.low, test.row.high),
            number_field(test.row.p_value, p_text(test.row.p_value, test.row.family)),
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


def add_strength_sections() -> None:
    """Add both sections to all reports of this process."""
    add_sections(StrengthsSection(), GeneratorBiasSection())


def whole_summary(run: LoadedRun, by: Sequence[tuple[str, ...]] = (), strengths: str | None = None) -> Summary:
    """Return the summary of a run with the sections of this wing; the arguments are those of ``summarise_run``."""
    add_strength_sections()
    return summarise_run(run, by, strengths)
