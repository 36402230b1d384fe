"""Agreement of raters, such as people or a judge and people, beyond what chance gives.

Every coefficient is 1 for perfect agreement and about 0 for chance, and None (*undefined*) where nothing can disagree.
The functions that end in ``_statistic`` are for intervals (:func:`item_estimate`): items are drawn anew by a seed, and
all ratings of an item stay together.

A test (``alternative annotator test``) tells whether a judge may take the place of one of several people.
Every person is compared with the judge in turn: at each item, which of the two is nearer to the other people? The judge
*wins* against a person if it is as near at least, up to ``epsilon``, by a one-sided test.

Source: Calderon, Reichart and Dror, ``The alternative annotator test for LLM-as-a-judge`` (2025), arXiv 2501.10970.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, Floats

ITEM_RESAMPLES: Final = 2_000
"""Default number of resamples."""

MINIMUM_ITEMS: Final = 3
"""Number of items below which there is no interval."""

_CELLS: Final = 2_000_000
"""Number of weights that are held at a time, which limits memory to some tens of megabytes."""


class ItemStatistic(NamedTuple):
    """Statistic over items, as a function of how often each item counts.

    Items with equal ratings are one column with a higher count, so that large tables cost little.
    """

    value: Callable[[Floats], Floats]
    """Function from weights (rows: samples, columns: distinct items) to the value of each row; NaN: undefined."""
    counts: Floats
    """Number of items of each column."""

    @property
    def items(self) -> int:
        """Number of items."""
        return round(float(self.counts.sum()))

    @property
    def estimate(self) -> float | None:
        """Value over the items, None where it is undefined."""
        return _defined(float(self.value(self.counts[None, :])[0])) if self.items else None


class ItemEstimate(NamedTuple):
    """Value with its confidence interval; the bounds are None where too few items or resamples have a value."""

    value: float | None
    low: float | None
    high: float | None
    items: int


def item_estimate(
    statistic: ItemStatistic, *, seed: int = 0, resamples: int = ITEM_RESAMPLES, confidence: float = CONFIDENCE
) -> ItemEstimate:
    """Return a statistic with its bootstrap interval over items (BCa).

    Source: Efron, "Better bootstrap confidence intervals" (1987), with the acceleration from the jackknife.
    """
    value = statistic.estimate
    if value is None or statistic.items < MINIMUM_ITEMS:
        return ItemEstimate(value, None, None, statistic.items)
    drawn = _resampled(statistic, seed, resamples)
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < resamples / 2:
        return ItemEstimate(value, None, None, statistic.items)
    low, high = _bca_bounds(drawn, value, _jackknifed(statistic), statistic.counts, confidence)
    return ItemEstimate(value, low, high, statistic.items)


def _resampled(statistic: ItemStatistic, seed: int, resamples: int) -> Floats:
    """Return the values over resamples of the items."""
    counts, total = statistic.counts, statistic.items
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // len(counts))
    parts = []
    for start in range(0, resamples, step):
        weights = rng.multinomial(total, counts / total, size=min(step, resamples - start))
        parts.append(statistic.value(weights.astype(np.float64)))
    values: Floats = np.concatenate(parts)
    return values


def _jackknifed(statistic: ItemStatistic) -> Floats:
    """Return the values without one item of each column."""
    columns = len(statistic.counts)
    step = max(1, _CELLS // columns)
    parts = []
    for start in range(0, columns, step):
        stop = min(start + step, columns)
        weights = np.repeat(statistic.counts[None, :], stop - start, axis=0)
        weights[np.arange(stop - start), np.arange(start, stop)] -= 1
        parts.append(statistic.value(weights))
    values: Floats = np.concatenate(parts)
    return values


def _bca_bounds(
    drawn: Floats, value: float, without_one: Floats, counts: Floats, confidence: float
) -> tuple[float, float]:
    normal = NormalDist()
    below = float((drawn < value).mean() + (drawn == value).mean() / 2)
    bias = normal.inv_cdf(min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))
    fits = np.isfinite(without_one)
    weights, values = counts[fits], without_one[fits]
    deviations = np.average(values, weights=weights) - values if len(values) else values
    squares = float((weights * deviations**2).sum())
    acceleration = float((weights * deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    bounds = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        shifted = bias + normal.inv_cdf(tail)
        share = normal.cdf(bias + shifted / (1 - acceleration * shifted)) if acceleration * shifted < 1 else tail
        bounds.append(float(np.quantile(drawn, min(max(share, 0.0), 1.0))))
    return min(bounds), max(bounds)


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None


Rating = float | str
"""Rating of an item: a number, or for nominal data also a text."""

AlphaLevel = Literal["nominal", "ordinal", "interval"]
"""Meaning of the ratings: names, ranks, or numbers whose differences count."""


ItemT = TypeVar("ItemT", bound=str | tuple[str, ...])


class _RatedItems(NamedTuple):
    """Ratings of items as counts: ``counts`` (items × levels), and the levels in order."""

    counts: Floats
    levels: Sequence[Rating]


def krippendorff_alpha(ratings: Sequence[Sequence[Rating | None]], level: AlphaLevel = "ordinal") -> float | None:
    """Return Krippendorff's alpha; None if nothing can disagree.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).

    Args:
        ratings: A row for each rater, a column for each item; None for a missing rating.
        level: Meaning of the ratings.

    Raises:
        ValueError: rows of different lengths, ratings that are not finite, or texts that are not nominal.
    """
    return alpha_statistic(ratings, level).estimate


def alpha_statistic(ratings: Sequence[Sequence[Rating | None]], level: AlphaLevel = "ordinal") -> ItemStatistic:
    """Return Krippendorff's alpha as a function of the items; errors as in :func:`krippendorff_alpha`."""
    rated = rated_items(ratings)
    if level != "nominal" and any(isinstance(value, str) for value in rated.levels):
        raise ValueError("ratings that are texts are nominal")
    patterns, numbers = distinct_rows(rated.counts[rated.counts.sum(axis=1) > 1])
    size = len(rated.levels)
    # Ordered pairs of ratings of one item, weighted so that an item counts by the number of its ratings.
    each = patterns[:, :, None] * patterns[:, None, :]
    each[:, np.arange(size), np.arange(size)] -= patterns
    each /= (patterns.sum(axis=1) - 1)[:, None, None] if len(patterns) else 1
    pairs = each.reshape(len(patterns), size * size)

    def value(weights: Floats) -> Floats:
        coincidences = (weights @ pairs).reshape(-1, size, size)
        totals = coincidences.sum(axis=2)
        distances = _distances(level, rated.levels, totals)
        observed = (coincidences * distances).sum(axis=(1, 2))
        by_chance = np.einsum("bi,bj,bij->b", totals, totals, distances) / (totals.sum(axis=1) - 1)
        return beyond_chance(observed, by_chance)

    return ItemStatistic(value, numbers)


