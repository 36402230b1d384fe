"""Languages made comparable: raw rate, skill above the empty answer, and an item-difficulty model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from caretbench.metrics.intervals import Interval
from caretbench.metrics.item_difficulty import DifficultyModel, Scaled, fit_difficulties, rate_at
from caretbench.metrics.resampling import MIN_CLUSTERS, Floats
from caretbench.metrics.skill import skill, skill_interval
from caretbench.reports.estimates import ReportedNumber, mean_estimate
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import MIN_TESTED, ModelRates, model_rates
from caretbench.reports.strengths.strength_values import LanguageNumbers

EMPTY = "empty"
"""Baseline whose rate is the floor of a language."""


class _LanguageRates(NamedTuple):
    """Rates on the problems of one language that all models have: the model's own first, then the others'."""

    language: str
    problems: pl.DataFrame
    rates: Floats
    empty: pl.DataFrame


def language_numbers(source: ReportSource, model: str) -> tuple[LanguageNumbers, ...]:
    """Return the numbers of a model by language, of languages with at least 20 problems that all models have."""
    rates = list(model_rates(source.run))
    own = next((one for one in rates if one.name == model or one.model == model), None)
    if own is None:
        return ()
    ordered = [own, *(one for one in rates if one is not own)]
    baselines = [EMPTY] if EMPTY in source.run.baselines else []
    empty = next(iter(model_rates(source.run, baselines)), None) if baselines else None
    parts = list(_parts(ordered, empty))
    fits = {part.language: _fit(part) for part in parts} if len(ordered) > 1 else {}
    scale = [fit for fit in fits.values() if fit is not None]
    level = sum(fit.difficulty.value for fit in scale) / len(scale) if scale else 0.0
    spread = sum(fit.spread for fit in scale) / len(scale) if scale else 0.0
    return tuple(_numbers(part, fits.get(part.language), (level, spread), source.seed) for part in parts)


def _parts(ordered: Sequence[ModelRates], empty: ModelRates | None) -> Iterator[_LanguageRates]:
    table = ordered[0].rates.rename({"rate": "rate_0"})
    for place, entry in enumerate(ordered[1:], start=1):
        other = entry.rates.select("problem_id", pl.col("rate").alias(f"rate_{place}"))
        table = table.join(other, on="problem_id")
    names = [f"rate_{place}" for place in range(len(ordered))]
    for language in table["language"].drop_nulls().unique().sort():
        rows = table.filter(pl.col("language") == language).sort("problem_id")
        if rows.height >= MIN_TESTED:
            floor = rows.join(
                empty.rates.select("problem_id", pl.col("rate").alias("floor")), on="problem_id"
            ) if empty is not None else rows.clear()  # fmt: skip
            yield _LanguageRates(str(language), rows, rows.select(names).to_numpy().T, floor)


def _fit(part: _LanguageRates) -> DifficultyModel | None:
    clusters = part.problems["cluster"].to_list()
    if np.ptp(part.rates) == 0 or len(set(clusters)) < MIN_CLUSTERS:
        return None  # all answers are alike, or too few sources tell the spread
    return fit_difficulties(part.rates, clusters)


def _numbers(
    part: _LanguageRates, fit: DifficultyModel | None, scale: tuple[float, float], seed: int
) -> LanguageNumbers:
    count = part.problems.height
    values = part.problems["rate_0"].to_list()
    floors = part.empty["floor"].to_list() if part.empty.height else []
    empty = math.fsum(floors) / len(floors) if floors else None
    above = None
    if floors:
        scores, clusters = part.empty["rate_0"].to_list(), part.empty["cluster"].to_list()
        value = skill(math.fsum(scores) / len(scores), math.fsum(floors) / len(floors))
        if value is not None:
            interval = skill_interval(scores, floors, clusters, seed=seed)
            above = ReportedNumber.from_interval(interval, value, len(scores))
    ability = None if fit is None else fit.abilities[0]
    return LanguageNumbers(
        language=part.language,
        rate=mean_estimate(values, part.problems, seed),
        empty=empty,
        skill=above,
        difficulty=None if fit is None else _number(fit.difficulty, count),
        ability=None if ability is None else _number(ability, count),
        at_equal_difficulty=None
        if ability is None
        else _number(Scaled(*(rate_at(value, *scale) for value in ability)), count),
    )


def _number(found: Scaled, problems: int) -> ReportedNumber:
    return ReportedNumber.from_interval(Interval(found.low, found.high, "jackknife"), found.value, problems)
