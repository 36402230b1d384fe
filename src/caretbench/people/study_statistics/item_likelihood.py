"""Marginal likelihood of numbers of passes under the item-difficulty model, and its maximum.

The log odds of a pass are ability - difficulty - own: the difficulty of the problem is normal and the same for all
models, ``own`` is normal with the mean 0 and the same for all samples of one model on one problem. Given the three, the
passes of a model's samples are binomial. Both normal values are integrated over.

Source: Bock and Aitkin, "Marginal maximum likelihood estimation of item parameters" (1981); for ``own``, Bradlow,
Wainer and Wang, "A Bayesian random effects model for testlets" (1999): the samples of one model on one problem are a
testlet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caretbench.metrics.resampling import Floats

_ABILITY_SPREAD = 3.0
"""Standard deviation of the weak prior of abilities and of the mean difficulty, in log odds."""
_LOG_SPREAD = (0.2, 1.0)
"""Mean and standard deviation of the weak prior of the logarithm of the spread of difficulties."""
OWN_MOST = 4.0
"""Maximum spread of own values, in log odds. Samples that are all alike would make it infinite."""
_ANGLE_SPREAD = 1.0
"""Standard deviation of the weak half-normal prior of the angle of the spread of own values."""
_REACH = 5.5
"""Number of standard deviations over which the normal values are integrated, to both sides."""
_STEPS = 60
_FIRST_STEPS = 10
"""Maximum number of steps before Newton's, which alone are quick near an own spread of 0."""
_DIFFERENCE = 1e-4


class LikelihoodPoint(NamedTuple):
    """Value and derivatives of the likelihood at some parameters, and the difficulties of the problems there."""

    log_posterior: float
    scores: Floats
    """Derivatives of the log likelihood of each problem, problems × parameters."""
    slope: Floats
    """Derivative of the log posterior."""
    means: Floats
    """Posterior mean of the difficulty of each problem."""
    errors: Floats
    """Posterior standard deviation of the difficulty of each problem, as if the parameters were known."""


def spreads(values: Floats) -> tuple[float, float]:
    """Return the spread of difficulties and that of own values; the latter is negative for a negative angle."""
    return math.exp(float(values[-2])), OWN_MOST * math.sin(float(values[-1]))


