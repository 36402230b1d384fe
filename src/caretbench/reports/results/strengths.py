"""Values of a model's strengths and of generator bias in a report, which the people wing computes."""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.metrics.paired import without_difference
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.results.paired_models import ComparisonRow

PASSES = "passes"
SIMILARITY = "similarity"


class PartContrast(ReportValue):
    """Difference to the field in a part of the problems, minus that in all others, in rates and in log odds.

    ``p_value`` is the greater one of both scales, adjusted (Holm). The contrast is distinguishable if it is on both
    scales, in the same direction.
    """

    difference: float
    low: float
    high: float
    log_odds: float
    log_odds_low: float
    log_odds_high: float
    p_value: float
    family: int
    distinguishable: bool


class StrengthTest(ReportValue):
    """Paired test of a model against the field: on all problems, a part of them, or of a kind of answers.

    ``measure`` is ``passes``, ``similarity``, or the kind of answers whose share is compared. ``title`` is the part or
    the kind in words.
    """

    measure: str
    title: str
    row: ComparisonRow
    contrast: PartContrast | None = None


class LanguageNumbers(ReportValue):
    """Numbers of a model in one language."""

    language: str
    rate: ReportedNumber
    empty: float | None = None
    """Rate of the empty answer on the same problems."""
    skill: ReportedNumber | None = None
    """Rate above the empty answer: (rate - empty) / (1 - empty)."""


class ModelStrengths(ReportValue):
    """Strengths and weaknesses of a model against the field: the other models of a run.

    P values are for families of tests: passes over all problems, passes by part, similarities with kinds of answers,
    contrasts of parts.
    """

    model: str
    field: tuple[str, ...]
    overall: tuple[StrengthTest, ...] = ()
    passes: tuple[StrengthTest, ...] = ()
    similarity: tuple[StrengthTest, ...] = ()
    answers: tuple[StrengthTest, ...] = ()
    """Shares of answers: similar and failing, dissimilar and passing, and error kinds."""
    languages: tuple[LanguageNumbers, ...] = ()
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[StrengthTest, ...]:
        """All tests."""
        return (*self.overall, *self.passes, *self.similarity, *self.answers)

    @property
    def contrasts(self) -> tuple[PartContrast, ...]:
        """All contrasts of parts with the rest."""
        return tuple(test.contrast for test in self.passes if test.contrast is not None)


class BiasRow(ReportValue):
    """Bias towards own problems of all families, a family or a model. Differences of rates run from -1 to 1.

    A bias is ``claimed`` if it is distinguishable in points and in log odds, in the same direction. P values are
    adjusted separately for families and models.
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


class GeneratorBias(ReportValue):
    """Generator bias of a run; ``problems`` and ``models`` are numbers by family."""

    problems: Mapping[str, int]
    models: Mapping[str, tuple[str, ...]]
    unknown_models: tuple[str, ...] = ()
    """Models whose family is not known; they do not count."""
    overall: BiasRow
    families: tuple[BiasRow, ...] = ()
    by_model: tuple[BiasRow, ...] = ()
