"""Item-difficulty model (1PL): abilities of models and difficulties of problems on one scale of log odds.

The log odds that a model's sample passes a problem are its ability minus the problem's difficulty. Abilities have the
mean 0, so the difficulties are those for the average model. Difficulties are normal, and integrated over; the passes of
several samples are binomial. Samples of one model on one problem may be more alike than that: then the problem is
harder or easier for this model than for others, by an own normal value. Samples that nearly
always agree tell no log odds of a sample, and should count as one answer (:func:`are_copies`).

Source: Rasch, "Probabilistic models for some intelligence and attainment tests" (1960), with the likelihood of
:mod:`caretbench.people.study_statistics.item_likelihood`; intervals from the full matrix of all parameters by clusters
(sandwich: White, "Maximum likelihood estimation of misspecified models", 1982); problems' difficulties after Kass and
Steffey, "Approximate Bayesian inference in conditionally independent hierarchical models" (1989), first order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from caretbench.errors import UsageError
from caretbench.metrics.intervals import CONFIDENCE
from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.item_likelihood import OWN_MOST, AnswerLikelihood, spreads

_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
_NODES = 61
_ALIKE = 0.8


class Scaled(NamedTuple):
    """Value in log odds, or a rate, with its 95 % interval."""

    value: float
    low: float
    high: float


class DifficultyModel(NamedTuple):
    """Fitted item-difficulty model of some problems."""

    abilities: tuple[Scaled, ...]
    """Abilities of the models, in their order; the mean is 0."""
    difficulty: Scaled
    """Mean difficulty of the problems for the average model."""
    spread: float
    """Standard deviation of the difficulties that all models share."""
    own_spread: float
    """Standard deviation of a model's own deviations from them; 0 if no model has two samples of a problem."""
    problems: tuple[Scaled, ...]
    """Difficulty of each problem: posterior mean with its interval."""
    covariance: Floats
    """Covariance of the errors of all abilities, the mean difficulty and the whole spread."""

    @property
    def whole_spread(self) -> float:
        """Standard deviation of the difficulties that one model meets."""
        return math.hypot(self.spread, self.own_spread)


def are_copies(passes: Floats, samples: Floats) -> bool:
    """Return whether several samples of a model on a problem are nearly copies: in 80 % of cases all of them agree.

    Then their majority should count as one answer (:func:`majorities`). Log odds of a sample would be beyond ± 5 for
    most problems, where five samples cannot tell them.
    """
    several = samples > 1
    agree = (passes == 0) | (passes == samples)
    return bool(several.any()) and float(agree[several].mean()) >= _ALIKE


def majorities(passes: Floats, samples: Floats) -> Floats:
    """Return 1 where most samples pass, 0 where most fail, and ½ where as many pass as fail.

    Rates in place of majorities would pull abilities and the spread of difficulties to 0: a rate of ½ is no answer of
    a problem of middle difficulty.
    """
    found: Floats = (np.sign(2 * passes - samples) + 1) / 2
    return found


def fit_difficulties(passes: Floats, samples: Floats, clusters: Sequence[str]) -> DifficultyModel:
    """Return the item-difficulty model of numbers of passes; the spread of whole clusters gives the intervals.

    Args:
        passes: Number of passing samples, one row a model, one column a problem.
        samples: Number of samples with a verdict, in the same places; 0 without any.
        clusters: Source of each problem.

    Raises:
        UsageError: fewer than two models or problems, impossible counts, or sequences of different lengths.
    """
    if passes.ndim != 2 or min(passes.shape) < 2:
        raise UsageError("difficulty and ability are only told apart by two models and two problems")
    if samples.shape != passes.shape:
        raise UsageError(f"samples of shape {samples.shape} do not fit passes of shape {passes.shape}")
    if len(clusters) != passes.shape[1]:
        raise UsageError(f"{len(clusters)} clusters do not fit {passes.shape[1]} problems")
    if not ((passes >= 0) & (passes <= samples)).all():
        raise UsageError("the number of passes lies between 0 and the number of samples")
    likelihood = AnswerLikelihood(passes, samples)
    found = likelihood.maximum()
    curvature, slopes = likelihood.curvature(found)
    point = likelihood.at(found)
    inverse = np.asarray(np.linalg.pinv(curvature), dtype=np.float64)
    shares = passes.sum(axis=1) / np.maximum(samples.sum(axis=1), 1)
    # A model that passes all problems or none has no spread of answers: the curvature alone tells the errors.
    mixed = ((shares > 0) & (shares < 1)).all()
    covariance = _by_clusters(inverse, point.scores, clusters) if mixed else inverse
    spread, own = spreads(found)
    table = _shown(found)
    shown = table @ covariance @ table.T
    errors = np.sqrt(np.maximum(np.diag(shown), 0.0))
    free = found[: len(passes) - 1]
    doubts = np.sqrt(point.errors**2 + np.maximum((slopes * (covariance @ slopes)).sum(axis=0), 0.0))
    return DifficultyModel(
        abilities=tuple(map(_scaled, (*free, -free.sum()), errors[:-2])),
        difficulty=_scaled(float(found[-3]), errors[-2]),
        spread=spread,
        own_spread=abs(own),
        problems=tuple(map(_scaled, point.means, doubts)),
        covariance=shown,
    )