def _distances(level: AlphaLevel, levels: Sequence[Rating], totals: Floats) -> Floats:
    """Return the squared distances of levels for each row of totals (rows × levels × levels)."""
    if level == "nominal":
        unequal: Floats = np.broadcast_to(1.0 - np.eye(len(levels)), (len(totals), len(levels), len(levels)))
        return unequal
    if level == "interval":
        places = np.broadcast_to(np.asarray(levels, dtype=np.float64), totals.shape)
    else:
        places = np.cumsum(totals, axis=1) - totals / 2
    squares: Floats = (places[:, :, None] - places[:, None, :]) ** 2
    return squares


def alpha_of_people(values: Mapping[ItemT, Mapping[str, float]]) -> float | None:
    """Return Krippendorff's ordinal alpha from values by item and person; None if it is undefined."""
    people = sorted({person for given in values.values() for person in given})
    return krippendorff_alpha([[given.get(person) for given in values.values()] for person in people])


def rated_items(ratings: Sequence[Sequence[Rating | None]]) -> _RatedItems:
    """Return the counts of each level for each item."""
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater needs a place for every item, None where there is no rating")
    levels = rating_levels([value for row in ratings for value in row if value is not None])
    counts = np.zeros((len(ratings[0]) if ratings else 0, len(levels)))
    for row in ratings:
        items = [index for index, value in enumerate(row) if value is not None]
        counts[items, rating_codes([value for value in row if value is not None], levels)] += 1
    return _RatedItems(counts, levels)


def rating_levels(values: Sequence[Rating]) -> list[Rating]:
    """Return the distinct ratings in order, numbers before texts."""
    distinct = set(values)
    numbers = [value for value in distinct if not isinstance(value, str)]
    if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
        raise ValueError("a rating is not finite; give None for a missing one")
    return [*sorted(numbers), *sorted(value for value in distinct if isinstance(value, str))]


