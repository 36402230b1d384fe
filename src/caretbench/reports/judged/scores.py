"""Types of judge scores in a report: scores at carets and of answers, calibration and agreement of judges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.judged.judged_answers import VALUE_RULE_VERSION
from caretbench.reports.judged.trust import ACCEPTANCE_VERSION, State
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE

NOT_VALIDATED = "not validated against people"

SIMULATED = "simulated ratings (test only)"
"""State of scores that were compared with ratings by a program."""


class JudgedCell(ReportValue):
    """Scores over one part of the problems: ``total``, and for all problems the sub-scores."""

    labels: Mapping[str, str] = Field(default_factory=dict)
    scores: Mapping[str, ReportedNumber]


class CaretScoreColumn(ReportValue):
    """Scores of one model by one judge, or by all judges."""

    model: str
    parameters: str
    title: str
    baseline: bool
    judge: str
    samples: int
    """Number of completions that could be judged."""
    judged: int
    """Number of these completions that have a score."""
    overall: JudgedCell
    strata: Mapping[str, tuple[JudgedCell, ...]]
    refused: str = ""
    """Reason for which the scores measure nothing; empty if the judges passed their controls, or had none."""


class ControlNumbers(ReportValue):
    """Ratings of one control by one judge. ``separation``: probability that a reference is rated above the control."""

    mean: float
    separation: float | None = None
    reference_above: float | None = None
    """Share of problems whose reference is rated above the control of the same problem; ties count half."""


class JudgeCounts(ReportValue):
    """Numbers of judgements of one judge."""

    judge: str
    parameters: str
    title: str
    texts: int
    """Number of texts with a score."""
    judgements: int
    unreadable: int
    """Number of judgements that could not be read after all tries."""
    tried_again: int
    """Number of judgements that took more than one try."""
    missing: int
    """Number of missing judgements."""
    cost: float | None = None


class JudgeNumbers(JudgeCounts):
    """Numbers of one judge of texts at carets, with its repeats and controls."""

    repeat_deviation: float | None = None
    """Pooled standard deviation of the sums over repeats for the same text."""
    control_problems: int = 0
    controls: Mapping[str, ControlNumbers] = Field(default_factory=dict)
    in_order: bool | None = None
    """True if the controls' means are in the right order."""
    state: State | None = None
    """Verdict by the controls; None for decisions, which have their own."""
    reason: str = ""


class JudgePair(ReportValue):
    """Agreement of two judges: correlations of their sums over the texts that both judged."""

    first: str
    second: str
    pearson: float | None
    spearman: float | None
    texts: int


class JudgeHumanAgreement(ReportValue):
    """Agreement of a judge with people (``human_ratings.jsonl``), over the texts that both rated."""

    judge: str
    texts: int
    raters: int
    pearson: float | None
    spearman: float | None
    mean_difference: float
    alpha: float | None
    spearman_interval: tuple[float, float] | None = None
    simulated: bool = False
    winning_rate: float | None = None
    """Share of the people against whom the judge wins in the alt-test; None without a test."""
    passes: bool | None = None
    """True if the judge may take the place of a person, by that test of three people at least."""
    reason: str = ""
    """Reason for which there is no test."""

    @property
    def validated(self) -> bool:
        """Return whether people, not a test's program, confirm the judge."""
        return self.passes is True and not self.simulated

    @property
    def validity(self) -> str:
        """State of validation with the judge's own figures."""
        shown = "undefined" if self.spearman is None else f"{self.spearman:.2f}"
        if self.spearman_interval is not None:
            shown += " [{:.2f} to {:.2f}]".format(*self.spearman_interval)
        who = "1 person" if self.raters == 1 else f"{self.raters} people"
        wins = self.reason if self.winning_rate is None else f"wins against {self.winning_rate:.0%} of {who}"
        if self.validated:
            return f"validated against {who} on {self.texts} texts, {wins}, Spearman {shown}"
        return f"{NOT_VALIDATED}: {wins}, Spearman {shown} on {self.texts} texts"


class DecisionAgreement(ReportValue):
    """Agreement of a judge's decisions with known ones. Precision and recall are those of its yes."""

    decisions: int
    agreement: float | None = None
    precision: float | None = None
    recall: float | None = None


class ControlDecisions(ReportValue):
    """Decisions about one control. ``right`` is the share of problems that were decided correctly."""

    expected: Literal["yes", "no"]
    problems: int
    right: float


class RoundDecisions(ReportValue):
    """Decisions of one round (repeat): their number, the share of yes, and the agreement with what is known."""

    number: int
    judged: int
    unreadable: int
    yes: float | None
    known: DecisionAgreement
    predicate: DecisionAgreement
    people: DecisionAgreement


