"""Types of judge scores in a report: scores by model, reliability and agreement of judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.judged.judged_texts import VALUE_RULE_VERSION
from caretbench.reports.judged.trust import ACCEPTANCE_VERSION, State
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE

NOT_VALIDATED = "not validated against people"

SIMULATED = "simulated ratings (test only)"
"""State of scores that were compared with ratings by a program."""


class ScoreCell(ReportValue):
    """Mean score over one part of the problems."""

    labels: Mapping[str, str]
    value: ReportedNumber


class ScoreColumn(ReportValue):
    """Scores of one model by one judge, or by all judges. ``value`` is the mean score; None if no text has one."""

    model: str
    parameters: str
    title: str
    baseline: bool
    judge: str
    answers: int
    """Number of completions that could be judged."""
    rated: int
    """Number of these completions that have a score."""
    value: ReportedNumber | None
    parts: Mapping[str, ReportedNumber] = Field(default_factory=dict)
    """Means of the sub-scores; of statements, their mean numbers by label."""
    strata: Mapping[str, tuple[ScoreCell, ...]] = Field(default_factory=dict)
    says_nothing: int = 0
    """Number of answers without a statement, for criteria about statements."""
    claim_rate: float | None = None
    """Share of all statements that are hallucinations."""
    refused: str = ""
    """Reason for which scores must not include the values; empty if the judges passed their controls."""

    @property
    def coverage(self) -> float:
        """Share of the completions that have a score."""
        return self.rated / self.answers


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
    """Decisions of one judge, compared with controls (``known``), predicates and people; ``rounds`` if several."""

    known: DecisionAgreement
    predicate: DecisionAgreement
    people: DecisionAgreement
    rounds: tuple[RoundDecisions, ...] = ()


class JudgeTrust(ReportValue):
    """Counts and reliability of one judge: consistency over repeats, and correctness on controls."""

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
    consistency: Mapping[str, float | None]
    controls: Mapping[str, Mapping[str, float | None]]
    unjudged_controls: int
    precision: float | None
    recall: float | None
    in_order: bool | None
    """True if the controls' means are in the right order."""
    state: State
    """Verdict by the controls."""
    reason: str = ""
    """Reason for which the judge is not accepted."""
    decisions: JudgeDecisions | None = None
    """Decisions, if the criterion is answered by yes or no."""

    def rejection(self, criterion: str) -> str:
        """Return one line with judge, criterion and the reason for which the judge is not accepted."""
        failed = f"fails its controls: {self.reason} (rule {ACCEPTANCE_VERSION})"
        return f"{self.title} by {criterion}: {failed if self.state == 'failed' else self.reason}"


class JudgedScores(ReportValue):
    """Scores by one criterion. ``columns`` are over all judges; ``by_judge`` is empty with one judge."""

    criterion: str
    subject: Literal["caret", "answer"]
    rule: str = VALUE_RULE_VERSION
    """Version of the rule from judgements to values."""
    acceptance: str = ACCEPTANCE_VERSION
    """Version of the rule by which judges are accepted."""
    scores: Mapping[str, float]
    """Maximum of every sub-score."""
    maximum: float
    released: bool = False
    """True if judgements are parsed and aggregated as in DevBench's released code."""
    only: str | None = None
    """``passed`` if only answers that passed are judged; others then count neither as samples nor as missing."""
    hallucinations: bool = False
    """True if the value is the share of answers with a hallucination (less is better)."""
    policy: str
    profile: str
    columns: tuple[ScoreColumn, ...]
    by_judge: tuple[ScoreColumn, ...] = ()
    judges: tuple[JudgeTrust, ...]
    alpha: float | None = None
    """Krippendorff's alpha (ordinal) between the judges."""
    alpha_texts: int = 0
    pairs: tuple[JudgePair, ...] = ()
    people: tuple[JudgeHumanAgreement, ...] = ()

    @property
    def required_coverage(self) -> float:
        """Minimum share of completions with a score; of texts at carets any may be judged."""
        return REQUIRED_COVERAGE if self.subject == "answer" else 0.0

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
