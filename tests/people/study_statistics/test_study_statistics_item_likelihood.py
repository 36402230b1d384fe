"""Likelihood of numbers of passes: values by direct integration, derivatives by differences, the maximum."""

import math

import numpy as np
import pytest

from caretbench.people.study_statistics.item_difficulty import OWN_MOST, AnswerLikelihood

PASSES = np.asarray([[3.0, 0.0, 5.0], [1.0, 0.0, 2.0]])
SAMPLES = np.asarray([[5.0, 5.0, 5.0], [2.0, 0.0, 2.0]])
VALUES = np.asarray([0.4, -0.3, math.log(1.3), 0.2])


def prior(values: np.ndarray) -> float:
    *free, mean, spread, angle = values
    return -(sum(one**2 for one in (*free, mean)) / 9 + (spread - 0.2) ** 2 + angle**2) / 2


def integrated(values: np.ndarray) -> float:
    """Log likelihood by sums over a wide and dense grid, one answer at a time, without binomial coefficients."""
    grid = np.linspace(-8, 8, 1601)
    weights = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    abilities, spread, own = (values[0], -values[0]), math.exp(values[2]), OWN_MOST * math.sin(values[3])
    total = 0.0
    for problem in range(PASSES.shape[1]):
        by_place = np.ones(len(grid))
        for model in range(2):
            odds = abilities[model] - values[1] - spread * grid[:, None] - own * grid[None, :]
            chances = 1 / (1 + np.exp(-odds))
            passed, failed = PASSES[model, problem], SAMPLES[model, problem] - PASSES[model, problem]
            by_place *= chances**passed * (1 - chances) ** failed @ weights
        total += math.log(by_place @ weights)
    return total


def test_the_value_is_that_of_a_direct_integration() -> None:
    found = AnswerLikelihood(PASSES, SAMPLES).at(VALUES).log_posterior
    assert found == pytest.approx(integrated(VALUES) + prior(VALUES), abs=1e-4)


def test_slopes_are_the_differences_of_values() -> None:
    likelihood = AnswerLikelihood(PASSES, SAMPLES)
    for place in range(4):
        shift = 1e-5 * np.eye(4)[place]
        above, below = (likelihood.at(values).log_posterior for values in (VALUES + shift, VALUES - shift))
        assert likelihood.at(VALUES).slope[place] == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_the_maximum_has_no_slope() -> None:
    generator = np.random.default_rng(2)
    for most in (1, 4, 30):
        samples = generator.integers(0, most + 1, (3, 60)).astype(float)
        likelihood = AnswerLikelihood(generator.binomial(samples.astype(int), 0.4).astype(float), samples)
        assert np.abs(likelihood.at(likelihood.maximum()).slope).max() < 1e-3


def test_one_sample_has_no_own_spread() -> None:
    generator = np.random.default_rng(3)
    passes = (generator.random((2, 80)) < 0.5).astype(float)
    likelihood = AnswerLikelihood(passes, np.ones((2, 80)))
    assert not likelihood.repeated
    assert likelihood.maximum()[-1] == 0
