"""The item-difficulty model finds planted abilities and difficulties within its intervals."""

import math

import numpy as np
import pytest

from benchmarks.difficulty_coverage import DifficultySetting, answers, coverage
from caretbench.people.study_statistics.item_difficulty import (
    OWN_MOST,
    are_copies,
    fit_difficulties,
    majorities,
    rate_at,
    rate_at_equal_difficulty,
)

FIVE = DifficultySetting(models=5, samples=5, spread=1.1)


def names(number: int) -> list[str]:
    return [str(place) for place in range(number)]


@pytest.mark.parametrize(
    ("setting", "runs"),
    [
        (DifficultySetting(5, 1, 1.1), 15),
        (DifficultySetting(2, 5, 2.0), 30),
        *(
            pytest.param(DifficultySetting(models, samples, spread), runs, marks=pytest.mark.long)
            for models in (2, 5)
            for spread in (1.1, 2.0)
            for samples, runs in ((1, 60), (5, 60), (20, 25))
        ),
        pytest.param(FIVE._replace(unequal=True), 50, marks=pytest.mark.long),
        pytest.param(DifficultySetting(2, 5, 2.0, own=1.5), 60, marks=pytest.mark.long),
        pytest.param(DifficultySetting(2, 5, 1.5, parts=6), 30, marks=pytest.mark.long),
    ],
)
def test_intervals_hold_planted_values(setting: DifficultySetting, runs: int) -> None:
    """Bounds are three standard errors of a coverage of 95 % away."""
    found = coverage(setting, runs)
    error = math.sqrt(0.95 * 0.05 / runs)
    assert found.difficulty >= 0.95 - 3 * error
    assert found.rate >= 0.95 - 3 * error
    assert found.ability >= 0.95 - 3 * error
    assert 0.92 <= found.problem <= 0.97
    assert found.spread == pytest.approx(setting.spread, abs=0.15)
    assert found.own == pytest.approx(setting.own, abs=0.25)


def test_more_samples_tell_more_of_a_problem_and_little_of_the_mean() -> None:
    """The spread of problems, not of samples, makes the error of the mean difficulty: 1.1 / sqrt(300) at least."""
    generators = [np.random.default_rng(1) for _ in range(2)]
    few, many = (
        fit_difficulties(*answers(FIVE._replace(samples=samples), 0.0, generator)[:2], names(300))
        for samples, generator in zip((1, 5), generators, strict=True)
    )
    widths = [np.mean([one.high - one.low for one in model.problems]) for model in (few, many)]
    assert widths[1] < 0.65 * widths[0]
    assert many.difficulty.high - many.difficulty.low > 2 * 1.96 * 1.1 / math.sqrt(300) * 0.9


def test_samples_that_nearly_always_agree_are_copies() -> None:
    passes, samples = np.asarray([[5.0, 0, 5, 0, 1]]), np.full((1, 5), 5.0)
    assert are_copies(passes, samples)  # four of five
    assert not are_copies(passes[:, 1:], samples[:, 1:])
    assert not are_copies(np.minimum(passes, 1), np.ones((1, 5)))  # one sample copies none
    simulated, all_samples, _ = answers(FIVE, 0.0, np.random.default_rng(3))
    assert not are_copies(simulated, all_samples)


def test_a_majority_is_the_answer_of_copies() -> None:
    """Samples that differ in one of twenty answers leave the estimates as they are; rates would pull them to 0."""
    generator = np.random.default_rng(8)
    passes, samples, _ = answers(FIVE._replace(samples=1, models=2, spread=2.0), 0.0, generator)
    differing = np.where(generator.random(passes.shape) < 0.05, np.abs(5 * passes - 2), 5 * passes)
    assert majorities(differing, 5 * samples).tolist() == passes.tolist()
    assert majorities(np.asarray([[1.0, 2, 3, 4]]), np.full((1, 4), 4.0)).tolist() == [[0, 0.5, 1, 1]]
    once, rates = (fit_difficulties(one, samples, names(300)) for one in (passes, differing / 5))
    assert rates.spread < 0.95 * once.spread


def test_alike_samples_leave_estimates_finite_and_the_rate_as_it_is() -> None:
    """Five samples that are all the same: their own spread is at its bound."""
    passes, samples, _ = answers(FIVE._replace(samples=1, models=3), 0.0, np.random.default_rng(2))
    model = fit_difficulties(5 * passes, 5 * samples, names(300))
    assert model.own_spread == pytest.approx(OWN_MOST, rel=1e-3)
    assert all(math.isfinite(value) for one in (*model.abilities, *model.problems) for value in one)
    assert rate_at_equal_difficulty([model], 0).value == pytest.approx(passes[0].mean(), abs=0.03)


