"""Values of generator bias in a report: differences of differences by family and model."""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.metrics.paired import without_difference
from caretbench.reports.estimates import ReportValue


class BiasRow(ReportValue):
    """Bias towards own problems of all families, a family or a model. Differences of rates run from -1 to 1.

    A bias is ``claimed`` if it is distinguishable in points and in log odds, in the same direction. P values are
    adjusted (Holm), separately for families and models.
    """

    name: str
    scenarios: int
    bias: float
    low: float | None
    high: float | None
    p_value: float
    log_odds: float
    log_odds_low: float
    log_odds_high: float
    log_odds_p_value: float
    smallest: float | None
    """Smallest bias that so many scenarios find in 80 % of cases; None if one scenario tells nothing."""
    claimed: bool

    @property
    def verdict(self) -> str:
        """Conclusion: a bias for or against own problems, or why there is none to be seen."""
        if not self.claimed:
            return without_difference(self.scenarios)
        return "favours its own" if self.bias > 0 else "disfavours its own"


class OwnFamilyProblem(ReportValue):
    """Problem that only models of its generator's family solve."""

    problem_id: str
    family: str
    models: tuple[str, ...]
    """Models that pass it in at least half of their samples."""


class GeneratorBias(ReportValue):
    """Generator bias of a run.

    ``problems`` and ``models`` are numbers by family. ``only_others`` is the number of problems that only models of
    other families solve, to compare with the number of ``only_own``.
    """

    problems: Mapping[str, int]
    models: Mapping[str, tuple[str, ...]]
    unknown_models: tuple[str, ...] = ()
    """Models whose family is not known; they do not count."""
    overall: BiasRow
    families: tuple[BiasRow, ...] = ()
    by_model: tuple[BiasRow, ...] = ()
    only_own: tuple[OwnFamilyProblem, ...] = ()
    only_others: int = 0
