"""Power and false claims of contrasts of a part with the rest, on simulated models.

Six languages differ in the difficulty of their problems, as those of DevBench do for the recorded models. The first
model has the same lead in all of them, or an additional strength in one. Chances follow abilities and difficulties.

    python benchmarks/part_contrasts.py --runs 200
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

from caretbench.metrics.intervals import Floats
from caretbench.metrics.paired import Comparison
from caretbench.people.study_statistics.contrasts import log_odds_contrast, on_both_scales, part_contrast, with_holm

LEVELS = {"C++": -2.06, "C#": -1.69, "Java": -1.67, "JavaScript": -1.16, "Python": -0.25, "TypeScript": -0.28}
"""Mean difficulty of the problems of a language, in log odds."""


class Setting(NamedTuple):
    """Setting of a simulation. The first of ``skills`` is the model, the others are the field."""

    name: str
    skills: tuple[float, ...]
    spread: float = 1.7
    """Standard deviation of the difficulties within a language."""
    problems: int = 272
    """Number of problems of a language."""
    samples: int = 5
    own: float = 0.0
    """Standard deviation of what a model has for one problem alone: samples are alike."""
    strength: float = 0.0
    """Additional log odds of the model in ``language``."""
    language: str = "Python"


SETTINGS = (
    Setting("lead 2.2", (1.1, -1.1)),
    Setting("lead 1.5", (0.75, -0.75), spread=1.1),
    Setting("lead 2.2, 1 sample", (1.1, -1.1), samples=1),
    Setting("lead 2.2, samples alike", (1.1, -1.1), own=2.0),
    Setting("field of 3 models", (1.1, -1.1, 0.0, 1.5)),
    Setting("lead 4, 150 problems, 1 sample", (3.0, -1.0), spread=1.0, problems=150, samples=1),
    Setting("lead 3.5, 30 problems, 1 sample", (1.75, -1.75), problems=30, samples=1),
    Setting("no lead", (0.0, 0.0)),
    Setting("lead 1, +1.2 in Python", (0.5, -0.5), strength=1.2),
    Setting("lead 1, +1.2 in Python, 80 problems, 1 sample", (0.5, -0.5), problems=80, samples=1, strength=1.2),
    Setting("lead 1, +1.2 in Java", (0.5, -0.5), strength=1.2, language="Java"),
    Setting("lead 2.2, +1.2 in Java", (1.1, -1.1), strength=1.2, language="Java"),
)


def contrasts(setting: Setting, generator: np.random.Generator) -> tuple[list[Comparison], list[Comparison]]:
    """Return the contrasts of each language with the others in points, and on both scales, before adjustment."""
    names = np.repeat(list(LEVELS), setting.problems)
    hard = np.repeat(list(LEVELS.values()), setting.problems) + setting.spread * generator.normal(size=len(names))
    rates: list[Floats] = []
    for place, skill in enumerate(setting.skills):
        extra = setting.strength * (names == setting.language) if place == 0 else 0.0
        logits = skill + extra - hard + setting.own * generator.normal(size=len(names))
        rates.append(generator.binomial(setting.samples, 1 / (1 + np.exp(-logits))) / setting.samples)
    own, *others = rates
    clusters = [str(place) for place in range(len(names))]
    points, both = [], []
    for language in LEVELS:
        inside = (names == language).tolist()
        points.append(part_contrast(own - np.mean(others, axis=0), inside, clusters))
        odds = log_odds_contrast(own.tolist(), [one.tolist() for one in others], inside, clusters)
        both.append(on_both_scales(points[-1], odds))
    return points, both


def main() -> None:
    """Print the share of runs with a claim of each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument(
        "--tests", type=int, default=len(LEVELS), help="Number of tests that p values are adjusted for."
    )
    chosen = parser.parse_args()
    print("setting | a claim | by points alone | the planted one")  # noqa: T201 - a script
    for setting in SETTINGS:
        began = time.process_time()
        claimed, by_points, planted = 0, 0, 0
        for run in range(chosen.runs):
            points, both = contrasts(setting, np.random.default_rng([2, run]))
            # Further tests that find nothing: those of the rest of the page.
            silent = [one._replace(p_value=1.0) for one in both[:1]] * max(0, chosen.tests - len(both))
            found = with_holm([*both, *silent])[: len(both)]
            claimed += any(one.distinguishable for one in found)
            by_points += any(one.distinguishable for one in with_holm([*points, *silent]))
            place = list(LEVELS).index(setting.language)
            planted += found[place].distinguishable and found[place].difference > 0
        shown = f"{planted / chosen.runs:.1%}" if setting.strength else "-"
        print(  # noqa: T201
            f"{setting.name} | {claimed / chosen.runs:.1%} | {by_points / chosen.runs:.1%} | {shown}"
            f" | {time.process_time() - began:.0f} s"
        )


if __name__ == "__main__":
    main()
