"""Generator bias: gain of a family's models on problems that the same family wrote, beyond the gain of others.

A model's gain in a scenario is its rate on the problems of one family of generators minus its rate on those of the
other families. The bias is the gain of the family's own models minus that of the others: a difference of differences,
one for each scenario. Skill of a model and difficulty of a generator's problems cancel.

Differences of rates depend on the scale: where problems are very easy or very hard, no skill shows, and a family's
problems may be so more often. So a bias is claimed only if it is distinguishable in points and in log odds, in the same
direction. The log odds are those of discordant answers: of the problems that exactly one of two models solves, the
odds that it is the first. They do not depend on the difficulty of the problems (Rasch; Mantel and Haenszel 1959 for
pairs): it cancels problem by problem. Problems that separate good models better than others do not cancel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.paired import Comparison, Pair, compare_family, with_holm
from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.contrasts import normal_comparison, smallest_effect

KeyT = TypeVar("KeyT", str, int)


class AnsweredProblems(NamedTuple):
    """Rates of models on problems, with the families of both."""

    rates: Floats
    """One row a model, one column a problem; NaN without a verdict."""
    model_families: Sequence[str]
    problem_families: Sequence[str]
    scenarios: Sequence[str]
    """Scenario of each problem: families that wrote for the same one are compared."""


class BiasEstimate(NamedTuple):
    """Bias towards a family's own problems, of all families, one family or one model."""

    points: Comparison
    """Own gain minus the gain of others, over scenarios; rates run from 0 to 1."""
    log_odds: Comparison
    """The same in log odds of discordant answers, with a jackknife over scenarios."""
    smallest: float
    """Smallest bias that so many scenarios find in 80 % of cases."""

    @property
    def claimed(self) -> bool:
        """Return whether there is a bias: distinguishable on both scales, in the same direction."""
        both = self.points.distinguishable and self.log_odds.distinguishable
        return both and self.points.difference * self.log_odds.difference > 0


class _Gains(NamedTuple):
    """Gains by model and scenario, and the rates on own and other problems that they are made of."""

    own: Floats
    """Rates on problems of the family, models × scenarios."""
    other: Floats
    """Rates on problems of the other families."""
    present: NDArray[np.bool_]
    """Scenarios in which every model has both."""
    discordant: Floats
    """Numbers of discordant answers by scenario: problems of the family and of others × solved by the first and by the
    second of two models × the family's own models × other models × scenarios."""


_Side = tuple[_Gains, NDArray[np.bool_]]
"""Gains on a family's problems, and a mark for each of its own models."""


def own_family_bias(answered: AnsweredProblems, *, seed: int) -> BiasEstimate | None:
    """Return the mean bias of all families; None if no scenario can tell.

    Raises:
        ValueError: sequences of different lengths.
    """
    sides = [_family(answered, family) for family in bias_families(answered)]
    return _estimates({"all": sides}, seed).get("all")


def bias_by_family(answered: AnsweredProblems, *, seed: int) -> dict[str, BiasEstimate]:
    """Return the bias of each family, with p values for all families together."""
    return _estimates({family: [_family(answered, family)] for family in bias_families(answered)}, seed)


def bias_by_model(answered: AnsweredProblems, *, seed: int) -> dict[int, BiasEstimate]:
    """Return the bias of each model of a generator's family by its row, with p values for all of them together.

    A model is compared with the models of other families.
    """
    found: dict[int, list[_Side]] = {}
    for family in bias_families(answered):
        gains, own = _family(answered, family)
        for row in np.flatnonzero(own):
            # Without the family's other models: with them the comparison would be between friends.
            kept = ~own | (np.arange(len(own)) == row)
            first = int(own[:row].sum())
            discordant = gains.discordant[:, :, first : first + 1]
            part = _Gains(gains.own[kept], gains.other[kept], gains.present, discordant)
            found[int(row)] = [(part, own[kept])]
    return _estimates(found, seed)


def bias_families(answered: AnsweredProblems) -> list[str]:
    """Return the families that wrote problems and have models, where other families have both problems and models."""
    models, problems = set(answered.model_families), set(answered.problem_families)
    return sorted(family for family in models & problems if models - {family} and problems - {family})


