"""Languages made comparable: raw rate, skill above the empty answer, and an item-difficulty model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from caretbench.metrics.intervals import Interval
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats
from caretbench.metrics.skill import skill, skill_interval
from caretbench.people.strengths.field_rates import rates_of
from caretbench.people.study_statistics.item_difficulty import (
    DifficultyModel,
    Scaled,
    are_copies,
    fit_difficulties,
    majorities,
    rate_at_equal_difficulty,
)
from caretbench.reports.estimates import ReportedNumber, mean_estimate
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import MIN_TESTED, ModelRates, model_rates
from caretbench.reports.results.strengths import LanguageNumbers

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
    baselines = [EMPTY] if EMPTY in source.run.baselines else []
    empty = next(iter(model_rates(source.run, baselines)), None) if baselines else None
    parts = _answers(list(_parts(ordered, empty)))
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
