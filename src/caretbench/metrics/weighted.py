"""Weighted means over groups of problems, such as kinds of blocks by their share of use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval, bootstrap_mean, resampled_interval, units_of, widened, wilson

LabelT = TypeVar("LabelT")


class WeightedMean(NamedTuple):
    """Weighted mean of the means of groups, its interval, and the number of problems in it."""

    value: float
    interval: Interval
    problems: int


def weighted_mean(
    values: Sequence[float],
    groups: Sequence[str | None],
    weights: Mapping[str, float],
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    overlap_groups: Sequence[str | None] | None = None,
) -> WeightedMean | None:
    """Return the mean of the groups' means by weight; None if no problem is in a group with a weight.

    Weights are relative: groups without problems are omitted, and the others keep their ratios. The interval is a
    bootstrap by cluster of the linearised mean (each value is replaced by its influence on the weighted mean), and not
    narrower than Wilson's over few units; bounds of rates stay between 0 and 1.

    Args:
        values: One value per problem.
        groups: Group of each problem; problems without one, or whose group has no weight, do not count.
        weights: Weight of each group.
        seed: Random seed.
        clusters: Source of each problem.
        overlap_groups: Drawn instead of the sources if there are few sources.

    Raises:
        ValueError: a weight is negative, sequences differ in length, or a value is not finite.
    """
    if len(values) != len(groups):
        raise ValueError(f"{len(groups)} groups do not fit {len(values)} values")
    members = _members(groups, weights)
    chosen = sorted(index for places in members.values() for index in places)
    if not chosen:
        return None
    total = math.fsum(weights[group] for group in members)
    means = {group: math.fsum(values[index] for index in places) / len(places) for group, places in members.items()}
    mean = math.fsum(weights[group] * means[group] for group in members) / total
    stretched = {
        index: mean + len(chosen) * weights[group] / (total * len(places)) * (values[index] - means[group])
        for group, places in members.items()
        for index in places
    }
    sides = [values[index] for index in chosen], [stretched[index] for index in chosen]
    labels = _at(clusters, chosen), _at(overlap_groups, chosen)
    return WeightedMean(mean, _interval(*sides, mean, labels, seed), len(chosen))


def _at(labels: Sequence[LabelT] | None, places: Sequence[int]) -> list[LabelT] | None:
    return None if labels is None else [labels[index] for index in places]


def _members(groups: Sequence[str | None], weights: Mapping[str, float]) -> dict[str, list[int]]:
    """Return the indices of the problems of each group with a weight."""
    if any(weight < 0 for weight in weights.values()):
        raise ValueError("a weight is not negative")
    return grouped(
        (group, index) for index, group in enumerate(groups) if group is not None and weights.get(group, 0.0) > 0
    )


def _interval(
    values: Sequence[float],
    stretched: Sequence[float],
    mean: float,
    labels: tuple[Sequence[str] | None, Sequence[str | None] | None],
    seed: int,
) -> Interval:
    if len(set(values)) == 1:
        return bootstrap_mean(values, seed=seed, clusters=labels[0], overlap_groups=labels[1])
    units = units_of(np.asarray(stretched), *labels)
    interval = resampled_interval(units, seed=seed)
    is_rate = min(values) >= 0.0 and max(values) <= 1.0
    if not is_rate or math.isnan(interval.low):
        return interval
    if units.few and units.number > 1:
        interval = widened(interval, wilson(min(max(mean, 0.0), 1.0) * units.number, units.number))
    return interval._replace(low=max(interval.low, 0.0), high=min(interval.high, 1.0))