def rate_at(ability: float, difficulty: float, spread: float) -> float:
    """Return the rate that a model of this ability has on problems with these normal difficulties."""
    return _rate_and_slopes(ability, difficulty, spread)[0]


def rate_at_equal_difficulty(parts: Sequence[DifficultyModel], place: int, model: int = 0) -> Scaled:
    """Return the rate that a model with its ability in one part has at the mean difficulty and spread of all parts.

    The interval is that of the delta method on the log odds of the rate, over the errors of the ability, of all mean
    difficulties and of all spreads; parts share no clusters.

    Args:
        parts: Models of parts of the problems, fitted one by one.
        place: Place of the part whose ability counts.
        model: Row of the model.
    """
    level = math.fsum(part.difficulty.value for part in parts) / len(parts)
    spread = math.fsum(part.whole_spread for part in parts) / len(parts)
    rate, slopes = _rate_and_slopes(parts[place].abilities[model].value, level, spread)
    variance = 0.0
    for part in parts:
        slope = np.zeros(len(part.covariance))
        slope[-2:] = slopes[1] / len(parts), slopes[2] / len(parts)
        if part is parts[place]:
            slope[model] = slopes[0]
        variance += float(slope @ part.covariance @ slope)
    odds, error = math.log(rate / (1 - rate)), math.sqrt(max(variance, 0.0)) / (rate * (1 - rate))
    return Scaled(*(1 / (1 + math.exp(-one)) for one in _scaled(odds, error)))


def _rate_and_slopes(ability: float, difficulty: float, spread: float) -> tuple[float, tuple[float, float, float]]:
    """Return a rate and its derivatives by ability, difficulty and spread."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    chances = 1 / (1 + np.exp(-np.clip(ability - difficulty - spread * nodes, -700, 700)))
    changes = weights * chances * (1 - chances)
    by_ability = float(changes.sum())
    return float(weights @ chances), (by_ability, -by_ability, -float(changes @ nodes))


def _by_clusters(inverse: Floats, scores: Floats, clusters: Sequence[str]) -> Floats:
    """Return the covariance of the parameters by the spread of whole clusters (sandwich)."""
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.stack([np.bincount(codes, weights=column) for column in scores.T])
    groups = sums.shape[1]
    found: Floats = inverse @ (sums @ sums.T) @ inverse * groups / max(groups - 1, 1)
    return found


def _shown(values: Floats) -> Floats:
    """Return the derivatives of all abilities, the mean difficulty and the whole spread by the parameters."""
    count = len(values)
    found = np.zeros((count, count))
    found[: count - 3, : count - 3] = np.eye(count - 3)
    found[count - 3, : count - 3] = -1
    found[count - 2, count - 3] = 1
    spread, own = spreads(values)
    whole = math.hypot(spread, own)
    found[count - 1, count - 2 :] = spread**2 / whole, own / whole * OWN_MOST * math.cos(float(values[-1]))
    return found


def _scaled(value: float, error: float) -> Scaled:
    return Scaled(float(value), float(value) - _Z * float(error), float(value) + _Z * float(error))
