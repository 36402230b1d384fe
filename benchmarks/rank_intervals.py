"""Coverage and width of rank intervals on simulated boards: max-T against Holm over the same sign flips.

    python benchmarks/rank_intervals.py --boards 400

A model's interval runs from 1 + the models that are shown to be better to the number of models - those shown to be
worse. A board counts as covered if the intervals of all models hold their true ranks; of models that are truly tied,
all ranks that they share. Wanted: at least 93 % of the boards of each setting, 94.5 % of all.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.intervals import ResamplingUnits, units_of
from caretbench.metrics.paired import family_p_values
from caretbench.people.study_statistics.contrasts import holm


class Setting(NamedTuple):
    """Simulated board: numbers of models, problems of each cluster, and models with the same ability."""

    title: str
    models: int
    sizes: tuple[int, ...]
    tied: int = 1


_UNEVEN: Final = (60, 50, 40, 30, 25, 20, *(10,) * 9, *(5,) * 10, *(3,) * 15)
_HOLM_EACH: Final = 10
"""Holm's 10,000 flips cost five times as much, so one board of ten has them."""

SETTINGS: Final = tuple(
    Setting(f"{models} models, {title}", models, sizes, tied or models)
    for models in (20, 40)
    for title, sizes, tied in (
        ("40 clusters of 10", (10,) * 40, 1),
        ("uneven clusters", _UNEVEN, 1),
        ("10 clusters of 40", (40,) * 10, 1),
        ("300 single problems", (1,) * 300, 1),
        ("ties of five", (10,) * 40, 5),
        ("all tied", (10,) * 40, 0),
        ("all tied, uneven clusters", _UNEVEN, 0),
        ("all tied, 10 clusters", (40,) * 10, 0),
    )
)


def answers_of(
    setting: Setting, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Return abilities, answers (models x problems; 0 or 1) and clusters of one board.

    Difficulty has a standard deviation of 1.5 and is common to all models; clusters move all models (0.5) and each of
    them (0.25), which gives paired differences an intraclass correlation of about 0.02. Rates are 45 to 75 %.
    """
    levels = np.linspace(-0.25, 1.6, -(-setting.models // setting.tied))
    abilities = np.repeat(levels, setting.tied)[: setting.models]
    clusters = np.repeat(np.arange(len(setting.sizes)), setting.sizes)
    shared = rng.normal(0, 0.5, len(setting.sizes))[clusters] - rng.normal(0, 1.5, len(clusters))
    own = rng.normal(0, 0.25, (setting.models, len(setting.sizes)))[:, clusters]
    chances = 1 / (1 + np.exp(-(abilities[:, None] + shared + own)))
    return abilities, (rng.random(chances.shape) < chances).astype(np.float64), [f"{code:03}" for code in clusters]


def widths(
    abilities: NDArray[np.float64], differences: NDArray[np.float64], p_values: NDArray[np.float64]
) -> tuple[bool, float]:
    """Return whether all intervals hold the true ranks, and their mean width in ranks."""
    number = len(abilities)
    first, second = np.triu_indices(number, 1)
    shown = np.zeros((number, number), dtype=bool)
    shown[first, second] = (p_values < 0.05) & (differences > 0)
    shown[second, first] = (p_values < 0.05) & (differences < 0)
    true = abilities[:, None] < abilities[None, :]
    covered = not (shown & ~true).any()
    return covered, float(np.mean(number - shown.sum(axis=1) - shown.sum(axis=0)))


def _holm(family: Sequence[ResamplingUnits], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return Holm's p values over 10,000 flips, the same ones for all pairs; every pair has the same units."""
    sums = np.stack([units.sums for units in family])
    extreme = np.ones(len(family))
    for _ in range(10):
        flips = rng.integers(0, 2, (sums.shape[1], 1_000)) * 2.0 - 1.0
        extreme += (np.abs(sums @ flips) >= np.abs(sums.sum(axis=1))[:, None] - 1e-9).sum(axis=1)
    return np.asarray(holm([float(value) for value in extreme / 10_001]))


def simulate(setting: Setting, boards: int, seed: int) -> str:
    """Return the row of a setting: covered boards and mean width by max-T and Holm, and CPU for a board."""
    rng = np.random.default_rng(seed)
    found: list[list[tuple[bool, float]]] = [[], []]
    spent = 0.0
    for board in range(boards):
        abilities, answers, clusters = answers_of(setting, rng)
        started = time.process_time()
        pairs = list(combinations(range(setting.models), 2))
        family = [units_of(answers[second] - answers[first], clusters) for first, second in pairs]
        values = np.asarray(family_p_values(family, board))
        spent += time.process_time() - started
        differences = np.asarray([units.mean for units in family])
        found[0].append(widths(abilities, differences, values))
        if board < boards // _HOLM_EACH:
            found[1].append(widths(abilities, differences, _holm(family, rng)))
    held, holm_held = (np.mean([one[0] for one in side]) for side in found)
    width, holm_width = (np.mean([one[1] for one in side]) for side in found)
    alike = np.mean([one[1] for one in found[0][: len(found[1])]])
    return (
        f"| {setting.title} | {100 * held:.1f} % | {width:.1f} | {100 * holm_held:.1f} % of {len(found[1])} | "
        f"{holm_width:.1f} ({alike:.1f}) | {1000 * spent / boards:.0f} |"
    )


def main() -> None:
    """Print a table with a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=400, help="simulated boards of each setting")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.stdout.write("| board | max-T: all inside | width | Holm: all inside | width (max-T, same boards) | CPU ms |\n")
    for setting in SETTINGS:
        sys.stdout.write(f"{simulate(setting, arguments.boards, arguments.seed)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
