"""Value types of reports on judges: scores at carets and of answers to questions, calibration, agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field

from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.judged.acceptance import VERSION, State
from caretbench.reports.judged.answer_values import RULE
from caretbench.runs.judging.result import COVERAGE_WANTED

NOT_VALIDATED = "not validated against people"


class JudgedCell(ReportValue):
    """Scores over one part of the problems; ``total`` first, the sub-scores for the whole only."""

    labels: Mapping[str, str] = Field(default_factory=dict)
    scores: Mapping[str, ReportedNumber]


class CaretScoreColumn(ReportValue):
    """One model's scores by one grader, or by all of them."""

    model: str
    parameters: str
    title: str
    baseline: bool
    grader: str
    samples: int
    """Completions that could be judged."""
    judged: int
    """Those of them that have a score."""
    overall: JudgedCell
    strata: Mapping[str, tuple[JudgedCell, ...]]


class ControlNumbers(ReportValue):
    """Control, judged by one grader. Separation: the probability that a reference is rated above the control."""

    mean: float
    separation: float | None = None
    reference_above: float | None = None
    """Share of problems whose reference is rated above the control of the same problem; ties count half."""


class GraderCounts(ReportValue):
    """One grader, and how many judgements it gave."""

    grader: str
    parameters: str
    title: str
    texts: int
    """Texts with a score."""
    judgements: int
    unreadable: int
    """Judgements that could not be read after all tries."""
    tried_again: int
    """Judgements that took more than one try."""
    missing: int
    """Judgements that did not come."""
    cost: float | None = None


class GraderNumbers(GraderCounts):
    """One grader of texts at carets: its repeats and controls."""

    repeat_deviation: float | None = None
    """Standard deviation of the sums that one text got in its repeats."""
    control_problems: int = 0
    controls: Mapping[str, ControlNumbers] = Field(default_factory=dict)
    in_order: bool | None = None
    """True if the controls' means are in the known order."""


class GraderPair(ReportValue):
    """Correlations of two graders' sums over the texts that both judged."""

    first: str
    second: str
    pearson: float | None
    spearman: float | None
    texts: int


class GraderHumanAgreement(ReportValue):
    """Agreement of a grader with people (``human_ratings.jsonl``), over the texts that both rated."""

    grader: str
    texts: int
    raters: int
    pearson: float | None
    spearman: float | None
    mean_difference: float
    alpha: float | None


class JudgedCriterion(ReportValue):
    """Base of the numbers of one criterion, with their validation by people."""

    people: tuple[GraderHumanAgreement, ...] = ()

    @property
    def validated(self) -> bool:
        """Return whether people rated some of the judged texts."""
        return bool(self.people)

    @property
    def validity(self) -> str:
        """Short statement of how far the scores are validated, shown wherever they are."""
        if not self.people:
            return NOT_VALIDATED
        least = min(self.people, key=lambda entry: -1.0 if entry.spearman is None else entry.spearman)
        shown = "undefined" if least.spearman is None else f"{least.spearman:.2f}"
        return f"Spearman {shown} with people over {least.texts} texts"


class CaretScores(JudgedCriterion):
    """All numbers of one criterion. ``columns`` are over all graders; ``by_grader`` is empty where there is one."""

    criterion: str
    scores: Mapping[str, float]
    """The maximum of every sub-score."""
    released: bool
    """True if the criterion is read and aggregated as in DevBench's released code."""
    only: str | None = None
    """``passed`` where only answers that passed are judged: the others are neither samples nor missing."""
    policy: str
    profile: str
    columns: tuple[CaretScoreColumn, ...]
    by_grader: tuple[CaretScoreColumn, ...] = ()
    graders: tuple[GraderNumbers, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the graders."""
    alpha_texts: int = 0
    pairs: tuple[GraderPair, ...] = ()

    @property
    def maximum(self) -> float:
        """Maximum sum."""
        return math.fsum(self.scores.values())


class AnswerScoreColumn(ReportValue):
    """One model under one criterion by one grader, or by all of them. ``value`` is the judge's score itself."""

    model: str
    parameters: str
    grader: str
    answers: int
    rated: int
    value: ReportedNumber | None
    parts: Mapping[str, float] = Field(default_factory=dict)
    """Means of the sub-scores, or of the number of statements by verdict."""
    strata: Mapping[str, Mapping[str, ReportedNumber]] = Field(default_factory=dict)
    says_nothing: int = 0
    """Answers that make no statement, where statements are judged."""
    claim_rate: float | None = None
    """The share of all statements that are hallucinations."""
    refused: str = ""
    """The reason why no score may contain the values; empty where the graders passed their controls."""

    @property
    def coverage(self) -> float:
        """Share of the answers that have a value."""
        return self.rated / self.answers

    @property
    def failed(self) -> bool:
        """Return whether too few answers have a value."""
        return self.coverage < COVERAGE_WANTED


class GraderTrust(GraderCounts):
    """One grader of answers to questions: its agreement with itself, and with the known values of the controls."""

    consistency: Mapping[str, float | None]
    controls: Mapping[str, Mapping[str, float | None]]
    unjudged_controls: int
    precision: float | None
    recall: float | None
    in_order: bool | None
    state: State = "unknown"
    """True if it passed its controls."""
    reason: str = ""
    """Reason why it is not accepted."""


class AnswerScores(JudgedCriterion):
    """All numbers of one criterion."""

    criterion: str
    rule: str = RULE
    """Version of the way from judgements to values."""
    acceptance: str = VERSION
    """Version of the rule by which graders are accepted."""
    maximum: float
    hallucinations: bool
    """True if the value is the share of answers with a hallucination, so that less is better."""
    profile: str
    columns: tuple[AnswerScoreColumn, ...]
    by_grader: tuple[AnswerScoreColumn, ...] = ()
    graders: tuple[GraderTrust, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the graders."""
