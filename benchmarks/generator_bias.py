"""Power and false claims of the test of generator bias, on simulated models.

Three models of each of two families answer 600 scenarios, each written by a generator of either family. Chances
follow a model of abilities and difficulties. Settings without favour include
families of different skill and generators of different difficulty, where differences of rates alone mislead.

    python benchmarks/generator_bias.py --runs 400
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from caretbench.people.strengths.bias_section import AnsweredProblems, BiasEstimate, own_family_bias

FAMILIES = ("anthropic", "openai")
MODELS = 3
"""Number of models of a family."""


class Setting(NamedTuple):
    """Setting of a simulation: what differs between the families."""

    name: str
    favour: float = 0.0
    """Additional chance to pass a problem of the own family."""
    skill: float = 0.0
    """Log odds by which models of the first family are better."""
    difficulty: float = 0.0
    """Log odds by which problems of the first family are harder."""
    spreads: tuple[float, float] = (0.8, 0.8)
    """Standard deviations of the difficulties of each family's problems within a scenario."""
    discriminations: tuple[float, float] = (1.0, 1.0)
    """Factors of the log odds on each family's problems: how well they separate good models from others."""
    taste: float = 0.0
    """Standard deviation of each model's own preference for problems of the first family, in log odds."""


SETTINGS = (
    Setting("favoured by 5 points", favour=0.05),
    Setting("favoured by 5 points, unequal families", favour=0.05, skill=0.8, difficulty=-0.6),
    Setting("no favour"),
    Setting("no favour, unequal families", skill=0.8, difficulty=-0.6),
    Setting("no favour, very unequal families", skill=1.5, difficulty=1.0),
    Setting("no favour, problems of unequal spread", skill=1.5, spreads=(0.3, 2.5)),
    Setting("no favour, problems of unequal discrimination", skill=1.0, discriminations=(1.5, 0.7)),
    Setting("no favour, tastes of single models", taste=0.4),
)


def simulated(setting: Setting, generator: np.random.Generator, scenarios: int = 600) -> AnsweredProblems:
    """Return one sample of all models on all problems: the first family's problems, then the second's."""
    abilities = np.concatenate([generator.normal(0.8 + side * setting.skill / 2, 0.5, MODELS) for side in (1, -1)])
    shared = generator.normal(0.0, 0.8, scenarios)
    problems = [
        shared + generator.normal(side * setting.difficulty / 2, spread, scenarios)
        for side, spread in zip((1, -1), setting.spreads, strict=True)
    ]
    tastes = generator.normal(0.0, setting.taste, 2 * MODELS)[:, None] * np.repeat((0.5, -0.5), scenarios)
    log_odds = (abilities[:, None] - np.concatenate(problems)) * np.repeat(setting.discriminations, scenarios)
    chances = 1 / (1 + np.exp(-log_odds - tastes))
    models = [family for family in FAMILIES for _ in range(MODELS)]
    written = [family for family in FAMILIES for _ in range(scenarios)]
    own = np.asarray(models)[:, None] == np.asarray(written)[None, :]
    rates = (generator.random(chances.shape) < chances + setting.favour * own).astype(np.float64)
    return AnsweredProblems(rates, models, written, [str(place) for place in range(scenarios)] * 2)


def estimates(setting: Setting, runs: int, seed: int = 1, scenarios: int = 600) -> Iterator[BiasEstimate]:
    """Yield the estimates of independent runs."""
    for run in range(runs):
        answered = simulated(setting, np.random.default_rng([seed, run]), scenarios)
        found = own_family_bias(answered, seed=run)
        if found is not None:
            yield found


def main() -> None:
    """Print the share of claims of each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--scenarios", type=int, default=600)
    chosen = parser.parse_args()
    print("setting | claimed | by points alone | mean bias (points) | 95% interval holds | smallest bias")  # noqa: T201 - a script
    for setting in SETTINGS:
        began = time.process_time()
        found = list(estimates(setting, chosen.runs, scenarios=chosen.scenarios))
        points = [estimate.points for estimate in found]
        mean = sum(one.difference for one in points) / len(points)
        inside = sum(one.interval.low <= mean <= one.interval.high for one in points) / len(points)
        print(  # noqa: T201
            f"{setting.name} | {sum(estimate.claimed for estimate in found) / len(found):.1%}"
            f" | {sum(one.distinguishable for one in points) / len(points):.1%} | {100 * mean:.2f} | {inside:.1%}"
            f" | {100 * sum(estimate.smallest for estimate in found) / len(found):.1f}"
            f" | {time.process_time() - began:.0f} s"
        )


if __name__ == "__main__":
    main()
