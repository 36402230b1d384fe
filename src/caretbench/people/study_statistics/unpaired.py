"""Unpaired tests of rates that are only known as numbers of a table, without the answers behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.metrics.paired import Comparison
from caretbench.people.study_statistics.part_contrast import normal_comparison


class KnownRate(NamedTuple):
    """Rate over a known number of problems, rounded by at most ``rounding``."""

    rate: float
    problems: int
    rounding: float = 0.0

    @property
    def error(self) -> float:
        """Maximum standard error: all samples of a problem count as one, since they may all be the same."""
        return math.sqrt(self.rate * (1 - self.rate) / self.problems)


def unpaired(first: KnownRate, second: KnownRate) -> Comparison:
    """Return the second rate minus the first, with the interval of independent samples.

    The same problems make two rates move together, which is not in the numbers: a paired test finds smaller
    differences. So "not distinguishable" here says that the numbers alone do not bear the difference.
    """
    error = math.hypot(first.error, second.error) + first.rounding + second.rounding
    number = min(first.problems, second.problems)
    return normal_comparison(second.rate - first.rate, error, n=number, groups=number)


def against_mean(rate: KnownRate, others: Sequence[KnownRate]) -> Comparison:
    """Return a rate minus the mean of others on the same problems.

    The others count as if they moved together, which is the widest that their mean can spread.

    Raises:
        UsageError: there are no others.
    """
    if not others:
        raise UsageError("a mean needs a rate")
    mean = math.fsum(other.rate for other in others) / len(others)
    spread = math.fsum(other.error for other in others) / len(others)
    error = math.hypot(rate.error, spread) + rate.rounding + max(other.rounding for other in others)
    return normal_comparison(rate.rate - mean, error, n=rate.problems, groups=rate.problems)
