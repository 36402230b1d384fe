"""Counts and costs of a judging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from caretbench.runs.request_stage import StageCounts
from caretbench.runs.run_folder import RunFolder

COVERAGE_WANTED: Final = 0.98
"""Minimum share of the answers to questions that must be judged; otherwise the run fails."""

Report = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many judgements were added, and the total where it is known."""


@dataclass
class JudgingResult:
    """Result of one call of :func:`caretbench.runs.judge.judge_part`.

    ``cost`` is in US dollars, of the answers whose price is known.
    """

    subjects: int = 0
    """Distinct texts, over all problems; each is judged by every grader."""
    completions: int = 0
    """The completions that inserted them."""
    unscored: int = 0
    """Completions that were not judged because it is not known whether they passed, and only those are judged."""
    coverage_wanted: float = 1.0
    """The share of the judgements that must be there."""
    tallies: list[StageCounts] = field(default_factory=list)
    """One for each grader and step."""

    @property
    def wanted(self) -> int:
        """Number of wanted judgements, including those stored before."""
        return sum(tally.wanted for tally in self.tallies)

    @property
    def asked(self) -> int:
        """Number of answers of graders, including unreadable ones."""
        return sum(tally.asked for tally in self.tallies)

    @property
    def judged(self) -> int:
        """Number of readable judgements."""
        return sum(tally.answered - tally.unreadable for tally in self.tallies)

    @property
    def unreadable(self) -> int:
        """Number of judgements whose answers were unreadable after all tries."""
        return sum(tally.unreadable for tally in self.tallies)

    @property
    def not_asked(self) -> int:
        """Number of judgements for which the budget was too small."""
        return sum(tally.missing["budget"] for tally in self.tallies)

    @property
    def failed(self) -> int:
        """Number of missing judgements, without those for which the budget was too small."""
        return sum(tally.missing.total() for tally in self.tallies) - self.not_asked

    @property
    def cost(self) -> float:
        """Cost in US dollars."""
        return sum(tally.cost for tally in self.tallies)

    @property
    def ended(self) -> str:
        """Reason why a grader could not be asked any more (a wrong key, no server at the address)."""
        return next((tally.ended for tally in self.tallies if tally.ended), "")

    @property
    def complete(self) -> bool:
        """Return whether every wanted judgement is there."""
        return not (self.unreadable or self.failed or self.not_asked or self.unscored or self.ended)

    @property
    def coverage(self) -> float:
        """Share of the wanted judgements that is there."""
        missing = self.unreadable + self.failed + self.not_asked
        return 1 - missing / self.wanted if self.wanted else 1.0

    @property
    def sufficient(self) -> bool:
        """Return whether enough judgements are there."""
        return not (self.ended or self.unscored) and self.coverage >= self.coverage_wanted

    def complaint(self, folder: RunFolder) -> str:
        """Return what is missing, and why, in one line."""
        numbers = (
            (self.unreadable, "could not be read"),
            (self.failed, "did not come"),
            (self.not_asked, "were not asked for want of money"),
        )
        said = ", ".join(f"{count} judgements {what}" for count, what in numbers if count)
        if self.unscored:
            unscored = (
                f"{self.unscored} completions are not scored, and only those that passed are judged: score the run "
                "first (run and score go on with it)"
            )
            said = "; ".join(filter(None, (unscored, said)))
        where = f"; see {folder.judge_errors_path}" if self.failed or self.not_asked else ""
        share = "" if self.coverage_wanted == 1 else f"coverage {self.coverage:.1%}"
        if share and self.coverage < self.coverage_wanted:
            share += f", below the {self.coverage_wanted:.0%} that are wanted"
        return (
            "; ".join(filter(None, (said, self.ended, share)))
            + f"; the same command asks for them again{where}"
        )
