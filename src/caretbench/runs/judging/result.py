"""Counts and costs of the judging stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from caretbench.runs.request_stage import StageCounts
from caretbench.runs.run_folder import RunFolder

REQUIRED_COVERAGE: Final = 0.98
"""Minimum share of the answers to questions that must be judged; otherwise the run fails."""

ReportStep = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many judgements were added, and the total where it is known."""


@dataclass
class JudgingResult:
    """Result of one call of :func:`caretbench.runs.judge.judge_part`.

    ``cost`` is in US dollars, of the answers whose price is known.
    """

    texts: int = 0
    """Number of distinct texts over all problems; each is judged by every grader."""
    completions: int = 0
    """Number of completions with these texts."""
    unscored: int = 0
    """Completions without a score, not judged because the criterion applies only to passed answers."""
    required_coverage: float = 1.0
    """Required share of judgements, from 0 to 1."""
    tallies: list[StageCounts] = field(default_factory=list)
    """Counts of every grader and step."""

    @property
    def requested(self) -> int:
        """Number of requested judgements, including those stored before."""
        return sum(tally.requested for tally in self.tallies)

    @property
    def received(self) -> int:
        """Number of answers of graders, including unreadable ones."""
        return sum(tally.received for tally in self.tallies)

    @property
    def judged(self) -> int:
        """Number of readable judgements."""
        return sum(tally.answered - tally.unreadable for tally in self.tallies)

    @property
    def unreadable(self) -> int:
        """Number of judgements whose answers were unreadable after all tries."""
        return sum(tally.unreadable for tally in self.tallies)

    @property
    def over_budget(self) -> int:
        """Number of judgements for which the budget was too small."""
        return sum(tally.missing["budget"] for tally in self.tallies)

    @property
    def failed(self) -> int:
        """Number of missing judgements, without those for which the budget was too small."""
        return sum(tally.missing.total() for tally in self.tallies) - self.over_budget

    @property
    def cost(self) -> float:
        """Cost in US dollars."""
        return sum(tally.cost for tally in self.tallies)

    @property
    def stop_reason(self) -> str:
        """Reason to stop sending requests to a judge (a wrong key, no server at the address); empty: none."""
        return next((tally.stop_reason for tally in self.tallies if tally.stop_reason), "")

    @property
    def complete(self) -> bool:
        """Return whether no judgement is missing."""
        return not (self.unreadable or self.failed or self.over_budget or self.unscored or self.stop_reason)

    @property
    def coverage(self) -> float:
        """Share of the requested judgements that are stored, from 0 to 1."""
        missing = self.unreadable + self.failed + self.over_budget
        return 1 - missing / self.requested if self.requested else 1.0

    @property
    def sufficient(self) -> bool:
        """Return whether coverage is sufficient."""
        return not (self.stop_reason or self.unscored) and self.coverage >= self.required_coverage

    def complaint(self, folder: RunFolder) -> str:
        """Return a line with the missing judgements and the reasons."""
        numbers = (
            (self.unreadable, "could not be read"),
            (self.failed, "did not come"),
            (self.over_budget, "were not asked for want of money"),
        )
        said = ", ".join(f"{count} judgements {what}" for count, what in numbers if count)
        if self.unscored:
            unscored = (
                f"{self.unscored} completions are not scored, and only those that passed are judged: score the run "
                "first (run and score go on with it)"
            )
            said = "; ".join(filter(None, (unscored, said)))
        where = f"; see {folder.judge_errors_path}" if self.failed or self.over_budget else ""
        share = "" if self.required_coverage == 1 else f"coverage {self.coverage:.1%}"
        if share and self.coverage < self.required_coverage:
            share += f", below the {self.required_coverage:.0%} that are wanted"
        return (
            "; ".join(filter(None, (said, self.stop_reason, share))) + f"; the same command asks for them again{where}"
        )
