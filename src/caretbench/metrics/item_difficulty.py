"""Item-difficulty model (1PL): abilities of models and difficulties of problems on one scale of log odds.

The log odds that a model passes a problem are its ability minus the problem's difficulty. Abilities have the mean 0, so
the difficulties are those for the average model. Difficulties are normal, and integrated over (marginal likelihood);
the rate of a problem's samples counts as one answer, because samples of one problem are alike.

Source: Rasch, "Probabilistic models for some intelligence and attainment tests" (1960); Bock and Aitkin, "Marginal
maximum likelihood estimation of item parameters" (1981).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE
from caretbench.metrics.resampling import Floats

_NODES = 31
_ABILITY_SPREAD = 3.0
"""Standard deviation of the weak prior of abilities and of the mean difficulty, in log odds."""
_LOG_SPREAD = (0.2, 1.0)
"""Mean and standard deviation of the weak prior of the logarithm of the spread of difficulties."""
_STEPS = 60
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


class Scaled(NamedTuple):
    """Value in log odds with its 95 % interval."""

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
    """Standard deviation of the difficulties."""
    problems: tuple[Scaled, ...]
    """Difficulty of each problem: posterior mean with its interval."""


def fit_difficulties(rates: Floats, clusters: Sequence[str]) -> DifficultyModel:
    """Return the item-difficulty model of rates from 0 to 1; the spread of whole clusters gives the intervals.

    Args:
        rates: One row a model, one column a problem; NaN without a verdict.
        clusters: Source of each problem.

    Raises:
        ValueError: fewer than two models or problems, values outside 0 to 1, or sequences of different lengths.
    """
    if rates.ndim != 2 or min(rates.shape) < 2:
        raise ValueError("difficulty and ability are only told apart by two models and two problems")
    if len(clusters) != rates.shape[1]:
        raise ValueError(f"{len(clusters)} clusters do not fit {rates.shape[1]} problems")
    known = rates[~np.isnan(rates)]
    if ((known < 0) | (known > 1)).any():
        raise ValueError("a rate lies between 0 and 1")
    likelihood = _Likelihood(rates)
    found = likelihood.maximum()
    errors = _standard_errors(likelihood, found, clusters)
    models = len(rates)
    free, mean, spread = found[: models - 1], float(found[-2]), math.exp(float(found[-1]))
    return DifficultyModel(
        abilities=tuple(map(_scaled, (*free, -free.sum()), errors[:models])),
        difficulty=_scaled(mean, errors[models]),
        spread=spread,
        problems=tuple(likelihood.problems(found)),
    )


def rate_at(ability: float, difficulty: float, spread: float) -> float:
    """Return the rate that a model of this ability has on problems with these normal difficulties."""
    nodes, weights = _quadrature()
    return float(weights @ _logistic(ability - difficulty - spread * nodes))


class _Likelihood:
    """Marginal likelihood of the rates; its parameters are all abilities but one, the mean and the log spread."""

    def __init__(self, rates: Floats) -> None:
        self.known = (~np.isnan(rates)).astype(np.float64)
        self.passes = np.nan_to_num(rates)
        self.nodes, self.weights = _quadrature()
        count = len(rates) + 1
        self.centre = np.asarray([0.0] * (count - 1) + [_LOG_SPREAD[0]])
        self.scale = np.asarray([_ABILITY_SPREAD] * (count - 1) + [_LOG_SPREAD[1]])

    def scores(self, values: Floats) -> Floats:
        """Return the derivative of the log likelihood of each problem, problems × parameters."""
        chances, posterior, spread = self._posterior(values)
        expected = posterior @ chances.T  # problems × models
        residuals = (self.passes.T - expected * self.known.T) * self.known.T
        beyond = posterior * self.nodes  # weighted by the place of the node
        pulls = beyond.sum(axis=1) * self.passes.sum(axis=0) - ((beyond @ chances.T) * self.known.T).sum(axis=1)
        found: Floats = np.column_stack(
            [residuals[:, :-1] - residuals[:, -1:], -residuals.sum(axis=1), -spread * pulls]
        )
        return found

    def gradient(self, values: Floats) -> Floats:
        """Return the derivative of the log posterior."""
        found: Floats = self.scores(values).sum(axis=0) - (values - self.centre) / self.scale**2
        return found

    def curvature(self, values: Floats, step: float = 1e-4) -> Floats:
        """Return the negative second derivative of the log posterior."""
        columns = []
        for place in range(len(values)):
            shift = np.zeros(len(values))
            shift[place] = step
            columns.append((self.gradient(values - shift) - self.gradient(values + shift)) / (2 * step))
        found = np.asarray(columns)
        return (found + found.T) / 2

    def maximum(self) -> Floats:
        """Return the parameters of the maximum, by damped Newton steps."""
        values = self.centre.copy()
        for _ in range(_STEPS):
            slope = self.gradient(values)
            roots, vectors = np.linalg.eigh(self.curvature(values))
            step = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(roots), 1e-3))
            step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
            values = values + step
            if float(np.abs(step).max()) < 1e-7:
                break
        return values

    def problems(self, values: Floats) -> list[Scaled]:
        """Return the difficulties of the problems: posterior means and normal intervals."""
        _, posterior, spread = self._posterior(values)
        places = values[-2] + spread * self.nodes
        means = posterior @ places
        errors = np.sqrt(np.maximum(posterior @ places**2 - means**2, 0.0))
        return [_scaled(float(mean), float(error)) for mean, error in zip(means, errors, strict=True)]

    def _posterior(self, values: Floats) -> tuple[Floats, Floats, float]:
        """Return chances to pass (models × nodes), weights of the nodes for each problem, and the spread."""
        abilities = np.append(values[:-2], -values[:-2].sum())
        spread = math.exp(float(values[-1]))
        chances = _logistic(abilities[:, None] - (values[-2] + spread * self.nodes)[None, :])
        logs = np.log(np.maximum(chances, 1e-300)), np.log(np.maximum(1 - chances, 1e-300))
        weighed = self.passes.T @ logs[0] + (self.known - self.passes).T @ logs[1] + np.log(self.weights)
        weighed = np.exp(weighed - weighed.max(axis=1, keepdims=True))
        return chances, weighed / weighed.sum(axis=1, keepdims=True), spread


def _standard_errors(likelihood: _Likelihood, values: Floats, clusters: Sequence[str]) -> list[float]:
    """Return the standard errors of all abilities and of the mean difficulty.

    By the spread of whole clusters (sandwich); by the curvature alone where a model passes all problems or none, whose
    answers have no spread.
    """
    inverse = np.linalg.pinv(likelihood.curvature(values))
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    scores = likelihood.scores(values)
    sums = np.stack([np.bincount(codes, weights=column) for column in scores.T])
    groups = sums.shape[1]
    robust = inverse @ (sums @ sums.T) @ inverse * groups / max(groups - 1, 1)
    shares = likelihood.passes.sum(axis=1) / likelihood.known.sum(axis=1)
    covariance = robust if ((shares > 0) & (shares < 1)).all() else inverse
    count = len(values)
    signs = np.zeros((count, count))  # all abilities, then the mean
    signs[: count - 2, : count - 2] = np.eye(count - 2)
    signs[count - 2, : count - 2] = -1
    signs[count - 1, count - 2] = 1
    return [math.sqrt(max(float(row @ covariance @ row), 0.0)) for row in signs]


def _scaled(value: float, error: float) -> Scaled:
    return Scaled(float(value), float(value) - _Z * error, float(value) + _Z * error)


def _quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights of the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _logistic(values: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(values, -40, 40)))
    return found
