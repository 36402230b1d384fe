"""Rates of a model and of the field, which is the mean of the other models, on the problems that all models have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from caretbench.errors import DataError
from caretbench.reports.results.paired_models import ModelRates


class Opponents(NamedTuple):
    """A model, the field and each other model, on the problems that all models have."""

    own: ModelRates
    field: ModelRates
    others: tuple[ModelRates, ...]

    @property
    def pair(self) -> tuple[ModelRates, ModelRates]:
        """The model and the field."""
        return self.own, self.field


def rates_of(rates: Sequence[ModelRates], model: str) -> ModelRates:
    """Return the rates of a model by the name of the model or of a variant.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    own = [entry for entry in rates if entry.name == model] or [entry for entry in rates if entry.model == model]
    if len(own) != 1:
        listed = ", ".join(entry.name for entry in rates) or "none"
        problem = "several variants have this name" if own else "the run has no verdict of such a model"
        raise DataError(f"--strengths {model!r}: {problem}; models: {listed}")
    return own[0]


def opponents(rates: Sequence[ModelRates], model: str) -> tuple[Opponents | None, tuple[str, ...]]:
    """Return a model and the field on the problems that all have, and the names of the others.

    None if there is no other model, or no common problem.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    own = rates_of(rates, model)
    others = [entry for entry in rates if entry is not own]
    names = tuple(entry.name for entry in others)
    if not others:
        return None, names
    shared = own.rates
    for entry in others:
        shared = shared.join(entry.rates, on="problem_id", how="semi")
    if shared.is_empty():
        return None, names
    common = shared.select("problem_id")
    kept = tuple(entry._replace(rates=common.join(entry.rates, on="problem_id")) for entry in others)
    mean = (
        pl.concat([entry.rates.select("problem_id", "rate") for entry in kept])
        .group_by("problem_id")
        .agg(pl.col("rate").mean().alias("field_rate"))
    )
    field = shared.join(mean, on="problem_id").drop("rate").rename({"field_rate": "rate"})
    title = field_title(names)
    whole = ModelRates(title, field.select(shared.columns), title, None)
    return Opponents(own._replace(rates=shared), whole, kept), names


def field_title(names: Sequence[str]) -> str:
    """Return the title of the field: the other model, or the mean of several."""
    return names[0] if len(names) == 1 else f"the mean of the {len(names)} other models"
