"""Models over several suites: better and worse in how many, the user's weights, and shifts of ranks against a suite."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from caretbench.errors import UsageError
from caretbench.metrics.correlation import spearman, spearman_interval
from caretbench.metrics.resampling import resampled_means, units_of
from caretbench.reports.board.board import BoardColumn
from caretbench.reports.results.published_numbers import published_file, published_names
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    number_field,
    share_field,
    table_of,
)

WEIGHTINGS: Final = 10_000
"""Number of random weightings of the suites, each equally likely."""
_RESAMPLES: Final = 2_000

NO_TEST: Final = (
    "Nothing is averaged over suites: no difference over so few suites can be told from chance (five give at least "
    "p = 0.0625), and other weights give another order. --suite-weights takes yours."
)


def over_suites(columns: Sequence[BoardColumn], title: str, other: str) -> str:
    """Return in how many suites a model is better and worse than another: ``better in 2, worse in 0 of 5``."""
    both = [
        found for column in columns if (found := {one.title: one for one in column.models}).keys() >= {title, other}
    ]
    better, worse = (sum(other in getattr(found[title], name) for found in both) for name in ("worse", "better"))
    return f"better in {better}, worse in {worse} of {len(both)}"


def column_named(columns: Sequence[BoardColumn], name: str) -> BoardColumn:
    """Return the column with this key, suite or title.

    Raises:
        UsageError: none has it, or several.
    """
    found = [one for one in columns if name in (one.key, one.suite, one.title)]
    if len(found) != 1:
        known = ", ".join(one.key for one in (found or columns)) or "none"
        raise UsageError(f"{name!r} names {len(found)} columns of the board; name one of: {known}")
    return found[0]


def parse_weights(text: str) -> dict[str, float]:
    """Return the weights in ``devbench=2,c3bench=1``.

    Raises:
        UsageError: a part is no name with a positive number.
    """
    weights = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            weights[name] = float("nan")
        if not 0 < weights[name] < float("inf"):
            raise UsageError(f"--suite-weights {part!r}: expected SUITE=WEIGHT with a positive weight: devbench=2")
    return weights


class WeightedModel(NamedTuple):
    """Weighted mean rate of a model with its interval, and the share of random weightings that put it first."""

    title: str
    value: float
    low: float
    high: float
    first: float


def weighted_models(
    columns: Sequence[BoardColumn], rows: pl.DataFrame, weights: Mapping[str, float], seed: int = 0
) -> list[WeightedModel]:
    """Return the models with a rate in every weighted column, the best first; resampled within suites.

    Raises:
        UsageError: a weight names no column, or no model is in all of them.
    """
    chosen = [column_named(columns, name) for name in weights]
    share = np.array([*weights.values()]) / sum(weights.values())
    titles = sorted(set.intersection(*({entry.title for entry in one.models} for one in chosen)))
    if not titles:
        raise UsageError(f"--suite-weights: no model has a rate in all of {', '.join(weights)}")
    rates, drawn = np.zeros((len(titles), len(chosen))), np.zeros((len(titles), _RESAMPLES))
    for place, column in enumerate(chosen):
        entries = {entry.title: entry for entry in column.models}
        leads = rows.filter(pl.col("board") == column.key, pl.col("leads"))
        by_model = leads.partition_by("model", "parameters", as_dict=True)
        for row, title in enumerate(titles):
            own = by_model[entries[title].model, entries[title].parameters]
            units = units_of(own["rate"].to_list(), own["cluster"].to_list(), own["overlap_group"].to_list())
            rates[row, place] = entries[title].rate.value
            drawn[row] += share[place] * resampled_means(units, _RESAMPLES, seed + place)
    weightings = np.random.default_rng(seed).dirichlet(np.ones(len(chosen)), WEIGHTINGS)
    firsts = np.bincount((rates @ weightings.T).argmax(axis=0), minlength=len(titles)) / WEIGHTINGS
    low, high = np.quantile(drawn, (0.025, 0.975), axis=1)
    found = [
        WeightedModel(*one)
        for one in zip(titles, *(map(float, some) for some in (rates @ share, low, high, firsts)), strict=True)
    ]
    return sorted(found, key=lambda one: (-one.value, one.title))


def weights_table(models: Sequence[WeightedModel], weights: Mapping[str, float]) -> ReportTable:
    """Return the table of weighted means."""
    stated = ", ".join(f"{name} {value:g}" for name, value in weights.items())
    return table_of(
        "Weighted by the user",
        ["Model", "Weighted mean", "First in"],
        [
            [one.title, share_field(one.value, ends if one.low < one.high else ""), share_field(one.first)]
            for one in models
            for ends in (f"{100 * one.low:.1f} to {100 * one.high:.1f}",)
        ],
        f"Weights of the user: {stated}. Intervals are resampled within suites. The last column is the share of "
        f"{WEIGHTINGS:,} random weightings that put the model first: nobody measures which weights are right.",
    )


class Shifts(NamedTuple):
    """Ranks on a suite as shifts against those on the base, of the models of both; positive: ranked higher."""

    title: str
    shifts: Mapping[str, float]
    coefficient: TableField
    """Spearman's correlation, with its interval and the number of models in the note."""