class AnswerLikelihood:
    """Marginal likelihood of numbers of passes.

    Its parameters are all abilities but the last (their sum is 0), the mean difficulty, the logarithm of the spread of
    difficulties, and an angle whose sine times :data:`OWN_MOST` is the spread of own values: at both ends of its range
    the likelihood has no slope by the angle, so that an estimate at an end is a maximum like others. The angle stays 0
    where no model has two samples of a problem.
    """

    def __init__(self, passes: Floats, samples: Floats) -> None:
        self._answers = [_ModelAnswers.of(*both) for both in zip(passes, samples, strict=True)]
        self._shares = passes.sum(axis=1), samples.sum(axis=1)
        self._nodes, self._weights = _normal_nodes(float(samples.sum(axis=0).max()))
        most = float(samples.max())
        self.repeated = most > 1
        self._own = _normal_nodes(most) if self.repeated else (np.zeros(1), np.ones(1))
        count = len(passes) + 2
        self._centre = np.asarray([0.0] * (count - 2) + [_LOG_SPREAD[0], 0.0])
        self._scale = np.asarray([_ABILITY_SPREAD] * (count - 2) + [_LOG_SPREAD[1], _ANGLE_SPREAD])

    def at(self, values: Floats) -> LikelihoodPoint:
        """Return the likelihood at the values of the parameters."""
        abilities = np.append(values[:-3], -values[:-3].sum())
        spread, own = spreads(values)
        places = values[-3] + spread * self._nodes
        tables = [
            answers.table(ability - places, own, *self._own)
            for answers, ability in zip(self._answers, abilities, strict=True)
        ]
        logs = np.log(self._weights) + sum(
            answers.of_problem @ table.logs for answers, table in zip(self._answers, tables, strict=True)
        )
        top = logs.max(axis=1, keepdims=True)
        posterior = np.exp(logs - top)
        sums = posterior.sum(axis=1, keepdims=True)
        posterior /= sums
        scores = self._scores(tables, posterior, spread)
        scores[:, -1] *= OWN_MOST * math.cos(float(values[-1]))
        means = posterior @ places
        return LikelihoodPoint(
            log_posterior=float((top + np.log(sums)).sum() - (((values - self._centre) / self._scale) ** 2).sum() / 2),
            scores=scores,
            slope=scores.sum(axis=0) - (values - self._centre) / self._scale**2,
            means=means,
            errors=np.sqrt(np.maximum(posterior @ places**2 - means**2, 0.0)),
        )

    def _scores(self, tables: list[_AnswerTable], posterior: Floats, spread: float) -> Floats:
        beyond = posterior * self._nodes
        residuals, pulls, own = [], 0.0, 0.0
        for answers, table in zip(self._answers, tables, strict=True):
            residuals.append((answers.of_problem * (posterior @ table.residuals.T)).sum(axis=1))
            pulls = pulls + (answers.of_problem * (beyond @ table.residuals.T)).sum(axis=1)
            own = own + (answers.of_problem * (posterior @ table.own.T)).sum(axis=1)
        by_model = np.stack(residuals, axis=1)
        found: Floats = np.column_stack(
            [by_model[:, :-1] - by_model[:, -1:], -by_model.sum(axis=1), -spread * pulls, own]
        )
        return found

    def curvature(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the negative second derivative of the log posterior, and the derivative of the problems' means."""
        seconds, means = [], []
        for place in range(len(values)):
            shift = np.zeros(len(values))
            shift[place] = _DIFFERENCE
            below, above = self.at(values - shift), self.at(values + shift)
            seconds.append((below.slope - above.slope) / (2 * _DIFFERENCE))
            means.append((above.means - below.means) / (2 * _DIFFERENCE))
        found = np.asarray(seconds)
        return (found + found.T) / 2, np.asarray(means)

    def maximum(self) -> Floats:
        """Return the parameters of the maximum.

        Steps with the outer product of the scores (Berndt, Hall, Hall and Hausman 1974), which cost one evaluation
        each, until they gain little; then Newton's steps, with a new curvature at every third.
        """
        values = self._start()
        point = self.at(values)
        newton, curvature = 0, np.zeros(0)
        for number in range(_STEPS):
            if not newton:
                curvature = point.scores.T @ point.scores + np.diag(self._scale**-2)
            elif newton % 3 == 1:
                curvature, _ = self.curvature(values)
            roots, vectors = np.linalg.eigh(curvature)
            step = vectors @ ((vectors.T @ point.slope) / np.maximum(np.abs(roots), 1e-3))
            step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
            gained = float(step @ point.slope)
            if newton and gained < 1e-9:
                break
            values, point = self._ahead(values, step, point)
            if newton or gained < 1e-2 or number + 1 >= _FIRST_STEPS:
                newton += 1
        return values

    def _ahead(self, values: Floats, step: Floats, point: LikelihoodPoint) -> tuple[Floats, LikelihoodPoint]:
        """Return the values after the longest halved step that gains, and the likelihood there."""
        for _ in range(12):
            ahead = self.at(values + step)
            if ahead.log_posterior > point.log_posterior:
                return values + step, ahead
            step = step / 2
        return values, point

    def _start(self) -> Floats:
        passes, samples = self._shares
        odds = np.log((passes + 0.5) / (samples - passes + 0.5))
        start = np.append(odds[:-1] - odds.mean(), [-odds.mean(), _LOG_SPREAD[0], 0.2 if self.repeated else 0.0])
        found: Floats = start.astype(np.float64)
        return found


class _AnswerTable(NamedTuple):
    """Log likelihood of each distinct answer at each difficulty, and its derivatives by ability and own spread."""

    logs: Floats
    residuals: Floats
    own: Floats


class _ModelAnswers(NamedTuple):
    """Distinct numbers of passes and samples of one model, and which of them each problem has (0 or 1)."""

    passes: Floats
    samples: Floats
    of_problem: Floats

    @classmethod
    def of(cls, passes: Floats, samples: Floats) -> _ModelAnswers:
        distinct, codes = np.unique(np.stack([passes, samples], axis=1), axis=0, return_inverse=True)
        return cls(distinct[:, 0], distinct[:, 1], np.eye(len(distinct))[codes.reshape(-1)])

    def table(self, odds: Floats, spread: float, nodes: Floats, weights: Floats) -> _AnswerTable:
        """Return the table at log odds without own values, integrated over own values of this spread."""
        shifted = odds[:, None] - spread * nodes[None, :]
        failures = np.logaddexp(0.0, shifted)  # minus the logarithm of the chance to fail
        chances = 1 / (1 + np.exp(-np.clip(shifted, -700, 700)))
        passes, samples = self.passes[:, None, None], self.samples[:, None, None]
        logs = passes * shifted - samples * failures + np.log(weights)
        top = logs.max(axis=2, keepdims=True)
        posterior = np.exp(logs - top)
        sums = posterior.sum(axis=2, keepdims=True)
        residuals = (passes - samples * chances) * posterior / sums
        return _AnswerTable((top + np.log(sums))[:, :, 0], residuals.sum(axis=2), -(residuals @ nodes))


def _normal_nodes(trials: float) -> tuple[Floats, Floats]:
    """Return evenly spaced nodes and weights of the standard normal distribution.

    Their distance follows the narrowest likelihood that so many trials can have. Gauss-Hermite nodes lie too far apart
    for many trials.
    """
    distance = min(0.25, 0.9 / math.sqrt(max(trials, 1.0)))
    half = math.ceil(_REACH / distance)
    nodes = np.asarray(np.arange(-half, half + 1) * distance, dtype=np.float64)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, np.asarray(weights / weights.sum(), dtype=np.float64)