def rating_codes(values: Sequence[Rating], levels: Sequence[Rating]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the place of each rating among the levels."""
    places = {value: index for index, value in enumerate(levels)}
    return np.fromiter((places[value] for value in values), dtype=np.intp, count=len(values))


def distinct_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Return the distinct rows, and how often each occurs."""
    if not len(rows):
        return rows, np.zeros(0)
    patterns, numbers = np.unique(rows, axis=0, return_counts=True)
    return patterns, numbers.astype(np.float64)


def beyond_chance(observed: Floats, by_chance: Floats) -> Floats:
    """Return 1 - observed / by chance; NaN where chance gives no disagreement."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(by_chance > 1e-12, 1 - observed / by_chance, np.nan)
    return ratio


Item = TypeVar("Item", str, tuple[str, str])
"""Key of an item."""

EPSILON: Final = 0.15
"""Advantage that is granted to a judge, since it costs less than a person: the source's value for skilled people."""

# A judge is compared with each person by how near both are to the others: with two people, one would be the yardstick.
MINIMUM_PEOPLE: Final = 3
# Wilcoxon's approximation needs some ranks; with fewer, one item decides.
FEWEST_COMPARED: Final = 10
"""Number of items with a person below which there is no test against this person."""

# The source's own rule: below 30 items the t distribution is not trusted, and ranks decide.
_T_TEST_ITEMS: Final = 30
# The source's values: a judge may replace people if it wins against half of them.
_FALSE_DISCOVERY_RATE: Final = 0.05
_WINNING_RATE: Final = 0.5


class PersonTest(NamedTuple):
    """Test of a judge against one person."""

    person: str
    items: int
    """Number of items that the judge, this person and another person rated."""
    advantage: float
    """Share of items at which the judge is as near to the others as the person, or nearer."""
    p_value: float
    """One-sided p value, without a correction."""
    wins: bool
    """True if the judge wins, by the rule of Benjamini and Yekutieli over all people."""


class ReplacementTest(NamedTuple):
    """Result of the test of one judge."""

    people: tuple[PersonTest, ...]
    winning_rate: float | None
    """Share of people against whom the judge wins; None without a test."""
    advantage: float | None
    """Mean of the people's ``advantage``."""
    reason: str = ""
    """Reason for which there is no test."""

    @property
    def passes(self) -> bool | None:
        """Return whether the judge may replace a person: a winning rate of at least 0.5; None without a test."""
        return None if self.winning_rate is None else self.winning_rate >= _WINNING_RATE


def replacement_test(
    judge: Mapping[Item, Rating], people: Mapping[str, Mapping[Item, Rating]], *, epsilon: float = EPSILON
) -> ReplacementTest:
    """Return the test of a judge against people.

    Numbers are compared by the root of the mean square of differences, texts by the share of equal ones.

    Args:
        judge: Ratings of the judge by item.
        people: Ratings by item of each person.
        epsilon: Advantage that is granted to the judge, 0 to 1.
    """
    if len(people) < MINIMUM_PEOPLE:
        return ReplacementTest((), None, None, f"needs {MINIMUM_PEOPLE} people, found {len(people)}")
    gains = {person: _gains(judge, person, people) for person in sorted(people)}
    few = {person: len(pairs) for person, pairs in gains.items() if len(pairs) < FEWEST_COMPARED}
    if few:
        person, number = min(few.items())
        return ReplacementTest(
            (), None, None, f"needs {FEWEST_COMPARED} items that {person} and others rated, found {number}"
        )
    p_values = [_p_value(pairs[:, 1] - pairs[:, 0], epsilon) for pairs in gains.values()]
    from scipy import stats  # takes half a second to load

    adjusted = stats.false_discovery_control(p_values, method="by")
    tests = tuple(
        PersonTest(person, len(pairs), float(pairs[:, 0].mean()), p_value, bool(corrected <= _FALSE_DISCOVERY_RATE))
        for (person, pairs), p_value, corrected in zip(gains.items(), p_values, adjusted, strict=True)
    )
    winning_rate = sum(test.wins for test in tests) / len(tests)
    return ReplacementTest(tests, winning_rate, math.fsum(test.advantage for test in tests) / len(tests))


def _gains(judge: Mapping[Item, Rating], person: str, people: Mapping[str, Mapping[Item, Rating]]) -> Floats:
    """Return for each item whether the judge, and the person, is as near to the others as the other one (0 or 1)."""
    rows = []
    for item, rating in sorted(people[person].items()):
        others = [given[item] for name, given in people.items() if name != person and item in given]
        # An item that nobody else rated has nothing to be near to.
        if item in judge and others:
            ours, theirs = _nearness(judge[item], others), _nearness(rating, others)
            rows.append((float(ours >= theirs), float(theirs >= ours)))
    return np.asarray(rows, dtype=np.float64).reshape(-1, 2)


def _nearness(rating: Rating, others: list[Rating]) -> float:
    if isinstance(rating, str):
        return sum(rating == other for other in others) / len(others)
    squares = [(float(rating) - float(other)) ** 2 for other in others]
    # Equal distances that were added in another order must tie.
    return -round(math.sqrt(math.fsum(squares) / len(squares)), 12)


def _p_value(differences: Floats, epsilon: float) -> float:
    """Return the p value of a mean difference below ``epsilon``: a t test, or Wilcoxon's for fewer than 30 items."""
    from scipy import stats

    shifted = differences - epsilon
    # Both tests divide by the spread; equal differences decide without one.
    if (shifted == shifted[0]).all():
        return 0.0 if shifted[0] < 0 else 1.0
    if len(shifted) < _T_TEST_ITEMS:
        return float(stats.wilcoxon(shifted, alternative="less", method="approx").pvalue)
    return float(stats.ttest_1samp(shifted, 0.0, alternative="less").pvalue)
