"""Values of a report's head: ranked models, and the differences that a paired, corrected test finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.results.paired_models import ComparisonRow


class HeadMeasure(ReportValue):
    """Measure of a part of the head: pass@1, a share of the suite's own, or a similarity if no program was run.

    ``about`` is its meaning in one line. ``similarity`` is the name of a similarity in a column's cells.
    """

    title: str
    about: str
    similarity: str | None = None


class RankedModel(ReportValue):
    """Model or baseline with its number, the median seconds to the first and last token, and the cost of an answer."""

    title: str
    baseline: bool
    knows_answer: bool = False
    """True for the reference, which is a ceiling and no floor."""
    estimate: ReportedNumber
    beside: ReportedNumber | None = None
    """The same rate over the part's other problems, which stand beside those that lead."""
    empty: float | None = None
    """Share of the model's answers that are empty, from 0 to 1."""
    below: tuple[str, ...] = ()
    """Titles of the baselines, but the reference, that have a higher rate on all problems that both have."""
    first_token_s: float | None = None
    last_token_s: float | None = None
    cost: float | None = None


class HeadPart(ReportValue):
    """Measure over a part of the problems: over all of them, unless the suite keeps some apart."""

    measure: HeadMeasure
    labels: Mapping[str, str] = Field(default_factory=dict)
    title: str = ""
    """Title of the part in words; empty if the suite keeps none apart."""
    heading: str = ""
    """Title in the head: that, or the measure's where there are several; empty if the head has one part."""
    ranking: tuple[RankedModel, ...]
    """Models and baselines, the best first."""
    counted: str = ""
    """Problems that the ranked numbers are over, in words, if these are not all: ``valid problems``."""
    beside: str = ""
    """Problems that stand beside, in words; empty if all problems need an answer."""
    counting: str = ""
    """Meaning of these words, in one sentence."""
    baseline: ComparisonRow | None = None
    """Comparison of the best model with the strongest baseline that does not know the answer, over all problems."""
    pairs: tuple[ComparisonRow, ...] = ()
    """All pairs of models, with p values for the pairs of all parts together."""

    @property
    def about(self) -> str:
        """Meaning of the ranked numbers, in one or two sentences."""
        return " ".join(filter(None, (f"{self.measure.about}.", self.counting)))

    @property
    def models(self) -> tuple[RankedModel, ...]:
        """Models of the ranking, without baselines."""
        return tuple(entry for entry in self.ranking if not entry.baseline)

    @property
    def others(self) -> tuple[ComparisonRow, ...]:
        """Comparisons of the best model with the others, in order of their numbers."""
        return against_best(self.pairs)


def against_best(pairs: Sequence[ComparisonRow]) -> tuple[ComparisonRow, ...]:
    """Return the comparisons of the first model with the others."""
    return tuple(row for row in pairs if row.first == pairs[0].first)


class ReportHead(ReportValue):
    """Head of a report: a part for each rate that the suite keeps apart.

    ``without_score`` are the reasons why the suite's own score is not known, each with its remedy. ``failed`` are the
    models with too few verdicts, each with its coverage. ``overall`` are the pairs of models over the problems of all
    parts, where a suite keeps parts apart for which one difference makes sense: the same models, problem by problem.
    """

    parts: tuple[HeadPart, ...]
    overall: tuple[ComparisonRow, ...] = ()
    failed: tuple[str, ...] = ()
    without_score: tuple[str, ...] = ()
