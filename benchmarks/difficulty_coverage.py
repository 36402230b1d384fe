"""Coverage of the intervals of the item-difficulty model, on simulated models.

Models answer problems of one or more parts, whose mean difficulties differ. The table has the share of intervals that
hold the true value, and the mean of the fitted spreads.

    python benchmarks/difficulty_coverage.py --runs 100
"""

from __future__ import annotations

import argparse
import math
import time
from typing import NamedTuple

import numpy as np

from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.item_difficulty import (
    DifficultyModel,
    Scaled,
    fit_difficulties,
    rate_at,
    rate_at_equal_difficulty,
)

MEAN = -0.7
"""Mean difficulty of all problems."""


class DifficultySetting(NamedTuple):
    """Setting of a simulation; spreads are in log odds."""

    models: int
    samples: int
    spread: float
    own: float = 0.0
    """Standard deviation of a model's own deviations from the difficulties."""
    problems: int = 300
    """Number of problems of a part."""
    parts: int = 1
    unequal: bool = False
    """True if each model has between none and all of the samples of a problem."""
    discrimination: float = 0.0
    """Standard deviation of the logarithm of the problems' discriminations, which the model does not know."""

    @property
    def abilities(self) -> Floats:
        """True abilities."""
        found: Floats = np.linspace(1.0, -1.0, self.models)
        return found

    @property
    def levels(self) -> Floats:
        """True mean difficulties of the parts."""
        found: Floats = MEAN + np.linspace(-0.8, 0.8, self.parts) if self.parts > 1 else np.asarray([MEAN])
        return found


class Coverage(NamedTuple):
    """Shares of intervals that hold the true value, and means of fitted spreads."""

    ability: float
    difficulty: float
    problem: float
    rate: float
    """Rate at equal difficulty."""
    spread: float
    own: float


def answers(setting: DifficultySetting, level: float, generator: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return passes and samples (models × problems) and the difficulties of the problems of one part."""
    difficulties = generator.normal(level, setting.spread, setting.problems)
    shape = setting.models, setting.problems
    own = generator.normal(0.0, 1.0, shape) * setting.own
    slopes = np.exp(generator.normal(0.0, 1.0, setting.problems) * setting.discrimination)
    chances = 1 / (1 + np.exp(-slopes * (setting.abilities[:, None] - difficulties - own)))
    samples = generator.integers(0 if setting.unequal else setting.samples, setting.samples + 1, shape)
    return generator.binomial(samples, chances).astype(np.float64), samples.astype(np.float64), difficulties


def coverage(setting: DifficultySetting, runs: int, seed: int = 1) -> Coverage:
    """Return the shares of intervals that hold the true value over independent runs."""
    truth = rate_at(setting.abilities[0], float(setting.levels.mean()), math.hypot(setting.spread, setting.own))
    held = []
    names = [str(place) for place in range(setting.problems)]
    for run in range(runs):
        generator = np.random.default_rng([seed, run])
        fits = []
        for level in setting.levels:
            passes, samples, difficulties = answers(setting, float(level), generator)
            fits.append(fit_difficulties(passes, samples, names))
            held.append(_held(setting, fits[-1], float(level), difficulties))
        for place in range(len(fits)):
            rate = rate_at_equal_difficulty(fits, place)
            held[place - len(fits)] = held[place - len(fits)]._replace(rate=float(rate.low <= truth <= rate.high))
    return Coverage(*(math.fsum(column) / len(held) for column in zip(*held, strict=True)))


def _held(setting: DifficultySetting, fit: DifficultyModel, level: float, difficulties: Floats) -> Coverage:
    return Coverage(
        ability=_share(fit.abilities, setting.abilities),
        difficulty=_share([fit.difficulty], np.asarray([level])),
        problem=_share(fit.problems, difficulties),
        rate=math.nan,
        spread=fit.spread,
        own=fit.own_spread,
    )


def _share(intervals: tuple[Scaled, ...] | list[Scaled], truths: Floats) -> float:
    held = [one.low <= truth <= one.high for one, truth in zip(intervals, truths, strict=True)]
    return sum(held) / len(held)


SETTINGS = (
    *(DifficultySetting(models, samples, spread) for models in (2, 5) for spread in (1.1, 2) for samples in (1, 5, 20)),
    DifficultySetting(5, 5, 1.1, unequal=True),
    DifficultySetting(2, 5, 2, own=1.5),
    DifficultySetting(5, 5, 1.1, own=1.0),
    DifficultySetting(2, 5, 1.5, parts=6),
    DifficultySetting(2, 5, 1.1, problems=40),
    DifficultySetting(5, 5, 1.1, discrimination=0.5),
)


def main() -> None:
    """Print the coverage of each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    chosen = parser.parse_args()
    print("setting | ability | mean difficulty | problem | rate at equal difficulty | spread | own spread")  # noqa: T201 - a script
    for setting in SETTINGS:
        began = time.process_time()
        found = coverage(setting, chosen.runs)
        shares = " | ".join(f"{share:.1%}" for share in found[:4])
        changed = {
            name: value for name, value in setting._asdict().items() if value != setting._field_defaults.get(name)
        }
        print(  # noqa: T201
            f"{changed} | {shares} | {found.spread:.2f} | {found.own:.2f} | {time.process_time() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