class JudgeDecisions(ReportValue):
    """Decisions of one judge: about the controls (``known``), and compared with predicates and people.

    ``same`` is the share of pairs of rounds with the same decision about a text, ``alpha`` Krippendorff's between the
    rounds; ``rounds`` is empty if there was one.
    """

    judge: str
    parameters: str
    title: str
    controls: Mapping[str, ControlDecisions]
    known: DecisionAgreement
    predicate: DecisionAgreement
    people: DecisionAgreement
    rounds: tuple[RoundDecisions, ...] = ()
    same: float | None = None
    alpha: float | None = None
    state: State = "unknown"
    """Verdict by the controls: ``accepted``, ``failed``, ``too_few`` or ``unknown``."""
    reason: str = ""
    """Reason for which the judge is not accepted."""


class JudgedCriterion(ReportValue):
    """Base class of the scores by one criterion, with the validation by people."""

    people: tuple[JudgeHumanAgreement, ...] = ()
    judges: tuple[JudgeCounts, ...] = ()

    @property
    def validated(self) -> bool:
        """Return whether people confirm every judge, by this criterion."""
        confirmed = {entry.judge for entry in self.people if entry.validated}
        return bool(confirmed) and all(judge.title in confirmed for judge in self.judges)

    @property
    def validity(self) -> str:
        """State of validation of each judge in a few words, shown next to the scores."""
        people = {entry.judge: entry for entry in self.people if not entry.simulated}
        if not people:
            return SIMULATED if self.people else NOT_VALIDATED
        states = {name: entry.validity for name, entry in people.items()}
        # A good judge next to one that guesses keeps its own figure.
        states |= {judge.title: NOT_VALIDATED for judge in self.judges if judge.title not in people}
        return "; ".join(f"{name}: {state}" if len(states) > 1 else state for name, state in states.items())


class CaretScores(JudgedCriterion):
    """Scores at carets by one criterion. ``columns`` are over all judges; ``by_judge`` is empty with one judge."""

    criterion: str
    scores: Mapping[str, float]
    """Maximum of every sub-score."""
    released: bool
    """True if judgements are parsed and aggregated as in DevBench's released code."""
    only: str | None = None
    """``passed`` if only answers that passed are judged; others then count neither as samples nor as missing."""
    policy: str
    profile: str
    columns: tuple[CaretScoreColumn, ...]
    by_judge: tuple[CaretScoreColumn, ...] = ()
    judges: tuple[JudgeNumbers, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the judges."""
    alpha_texts: int = 0
    pairs: tuple[JudgePair, ...] = ()
    decisions: tuple[JudgeDecisions, ...] = ()
    """Decisions of the judges, compared with what is known, if the criterion is answered by yes or no."""

    @property
    def maximum(self) -> float:
        """Maximum sum."""
        return math.fsum(self.scores.values())


class AnswerScoreColumn(ReportValue):
    """Scores of one model's answers by one judge, or by all judges. ``value`` is the mean score."""

    model: str
    parameters: str
    judge: str
    answers: int
    rated: int
    value: ReportedNumber | None
    parts: Mapping[str, float] = Field(default_factory=dict)
    """Means of the sub-scores, or of the numbers of statements by label."""
    strata: Mapping[str, Mapping[str, ReportedNumber]] = Field(default_factory=dict)
    says_nothing: int = 0
    """Number of answers without a statement, for criteria about statements."""
    claim_rate: float | None = None
    """Share of all statements that are hallucinations."""
    refused: str = ""
    """Reason for which scores must not include the values; empty if the judges passed their controls."""

    @property
    def coverage(self) -> float:
        """Share of the answers that have a value."""
        return self.rated / self.answers

    @property
    def failed(self) -> bool:
        """Return whether too few answers have a value."""
        return self.coverage < REQUIRED_COVERAGE


class JudgeTrust(JudgeCounts):
    """Reliability of one judge of answers: consistency over repeats, and correctness on controls."""

    consistency: Mapping[str, float | None]
    controls: Mapping[str, Mapping[str, float | None]]
    unjudged_controls: int
    precision: float | None
    recall: float | None
    in_order: bool | None
    state: State = "unknown"
    """Verdict by the controls: ``accepted``, ``failed``, ``too_few`` or ``unknown``."""
    reason: str = ""
    """Reason for which the judge is not accepted."""


class AnswerScores(JudgedCriterion):
    """Scores of answers to questions by one criterion."""

    criterion: str
    rule: str = VALUE_RULE_VERSION
    """Version of the rule from judgements to values."""
    acceptance: str = ACCEPTANCE_VERSION
    """Version of the rule by which judges are accepted."""
    maximum: float
    hallucinations: bool
    """True if the value is the share of answers with a hallucination (less is better)."""
    profile: str
    columns: tuple[AnswerScoreColumn, ...]
    by_judge: tuple[AnswerScoreColumn, ...] = ()
    judges: tuple[JudgeTrust, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the judges."""