def test_harder_problems_do_not_make_a_model_worse() -> None:
    """Two sets of problems, one 1.5 log odds harder: rates fall, abilities stay."""
    generator = np.random.default_rng(5)
    easy, hard = (fit_difficulties(*answers(FIVE, mean, generator)[:2], names(300)) for mean in (-1.0, 0.5))
    assert hard.difficulty.value - easy.difficulty.value == pytest.approx(1.5, abs=0.25)
    for one, two in zip(easy.abilities, hard.abilities, strict=True):
        assert one.value == pytest.approx(two.value, abs=0.3)
    assert math.fsum(one.value for one in easy.abilities) == pytest.approx(0, abs=1e-9)


def test_clusters_widen_the_intervals() -> None:
    passes, samples, _ = answers(FIVE._replace(problems=60), 0.0, np.random.default_rng(3))
    passes, samples = np.repeat(passes, 4, axis=1), np.repeat(samples, 4, axis=1)
    alone = fit_difficulties(passes, samples, names(240))
    together = fit_difficulties(passes, samples, [str(place // 4) for place in range(240)])
    for one, two in ((alone.abilities[0], together.abilities[0]), (alone.difficulty, together.difficulty)):
        assert two.value == pytest.approx(one.value)
        assert two.high - two.low == pytest.approx(2 * (one.high - one.low), rel=0.05)


def test_missing_verdicts_and_perfect_models_are_no_error() -> None:
    passes, samples, _ = answers(FIVE._replace(problems=100, unequal=True), 0.0, np.random.default_rng(4))
    passes[0] = samples[0]
    passes[1, :30] = samples[1, :30] = 0
    model = fit_difficulties(passes, samples, names(100))
    assert all(math.isfinite(value) for one in (*model.abilities, *model.problems) for value in one)
    assert model.abilities[0].value == max(one.value for one in model.abilities)
    assert model.abilities[0].high - model.abilities[0].low > 2  # no failure says how good it is


def test_a_rate_at_a_difficulty_averages_over_their_spread() -> None:
    assert rate_at(0.0, 0.0, 2.0) == pytest.approx(0.5)
    assert rate_at(1.0, 0.0, 1e-9) == pytest.approx(1 / (1 + math.exp(-1)))
    assert 0.5 < rate_at(1.0, 0.0, 2.0) < rate_at(1.0, 0.0, 0.5)


def test_the_rate_at_equal_difficulty_doubts_level_and_spread_too() -> None:
    """With one part it is the model's rate, and its interval is about that of the rate of 300 problems."""
    passes, samples, _ = answers(FIVE, 0.0, np.random.default_rng(6))
    model = fit_difficulties(passes, samples, names(300))
    rates = passes[0] / samples[0]
    found = rate_at_equal_difficulty([model], 0)
    assert found.value == pytest.approx(rates.mean(), abs=0.005)
    assert found.value == rate_at(model.abilities[0].value, model.difficulty.value, model.whole_spread)
    assert found.high - found.low == pytest.approx(2 * 1.96 * rates.std() / math.sqrt(300), rel=0.1)
    # a part that is a copy of the first halves the variance of level and spread
    both = rate_at_equal_difficulty([model, model._replace(abilities=model.abilities[::-1])], 0)
    assert both.value == pytest.approx(found.value)


def test_one_sample_and_many_models_are_quick() -> None:
    """1,800 problems, nine models, five samples: a second or two."""
    setting = DifficultySetting(models=9, samples=5, spread=2.0, own=1.0, problems=1800)
    passes, samples, _ = answers(setting, 0.0, np.random.default_rng(7))
    model = fit_difficulties(passes, samples, names(1800))
    assert model.spread == pytest.approx(2.0, abs=0.15)
    assert model.own_spread == pytest.approx(1.0, abs=0.15)


def test_bad_input_is_refused() -> None:
    ones = np.ones((2, 30))
    with pytest.raises(ValueError, match="two models"):
        fit_difficulties(ones[:1], ones[:1], names(30))
    with pytest.raises(ValueError, match="shape"):
        fit_difficulties(ones, ones[:, :29], names(30))
    with pytest.raises(ValueError, match="clusters"):
        fit_difficulties(ones, ones, names(29))
    with pytest.raises(ValueError, match="between 0 and"):
        fit_difficulties(ones * 1.5, ones, names(30))
