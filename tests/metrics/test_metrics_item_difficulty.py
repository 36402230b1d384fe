"""The item-difficulty model finds planted abilities and difficulties within its intervals."""

import math

import numpy as np
import pytest

from caretbench.metrics.item_difficulty import fit_difficulties, rate_at

ABILITIES = np.asarray([1.24, 0.54, 0.04, -0.36, -1.46])


def planted(rng: np.random.Generator, problems: int = 300, mean: float = -0.7) -> tuple[np.ndarray, np.ndarray]:
    difficulties = rng.normal(mean, 1.1, problems)
    chances = 1 / (1 + np.exp(difficulties[None, :] - ABILITIES[:, None]))
    return (rng.random(chances.shape) < chances).astype(float), difficulties


def names(number: int) -> list[str]:
    return [str(place) for place in range(number)]


def test_intervals_hold_planted_values() -> None:
    rng, runs = np.random.default_rng(1), 40
    abilities, mean, problems = 0.0, 0, 0.0
    for _ in range(runs):
        rates, difficulties = planted(rng)
        model = fit_difficulties(rates, names(300))
        abilities += sum(one.low <= true <= one.high for one, true in zip(model.abilities, ABILITIES, strict=True))
        mean += model.difficulty.low <= -0.7 <= model.difficulty.high
        problems += sum(one.low <= true <= one.high for one, true in zip(model.problems, difficulties, strict=True))
    assert 0.9 <= abilities / runs / 5 <= 0.99
    assert 0.85 <= mean / runs <= 1.0
    assert 0.93 <= problems / runs / 300 <= 0.96


def test_harder_problems_do_not_make_a_model_worse() -> None:
    """Two sets of problems, one 1.5 log odds harder: rates fall, abilities stay."""
    rng = np.random.default_rng(5)
    easy, hard = (fit_difficulties(planted(rng, 800, mean)[0], names(800)) for mean in (-1.0, 0.5))
    assert hard.difficulty.value - easy.difficulty.value == pytest.approx(1.5, abs=0.25)
    for one, two in zip(easy.abilities, hard.abilities, strict=True):
        assert one.value == pytest.approx(two.value, abs=0.45)
    assert math.fsum(one.value for one in easy.abilities) == pytest.approx(0, abs=1e-9)


def test_clusters_widen_the_intervals() -> None:
    rates, _ = planted(np.random.default_rng(3), 60)
    repeated = np.repeat(rates, 4, axis=1)
    alone = fit_difficulties(repeated, names(240)).abilities[0]
    together = fit_difficulties(repeated, [str(place // 4) for place in range(240)]).abilities[0]
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low == pytest.approx(2 * (alone.high - alone.low), rel=0.05)


def test_missing_verdicts_and_perfect_models_are_no_error() -> None:
    rates, _ = planted(np.random.default_rng(4), 100)
    rates[0], rates[1, :30] = 1.0, math.nan
    model = fit_difficulties(rates, names(100))
    assert all(math.isfinite(value) for one in model.abilities for value in one)
    assert model.abilities[0].value == max(one.value for one in model.abilities)
    assert model.abilities[0].high - model.abilities[0].low > 2  # no failure says how good it is


def test_a_rate_at_a_difficulty_averages_over_their_spread() -> None:
    assert rate_at(0.0, 0.0, 2.0) == pytest.approx(0.5)
    assert rate_at(1.0, 0.0, 1e-9) == pytest.approx(1 / (1 + math.exp(-1)))
    assert 0.5 < rate_at(1.0, 0.0, 2.0) < rate_at(1.0, 0.0, 0.5)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="two models"):
        fit_difficulties(np.ones((1, 30)), names(30))
    with pytest.raises(ValueError, match="clusters"):
        fit_difficulties(np.ones((2, 30)), names(29))
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit_difficulties(np.full((2, 30), 1.5), names(30))
