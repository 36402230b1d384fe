"""Test of a judge against people (``alternative annotator test``): whether it may take the place of one of them.

Every person is compared with the judge in turn: at each item, which of the two is nearer to the other people? The judge
*wins* against a person if it is as near at least, up to ``epsilon``, by a one-sided test.

Source: Calderon, Reichart and Dror, ``The alternative annotator test for LLM-as-a-judge`` (2025), arXiv 2501.10970.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

import numpy as np

from caretbench.metrics.agreement.coefficients import Rating
from caretbench.metrics.intervals import Floats

Item = TypeVar("Item", str, tuple[str, str])
"""Key of an item."""

EPSILON: Final = 0.15
"""Advantage that is granted to a judge, since it costs less than a person: the source's value for skilled people."""

# A judge is compared with each person by how near both are to the others: with two people, one would be the yardstick.
MINIMUM_PEOPLE: Final = 3
# Wilcoxon's approximation needs some ranks; with fewer, one item decides.
MINIMUM_ITEMS: Final = 10
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
    few = {person: len(pairs) for person, pairs in gains.items() if len(pairs) < MINIMUM_ITEMS}
    if few:
        person, number = min(few.items())
        return ReplacementTest(
            (), None, None, f"needs {MINIMUM_ITEMS} items that {person} and others rated, found {number}"
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
    for item, own in sorted(people[person].items()):
        others = [given[item] for name, given in people.items() if name != person and item in given]
        # An item that nobody else rated has nothing to be near to.
        if item in judge and others:
            ours, theirs = _nearness(judge[item], others), _nearness(own, others)
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
