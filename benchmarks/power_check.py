"""Power of simulated comparisons at the printed smallest difference, and one step below.

    python benchmarks/power_check.py            # 12 settings; --only samples for some of them
    python benchmarks/power_check.py --models   # runs of simulated models instead

Each setting is one run. Further comparisons draw its problems, or whole clusters, with replacement and move them to the
difference: losses become gains until the mean fits (problems on their own), or all values of a cluster move and spread
so that models disagree as much as before (clusters). Each is tested by ``compare``, test and bootstrap, and counts if
the right model is found. Wanted: at least 79 % at the printed difference, below 81 % one step (1 / problems) lower.
With ``--models`` each run prints its difference, and the next run of two models that truly differ by as much is tested.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.paired import Pair, compare
from caretbench.metrics.power import power_of

Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """Run of two simulated models: sizes of clusters, samples of a problem, abilities in log odds."""

    title: str
    sizes: tuple[int, ...]
    samples: int = 1
    ability: float = 0.2
    spread: float = 1.5


_UNEVEN: Final = (60, 50, 40, 30, 25, 20, *(10,) * 9, *(5,) * 10, *(3,) * 15)
SETTINGS: Final = (
    Setting("single: 72 problems", (1,) * 72),
    Setting("single: 300 problems", (1,) * 300),
    Setting("single: 300 problems, few differ", (1,) * 300, spread=6.0),
    Setting("single: 300 problems, one far better", (1,) * 300, ability=1.5),
    Setting("single: 1,600 problems", (1,) * 1600),
    Setting("samples: 60 problems × 5", (1,) * 60, samples=5),
    Setting("samples: 300 problems × 5", (1,) * 300, samples=5),
    Setting("clusters: 8 of 20", (20,) * 8),
    Setting("clusters: 17 of 7", (7,) * 17),
    Setting("clusters: 40 of 10", (10,) * 40),
    Setting("clusters: 40, uneven", _UNEVEN),
    Setting("clusters: 100 of 6 × 3", (6,) * 100, samples=3),
)


def differences_of(setting: Setting, rng: np.random.Generator, ability: float | None = None) -> Floats:
    """Return the differences of two models by problem; clusters and models as in ``rank_intervals.py``."""
    clusters = np.repeat(np.arange(len(setting.sizes)), setting.sizes)
    shared = rng.normal(0, 0.5, len(setting.sizes))[clusters] - rng.normal(0, setting.spread, len(clusters))
    own = rng.normal(0, 0.25, (2, len(setting.sizes)))[:, clusters]
    abilities = np.array([[0.6], [0.6 + (setting.ability if ability is None else ability)]])
    chances = 1 / (1 + np.exp(-(abilities + shared + own)))
    passes = rng.binomial(setting.samples, chances) / setting.samples
    return np.asarray(passes[1] - passes[0], dtype=np.float64)


def names_of(setting: Setting) -> list[str] | None:
    """Return the cluster of each problem; None if each is one of its own."""
    if max(setting.sizes) == 1:
        return None
    return [f"{code:03}" for code in np.repeat(np.arange(len(setting.sizes)), setting.sizes)]


def pair_of(differences: Floats, clusters: list[str] | None) -> Pair:
    """Return scores with these differences; clusters are overlap groups, too, so that few of them stay whole."""
    return Pair([0.0] * len(differences), differences.tolist(), clusters, clusters)


def is_found(differences: Floats, clusters: list[str] | None, seed: int) -> bool:
    """Return whether the comparison finds that the second model is better."""
    pair = pair_of(differences, clusters)
    found = compare(pair.first, pair.second, seed=seed, clusters=clusters, overlap_groups=clusters)
    return found.distinguishable and found.difference > 0


@cache
def _found_singly(number: int, gains: int, losses: int) -> bool:
    # 20,000 comparisons of single problems have some hundred different results.
    return is_found(np.repeat([1.0, -1.0, 0.0], [gains, losses, number - gains - losses]), None, 0)


def drawn(
    setting: Setting, run: Floats, difference: float, rng: np.random.Generator
) -> tuple[Floats, list[str] | None]:
    """Return the differences of a further comparison of models that differ by so much, and its clusters."""
    run = run if run.mean() >= 0 else -run
    clusters = names_of(setting)
    if clusters is None:
        losses, wanted = -run.clip(max=0).mean(), (difference - run.mean()) / 2
        values = run[rng.integers(0, len(run), len(run))]
        share = wanted / losses if wanted > 0 else -wanted / run.clip(min=0).mean()
        turned = (values < 0 if wanted > 0 else values > 0) & (rng.random(len(run)) < share)
        return np.where(turned, -values, values), None
    square = np.mean(run**2)
    moved = (run - run.mean()) * np.sqrt((square - difference**2) / (square - run.mean() ** 2)) + difference
    ends = np.cumsum(setting.sizes)
    chosen = rng.integers(0, len(ends), len(ends))
    values = [moved[ends[place] - setting.sizes[place] : ends[place]] for place in chosen]
    return np.concatenate(values), [f"{code:03}" for code, part in enumerate(values) for _ in part]


def share_found(setting: Setting, run: Floats, difference: float, cases: int) -> float:
    """Return the share of comparisons that find this difference."""
    rng, found = np.random.default_rng(7), 0
    for case in range(cases):
        values, clusters = drawn(setting, run, difference, rng)
        if setting.samples == 1 and clusters is None:
            found += _found_singly(len(values), int((values > 0).sum()), int((values < 0).sum()))
        else:
            found += is_found(values, clusters, case)
    return found / cases


def check(setting: Setting, cases: int) -> str:
    """Return the row of a setting."""
    run = differences_of(setting, np.random.default_rng(1))
    power = power_of(pair_of(run, names_of(setting)), 0.05, seed=1)
    smallest = power.smallest or math.inf
    number = cases if names_of(setting) is None else cases // 10
    shares = [share_found(setting, run, smallest - below / len(run), number) for below in (0, 1)]
    verdict = "" if shares[0] >= 0.79 and shares[1] < 0.81 else " MISSED"
    texts = (f"{100 * share:.1f}" for share in shares)
    return f"| {setting.title} | {100 * smallest:.1f} | {' | '.join(texts)}{verdict} | {power.needed:,} |"


def check_models(setting: Setting, runs: int) -> str:
    """Return the row of a setting: how often the next run finds the difference that a run printed."""
    rng, found, printed = np.random.default_rng(3), 0, []
    levels = np.linspace(0, 4, 41)
    clusters = names_of(setting)
    means = [np.mean([differences_of(setting, rng, level).mean() for _ in range(400)]) for level in levels]
    for case in range(runs):
        smallest = power_of(pair_of(differences_of(setting, rng), clusters), 0.05, seed=1).smallest or 1.0
        printed.append(smallest)
        found += is_found(differences_of(setting, rng, float(np.interp(smallest, means, levels))), clusters, case)
    return f"| {setting.title} | {100 * np.mean(printed):.1f} | {100 * found / runs:.1f} |"


def main() -> None:
    """Print a table with a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="comparisons of a row; a tenth of them by clusters")
    parser.add_argument("--models", action="store_true", help="check the next run of simulated models instead")
    parser.add_argument("--only", default="", help="beginning of a setting's title")
    arguments = parser.parse_args()
    row: Callable[[Setting, int], str] = check_models if arguments.models else check
    heads = "found (%)" if arguments.models else "found at it (%) | one step below (%) | problems for 5 points"
    sys.stdout.write(f"| run | smallest (points) | {heads} |\n")
    for setting in SETTINGS:
        if setting.title.startswith(arguments.only):
            sys.stdout.write(f"{row(setting, arguments.cases)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