def rank_shifts(title: str, base: Mapping[str, float], other: Mapping[str, float]) -> Shifts:
    """Return the shifts of the models that two suites have in common, from their numbers: more is better."""
    common = [name for name in base if name in other]
    ours, theirs = ([side[name] for name in common] for side in (base, other))
    shifts = {
        name: sum(value > base[name] for value in ours) - sum(value > other[name] for value in theirs)
        for name in common
    }
    found = spearman(ours, theirs)
    ends = found and spearman_interval(found.coefficient, found.n)
    note = [f"{ends[0]:.2f} to {ends[1]:.2f}"] if ends else []
    field = digits_field(found and found.coefficient)
    return Shifts(title, shifts, field.model_copy(update={"note": ", ".join([*note, f"n = {len(common)}"])}))


def measured_shifts(columns: Sequence[BoardColumn], name: str) -> ReportTable:
    """Return the table of shifts of the other columns against a named one: models by their rank on it.

    Raises:
        UsageError: none has the name, or several.
    """
    base = column_named(columns, name)
    rates = {one.key: {entry.title: entry.rate.value for entry in one.models} for one in columns}
    found = [rank_shifts(one.title, rates[base.key], rates[one.key]) for one in columns if one is not base]
    rows: list[FieldValues] = [
        [entry.title, number_field(place), *(_signed(one.shifts.get(entry.title)) for one in found)]
        for place, entry in enumerate(base.models, 1)
    ]
    about = (
        "Positive: ranked higher than on the base, among the models of both. Intervals by Bonett and Wright: with so "
        "few models a coefficient says little."
    )
    rows.append(["Spearman's r", number_field(None), *(one.coefficient for one in found)])
    return table_of(f"Ranks against {base.title}", ["Model", base.title, *(one.title for one in found)], rows, about)


def _signed(value: float | None) -> TableField:
    return number_field(value, None if value is None else f"{value:+g}")


def printed_shifts(suite: str) -> ReportTable | None:
    """Return the coefficients of ranks that a paper prints, those of its printed ranks, and those of its tables.

    None if the paper prints no ranks against its suite.
    """
    names = published_names(suite).get("shifts")
    if not names:
        return None
    cells = list(csv.DictReader(published_file(suite).read_text("utf-8").splitlines()))
    figure = [row for row in cells if row["table"] == names["table"]]
    base = {row["model"]: -float(row["value"]) for row in figure if row["metric"] == "rank"}

    def numbers(other: str, metric: str, among: Sequence[Mapping[str, str]]) -> dict[str, float]:
        there = [row for row in among if (row["suite"], row["metric"]) == (other, metric)]
        return {row["model"]: float(row["value"]) for row in there}

    rows: list[FieldValues] = []
    for row in figure:
        if row["metric"] != "spearman_correlation":
            continue
        other = row["suite"]
        moved = {name: base[name] + value for name, value in numbers(other, "rank_change", figure).items()}
        fields = [number_field(float(row["value"]), row["value"]), rank_shifts(other, base, moved).coefficient]
        whole = [cell for cell in cells if cell["subset"].endswith("=all")]
        for metric in ("exact_match", "edit_similarity", "pass_rate"):
            values = numbers(other, metric, whole)
            named = {model: values[name] for model in base if (name := names["models"].get(model, model)) in values}
            fields.append(rank_shifts(other, base, named).coefficient if named else number_field(None))
        rows.append([other.replace("_", " "), *fields])
    heads = ["Suite", "Printed", "From the printed ranks", "From tables: exact match", "edit similarity", "pass rate"]
    about = (
        f"Spearman's r of the ranks against {names['title']}, as the paper prints it and as its own numbers give it."
    )
    return table_of("Printed ranks of other suites", heads, rows, about)
