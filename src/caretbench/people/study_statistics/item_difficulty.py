"""Item-difficulty model (1PL): abilities of models and difficulties of problems on one scale of log odds.

The log odds that a model's sample passes a problem are its ability minus the problem's difficulty. Abilities have the
mean 0, so the difficulties are those for the average model. Difficulties are normal, and integrated over; the passes of
several samples are binomial. Samples of one model on one problem may be more alike than that: then the problem is
harder or easier for this model than for others, by an own normal value. Samples that nearly
always agree tell no log odds of a sample, and should count as one answer (:func:`are_copies`).

Source: Rasch, "Probabilistic models for some intelligence and attainment tests" (1960), with the likelihood of
:mod:`caretbench.people.study_statistics.item_difficulty`; intervals from the full matrix of all parameters by clusters
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

_ABILITY_SPREAD = 3.0
"""Standard deviation of the weak prior of abilities and of the mean difficulty, in log odds."""
# A spread of 0 or of infinity is the maximum for some tables of a few answers, so a weak prior holds it.
_LOG_SPREAD = (0.2, 1.0)
"""Mean and standard deviation of the weak prior of the logarithm of the spread of difficulties."""
OWN_MOST = 4.0
"""Maximum spread of own values, in log odds. Samples that are all alike would make it infinite."""
_ANGLE_SPREAD = 1.0
"""Standard deviation of the weak half-normal prior of the angle of the spread of own values."""
# Beyond lie 4e-8 of the distribution.
_REACH = 5.5
"""Number of standard deviations over which the normal values are integrated, to both sides."""
_STEPS = 60
# Newton's curvature needs two evaluations for each parameter; near the maximum it is worth them.
_FIRST_STEPS = 10
"""Maximum number of steps before Newton's, which alone are quick near an own spread of 0."""
# Central differences: their error falls with the square, until rounding takes over near 1e-5.
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
        # Logarithms of hundreds of samples are far below what exp can give.
        top = logs.max(axis=1, keepdims=True)
        posterior = np.exp(logs - top)
        sums = posterior.sum(axis=1, keepdims=True)
        posterior /= sums
        scores = self._scores(tables, posterior, spread)
        # By the angle, not by the spread itself.
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
            # Far from the maximum the curvature can have negative roots, along which a plain Newton step would go down.
            roots, vectors = np.linalg.eigh(curvature)
            step = vectors @ ((vectors.T @ point.slope) / np.maximum(np.abs(roots), 1e-3))
            # At most one log odd a step: the outer product is small where all answers agree, and its step endless.
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
        # 1/4096 of a step that gains nothing is no step.
        for _ in range(12):
            ahead = self.at(values + step)
            if ahead.log_posterior > point.log_posterior:
                return values + step, ahead
            step = step / 2
        return values, point

    def _start(self) -> Floats:
        passes, samples = self._shares
        # A half on both sides, so that a model that passes all problems has finite odds.
        odds = np.log((passes + 0.5) / (samples - passes + 0.5))
        # The angle starts off 0: there the likelihood has no slope by it, and a spread of own values would never be
        # found.
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
        # exp overflows at 710.
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
    # The likelihood of n binomial trials is no narrower than 2/sqrt(n) log odds, so two nodes lie within it.
    distance = min(0.25, 0.9 / math.sqrt(max(trials, 1.0)))
    half = math.ceil(_REACH / distance)
    nodes = np.asarray(np.arange(-half, half + 1) * distance, dtype=np.float64)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, np.asarray(weights / weights.sum(), dtype=np.float64)


_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
# Gauss-Hermite is enough here: one chance is smooth in the normal value, unlike the likelihood of many trials.
_NODES = 61
# Samples as independent trials held the ability in 19 % where they were copies; as one answer from here on it held.
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
    # In 95 % of DevBench's recorded answers all five samples agree, so the log odds of a sample are beyond what five
    # tell.
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
    # Two equal models make the curvature singular.
    inverse = np.asarray(np.linalg.pinv(curvature), dtype=np.float64)
    shares = passes.sum(axis=1) / np.maximum(samples.sum(axis=1), 1)
    # A model that passes all problems or none has no spread of answers: the curvature alone tells the errors.
    mixed = ((shares > 0) & (shares < 1)).all()
    covariance = _by_clusters(inverse, point.scores, clusters) if mixed else inverse
    spread, own = spreads(found)
    table = _shown(found)
    shown = table @ covariance @ table.T
    # The sandwich can be negative in the last digits.
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


def rate_at_equal_difficulty(parts: Sequence[DifficultyModel], place: int) -> Scaled:
    """Return the rate that the first model of a part has with its ability there, at the mean of all parts.

    The interval is that of the delta method on the log odds of the rate, over the errors of the ability, of all mean
    difficulties and of all spreads; parts share no clusters.

    Args:
        parts: Models of parts of the problems, fitted one by one.
        place: Place of the part whose ability counts.
    """
    level = math.fsum(part.difficulty.value for part in parts) / len(parts)
    spread = math.fsum(part.whole_spread for part in parts) / len(parts)
    rate, slopes = _rate_and_slopes(parts[place].abilities[0].value, level, spread)
    variance = 0.0
    for part in parts:
        slope = np.zeros(len(part.covariance))
        slope[-2:] = slopes[1] / len(parts), slopes[2] / len(parts)
        # Identity, not equality: two languages can have equal numbers.
        if part is parts[place]:
            slope[0] = slopes[0]
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
    # The factor is that of a variance from a sample of clusters.
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
