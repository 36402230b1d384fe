"""The values that a report states of judged answers: scores, coverage, trust."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from caretbench.reports.estimates import Estimate, Reported
from caretbench.reports.judged.acceptance import VERSION, State
from caretbench.reports.judged.numbers import BesidePeople
from caretbench.reports.judged.rated import RULE
from caretbench.runs.judging.result import COVERAGE_WANTED


class AnswersColumn(Reported):
    """One model under one criterion by one grader, or by all of them. ``value`` is the judge's score itself."""

    model: str
    parameters: str
    grader: str
    answers: int
    rated: int
    value: Estimate | None
    parts: Mapping[str, float] = Field(default_factory=dict)
    """Means of the sub-scores, or of the number of statements by verdict."""
    strata: Mapping[str, Mapping[str, Estimate]] = Field(default_factory=dict)
    says_nothing: int = 0
    """Answers that make no statement, where statements are judged."""
    claim_rate: float | None = None
    """The share of all statements that are hallucinations."""
    refused: str = ""
    """The reason why no score may contain the values; empty where the graders passed their controls."""

    @property
    def coverage(self) -> float:
        """The share of the answers that has a value."""
        return self.rated / self.answers

    @property
    def failed(self) -> bool:
        """Whether too few have one."""
        return self.coverage < COVERAGE_WANTED


class GraderTrust(Reported):
    """One grader: what it did, whether it agrees with itself, and what it made of the controls."""

    grader: str
    parameters: str
    title: str
    texts: int
    judgements: int
    unreadable: int
    tried_again: int
    missing: int
    cost: float | None
    consistency: Mapping[str, float | None]
    controls: Mapping[str, Mapping[str, float | None]]
    unjudged_controls: int
    precision: float | None
    recall: float | None
    in_order: bool | None
    state: State = "unknown"
    """Whether it passed its controls."""
    reason: str = ""
    """Why it is not accepted."""


class AnswersJudged(BesidePeople):
    """Everything under one criterion."""

    criterion: str
    rule: str = RULE
    """Version of the way from judgements to values."""
    acceptance: str = VERSION
    """Version of the rule by which graders are accepted."""
    maximum: float
    hallucinations: bool
    """Whether the value is the share of answers that hold one, of which less is better."""
    profile: str
    columns: tuple[AnswersColumn, ...]
    by_grader: tuple[AnswersColumn, ...] = ()
    graders: tuple[GraderTrust, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the graders."""
