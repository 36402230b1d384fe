"""Power of paired comparisons: the smallest difference that they find, and the number of problems for a given one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.intervals import Floats, ResamplingUnits, units_of
from caretbench.metrics.paired import Pair, flips_of

POWER: Final = 0.8
"""Share of comparisons that find a difference of the printed size."""

SPREAD: Final = 0.3
"""Standard deviation of the difference of near models on a problem; .25 to .40 in DevBench and SWE-bench."""
_SHARED: Final = 0.02
"""Intraclass correlation of paired differences in a cluster: .017 by simulation, .019 in SWE-bench by repository."""

_DRAWS: Final = 2_000
"""Number of simulated comparisons: the power of one difference has a standard error of 0.9 points."""
_REFINEMENTS: Final = 5
"""Number of such sets that decide in the end: a step of one problem in 400 changes the power by 2 points."""
_FLIPPED_UNITS: Final = 60
"""Maximum number of units whose signs are flipped; with more, the normal quantile and the kurtosis give the bound."""
_FEW_DIFFER: Final = 20
"""Number of groups that differ below which, if most do not, these count and not how much each differs."""
_FLIPS: Final = 500
"""Number of flips of one simulated comparison: over all of them, its p value is as good as that of 2,000."""
_LEVEL: Final = 0.05
_Z, _Z_POWER = 1.959964, 0.841621
"""Normal quantiles of a two-sided test at 5 %, and of a power of 80 %."""


class Power(NamedTuple):
    """Power of a comparison like one that was made: the same problems, the same rate of disagreement."""

    smallest: float | None
    """Smallest difference, in steps of one problem, that is found in 8 of 10 such comparisons; None: no difference."""
    needed: int
    """Number of problems with which a difference of ``target`` is found, rounded up to two digits."""
    target: float


def power_of(pair: Pair, target: float, *, seed: int, critical: float | None = None) -> Power:
    """Return the power of a comparison by the scores of one on the same problems.

    Exact where each problem differs by one amount, or not, and is a group of its own (McNemar): the number of problems
    that differ is binomial, with the share of this run; of these, one model wins so many more that the difference
    results. Else the groups of this run are drawn with replacement, moved so that their mean is the wanted difference
    and their problems' mean square is as it was, and each draw is tested. Models that differ on fewer problems than the
    difference asks for are taken to differ on just so many.

    Args:
        pair: Scores of both.
        target: Difference for which the number of problems is wanted, greater than 0 and at most 1.
        seed: Random seed of draws and flips.
        critical: Bound of the test's statistic (sum by root of the sum of squares) where it is one of a family; by
            default the test stands alone.

    Raises:
        ValueError: as :func:`caretbench.metrics.intervals.units_of`; the target is not between 0 and 1.
    """
    if not 0 < target <= 1:
        raise ValueError(f"a difference of {target} is none between two rates")
    differences = np.asarray(pair.second, dtype=np.float64) - np.asarray(pair.first, dtype=np.float64)
    units = units_of(differences, pair.clusters, pair.overlap_groups)
    amounts = np.abs(units.sums[np.abs(units.sums) > 1e-9])
    size = units.problems / units.number
    step = float(np.sqrt((amounts**2).mean())) / size if amounts.size else 1.0
    alike = not units.clustered and bool(np.all(np.abs(amounts - step) < 1e-9))
    if alike or (amounts.size < _FEW_DIFFER and 2 * amounts.size < units.number):
        return _exact_power(units.number, size, amounts.size / units.number, (step, target), critical)
    groups = _Groups.of(units, differences)
    smallest = groups.smallest(units.problems, seed, critical)
    needed = _rounded_up(groups.needed(target, critical) * size)
    return Power(None if smallest is None else smallest / units.problems, needed, target)


def planned_problems(difference: float, sizes: Sequence[int]) -> int | None:
    """Return the number of problems that find a difference, before any run: by :data:`SPREAD` and the data's groups.

    ``sizes`` are the numbers of problems by group; a part of the problems is drawn from all groups. None: all problems
    of these groups are too few.
    """
    alone = _planned_alone(difference)
    total = sum(sizes)
    mean = sum(size * size for size in sizes) / total
    # With n of all problems a group has its share of them, and its design effect is 1 + (size - 1) x correlation.
    share = 1 - alone * _SHARED * mean / total
    wanted = alone * (1 - _SHARED) / share if share > 0 else math.inf
    wanted = max(wanted, alone)  # groups of less than one problem do not help
    return math.ceil(wanted - 1e-9) if wanted <= total else None


@lru_cache
def _planned_alone(difference: float) -> int:
    """Return the number of independent problems that find a difference by the exact test."""
    about = ((_Z + _Z_POWER) * SPREAD / difference) ** 2
    # Without the test 14 problems promised .23; a comparison of 14 finds .57, since five that differ decide nothing.
    share = min(1.0, SPREAD**2 + difference**2)
    needed = _least(lambda count: _mcnemar_power(count, share, difference, None), 2 * round(about) + 50, round(about))
    return needed or math.ceil(about)


def _exact_power(number: int, size: float, share: float, amounts: tuple[float, float], critical: float | None) -> Power:
    """Return the power over a number of units of which a share differs, each by one amount; then the target."""
    step, target = amounts
    smallest = _least(
        lambda count: _mcnemar_power(number, share, count / number / step, critical),
        math.floor(number * step + 1e-9),
        round((_Z + _Z_POWER) * step * math.sqrt(share * number)),
    )
    wanted = min(1.0, target / step)
    about = math.ceil((max(critical or 0.0, _Z) + _Z_POWER) ** 2 * max(share, wanted) / wanted**2)
    needed = _least(lambda count: _mcnemar_power(count, share, wanted, critical), 4 * about + 50, about)
    return Power(None if smallest is None else smallest / number, _rounded_up((needed or 4 * about) * size), target)


def _least(power: Callable[[int], float], most: int, about: int) -> int | None:
    """Return the least count, near ``about``, with the wanted power; None if ``most`` does not have it."""
    low, high = 0, min(most, 2 * max(1, about))
    if power(high) < POWER:
        low, high = high, most
        if low == most or power(most) < POWER:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def _mcnemar_power(number: int, share: float, difference: float, critical: float | None) -> float:
    """Return the chance that the exact test finds a difference, if a share of the problems differs."""
    share = max(share, difference)
    spread = 8 * math.sqrt(number * share * (1 - share)) + 8
    first, last = max(0, math.floor(number * share - spread)), min(number, math.ceil(number * share + spread))
    discordant = np.arange(first, last + 1)
    losses = np.arange(last // 2 + 1)
    lost = _binomial(losses, discordant[:, None], (1 - difference / share) / 2)
    significant = 2 * np.cumsum(_binomial(losses, discordant[:, None], 0.5), axis=1) < _LEVEL
    if critical is not None:
        # In addition: three models without one right answer have the bound 0, and two problems of 72 were "found".
        significant &= discordant[:, None] - 2 * losses >= critical * np.sqrt(discordant)[:, None]
    return float(_binomial(discordant, np.asarray(number), share) @ np.where(significant, lost, 0.0).sum(axis=1))


def _binomial(successes: NDArray[np.int_], trials: NDArray[np.int_], chance: float) -> Floats:
    """Return binomial probabilities; 0 for more successes than trials."""
    logs = _log_factorials(1 << int(trials.max() + 1).bit_length())
    failures = trials - successes
    inside = failures >= 0
    failures = np.where(inside, failures, 0)
    values = logs[trials] - logs[successes] - logs[failures]
    for count, probability in ((successes, chance), (failures, 1 - chance)):
        values = values + (count * math.log(probability) if probability > 0 else np.where(count > 0, -np.inf, 0.0))
    probabilities: Floats = np.where(inside, np.exp(values), 0.0)
    return probabilities


# scipy.special would take longer to load than a report.
@lru_cache(maxsize=4)
def _log_factorials(number: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number)))])


class _Groups(NamedTuple):
    """Groups of problems: sums of differences without their mean, sizes; the problems' mean, mean square and size."""

    sums: Floats
    sizes: Floats
    mean: float
    square: float
    size: float
    """Mean absolute difference: the greatest difference of models that disagree as much as before."""

    @classmethod
    def of(cls, units: ResamplingUnits, differences: Floats) -> Self:
        """Return groups of which the better model is the second one: others are looked for in that direction."""
        sign = -1.0 if units.mean < 0 else 1.0
        sums, size = sign * (units.sums - units.mean * units.sizes), float(np.abs(differences).mean())
        return cls(sums, units.sizes, abs(units.mean), float((differences**2).mean()), size)

    @property
    def error(self) -> float:
        """Standard error of the mean difference."""
        return float(np.sqrt((self.sums**2).sum()) / self.sizes.sum())

    def at(self, difference: float) -> Floats:
        """Return the sums of groups whose problems differ by so much in the mean, and disagree as much as before."""
        spread = max(0.0, self.square * max(1.0, difference / self.size) - difference**2)
        return self.sums * math.sqrt(spread / max(self.square - self.mean**2, 1e-12)) + difference * self.sizes

    def needed(self, difference: float, critical: float | None) -> int:
        """Return the number of groups for a difference: the normal approximation, with Student's quantile."""
        ratio = float((self.at(difference) - difference * self.sizes).var()) / (difference * self.sizes.mean()) ** 2
        number = 6.0
        for _ in range(4):
            # Cornish and Fisher's first term of Student's quantile.
            quantile = max(critical or 0.0, _Z + (_Z**3 + _Z) / (4 * (number - 1)))
            number = max(6.0, (quantile + _Z_POWER) ** 2 * ratio)
        return math.ceil(number)

    def smallest(self, problems: int, seed: int, critical: float | None) -> int | None:
        """Return the smallest difference that is found, in problems."""
        about = round((_Z + _Z_POWER) * self.error * problems)
        smallest = _least(lambda count: self.power(count / problems, seed, critical), problems, about)

        def is_found(count: int) -> bool:
            powers = [self.power(count / problems, seed + further, critical) for further in range(_REFINEMENTS)]
            return sum(powers) / len(powers) >= POWER

        while smallest is not None and smallest > 1 and is_found(smallest - 1):
            smallest -= 1
        while smallest is not None and smallest < problems and not is_found(smallest):
            smallest += 1
        return smallest

    def power(self, difference: float, seed: int, critical: float | None) -> float:
        """Return the share of draws of the groups in which the test finds a difference."""
        values = self.at(difference)
        counts = _drawn_groups(len(values), seed).astype(np.float64)
        scale = np.sqrt(counts @ values**2)
        scale[scale == 0] = 1.0
        statistic = counts @ values / scale
        if critical is not None:
            # A family's bound is lower than that of one test where its models hardly differ. By flips of signs alone,
            # fewer than six groups that differ decide nothing (paired.is_decidable).
            decided = 2.0 ** (1 - counts @ (values != 0)) < _LEVEL
            return float((decided & (statistic >= max(critical, _Z) - 1e-9)).mean())
        if len(values) > _FLIPPED_UNITS:
            kurtosis = -2 * (counts @ values**4) / scale**4
            return float((statistic >= _Z + kurtosis * (_Z**3 - 3 * _Z) / 24).mean())
        drawn = (values[_drawn_places(len(values), seed)] / scale[:, None]).astype(np.float32)
        signs, seen = flips_of(len(values), seed)
        signs = signs if seen else signs[:, :_FLIPS]
        flipped = np.abs(drawn @ signs.astype(np.float32))
        extreme = (flipped >= np.abs(statistic)[:, None].astype(np.float32) - np.float32(1e-5)).sum(axis=1)
        p_values = extreme / signs.shape[1] if seen else (1 + extreme) / (1 + _FLIPS)
        return float(((p_values < _LEVEL) & (statistic > 0)).mean())


def _drawn_places(number: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, number, size=(_DRAWS, number))


# All pairs of models have the same groups.
@lru_cache(maxsize=_REFINEMENTS)
def _drawn_groups(number: int, seed: int) -> NDArray[np.uint8]:
    """Return how often each group comes in each draw."""
    places = _drawn_places(number, seed) + np.arange(_DRAWS)[:, None] * number
    return np.bincount(places.ravel(), minlength=_DRAWS * number).reshape(_DRAWS, number).astype(np.uint8)


def _rounded_up(number: float) -> int:
    """Return a number of problems with two significant digits."""
    unit: int = 10 ** max(0, len(str(math.ceil(number))) - 2)
    return math.ceil(number / unit - 1e-9) * unit