def _family(answered: AnsweredProblems, family: str) -> _Side:
    """Return the gains of all models on a family's problems."""
    names = sorted(set(answered.problem_families))
    _, scenarios = np.unique(np.asarray(answered.scenarios), return_inverse=True)
    count = int(scenarios.max()) + 1
    codes = np.asarray([names.index(name) for name in answered.problem_families]) * count + scenarios
    known = ~np.isnan(answered.rates)
    shape = (len(answered.rates), len(names), count)
    width = len(names) * count
    sums = np.stack([np.bincount(codes, np.nan_to_num(row), width) for row in answered.rates]).reshape(shape)
    sizes = np.stack([np.bincount(codes, row, width) for row in known]).reshape(shape)
    means = sums / np.maximum(sizes, 1)
    # All models in each scenario: a gain over other scenarios than the others' is no gain.
    there: NDArray[np.bool_] = np.all(sizes > 0, axis=0)
    place = names.index(family)
    others = there.copy()
    others[place] = False
    number = others.sum(axis=0)
    other = (means * others).sum(axis=1) / np.maximum(number, 1)
    own = np.asarray(answered.model_families) == family
    written = np.asarray(answered.problem_families) == family
    discordant = np.stack([_discordant(answered.rates * np.where(part, 1, np.nan), own, scenarios, count)
                           for part in (written, ~written)])  # fmt: skip
    return _Gains(means[:, place], other, there[place] & (number > 0), discordant), own


def _discordant(rates: Floats, own: NDArray[np.bool_], scenarios: NDArray[np.int64], count: int) -> Floats:
    """Return how often one of two models solves a problem and the other does not, by scenario.

    Of several answers to a problem, each of one model is compared with each of the other. Problems that are NaN for one
    of the two do not count.
    """
    first, second = rates[own][:, None], rates[~own][None]
    found = np.stack([np.nan_to_num(first * (1 - second)), np.nan_to_num(second * (1 - first))])
    sums: Floats = np.zeros((*found.shape[:3], count))
    np.add.at(np.moveaxis(sums, -1, 0), scenarios, np.moveaxis(found, -1, 0))
    return sums


def _estimates(found: Mapping[KeyT, Sequence[_Side]], seed: int) -> dict[KeyT, BiasEstimate]:
    """Return the bias of each entry that some scenario tells of, with p values for all of them together."""
    present = {key: kept for key, sides in found.items() if (kept := [one for one in sides if one[0].present.any()])}
    gains = [_mean_gains(sides) for sides in present.values()]
    points = compare_family(gains, seed=seed)
    odds = with_holm([_log_odds(sides, one.n) for sides, one in zip(present.values(), points, strict=True)])
    estimates = {}
    for key, pair, one, two in zip(present, gains, points, odds, strict=True):
        number = len(pair.first)
        spread = float(np.std(np.subtract(pair.second, pair.first), ddof=1)) if number > 1 else math.nan
        estimates[key] = BiasEstimate(one, two, smallest_effect(spread / math.sqrt(number)))
    return estimates


def _mean_gains(sides: Sequence[_Side]) -> Pair:
    """Return the mean gain of others and of own models by scenario, where some family has problems of both."""
    number = sum(gains.present.astype(np.float64) for gains, _ in sides)
    present = np.asarray(number) > 0
    pairs = []
    for chosen in (True, False):
        rows = [_mean_gain(gains, own if chosen else ~own) for gains, own in sides]
        pairs.append((np.sum(rows, axis=0) / np.maximum(number, 1))[present])
    mine, theirs = pairs
    # One value for each scenario, since problems of one scenario are alike; its name is the same for all families.
    return Pair(theirs.tolist(), mine.tolist(), [str(scenario) for scenario in np.flatnonzero(present)])


def _mean_gain(gains: _Gains, rows: NDArray[np.bool_]) -> Floats:
    """Return the mean gain of some models by scenario; 0 where it is not known."""
    found: Floats = (gains.own[rows] - gains.other[rows]).mean(axis=0) * gains.present
    return found


def _log_odds(sides: Sequence[_Side], scenarios: int) -> Comparison:
    """Return the bias in log odds of discordant answers: the mean over pairs of models, with a jackknife."""
    whole, without = [], []
    for gains, _ in sides:
        counts = gains.discordant * gains.present
        totals = counts.sum(axis=-1, keepdims=True)
        whole.append(float(_log_odds_ratio(totals).mean()))
        # A jackknife leaves one scenario out: its problems are alike too.
        without.append(_log_odds_ratio(totals - counts).mean(axis=(0, 1)))
    estimate, parts = math.fsum(whole) / len(whole), np.mean(without, axis=0)
    count = len(parts)
    error = math.sqrt(float(((parts - parts.mean()) ** 2).sum()) * (count - 1) / count)
    return normal_comparison(estimate, error, n=scenarios, groups=scenarios)


def _log_odds_ratio(counts: Floats) -> Floats:
    """Return the log odds on a family's problems minus those on others, by pair of models; 1/2 is added to counts."""
    # Two models that never differ have 0 to 0, which the halves make 1.
    odds = np.log((counts[:, 0] + 0.5) / (counts[:, 1] + 0.5))
    ratio: Floats = odds[0] - odds[1]
    return ratio
