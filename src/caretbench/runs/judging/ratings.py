"""Counts and costs of the judging stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import Field

from caretbench.files import DataError, read_rows
from caretbench.problem import Row
from caretbench.runs.request_stage import StageCounts
from caretbench.runs.run_folder import RunFolder

RATINGS_NAME = "human_ratings.jsonl"


class HumanRating(Row):
    """One person's rating of one text; a row whose ``values`` are not all numbers does not count.

    The hash ``answer`` identifies the rated text; the texts are for readers. Of an answer to a question that is what
    was shown (``question``), the ``reference``, and the answer as ``completion``; of a caret with an instruction also
    that and the ``reference``. ``criterion`` is the key of the criterion that the rating is about; rows without one
    are about every criterion with the same scores.
    """

    problem_id: str
    answer: str
    rater: str = ""
    values: Mapping[str, float | None] = Field(default_factory=dict)
    language: str = ""
    prefix: str = ""
    completion: str = ""
    suffix: str = ""
    question: str = ""
    reference: str = ""
    instruction: str = Field(default="", exclude_if=lambda text: not text)
    criterion: str = Field(default="", exclude_if=lambda text: not text)
    simulated: bool = Field(default=False, exclude_if=lambda value: not value)
    """True: made by a program in a test. No report calls such ratings validated."""

    @property
    def total(self) -> float | None:
        """Sum of the scores; None if a score is missing. Rounded, so that equal sums have equal ranks."""
        scores = [value for value in self.values.values() if value is not None]
        return round(math.fsum(scores), 9) if scores and len(scores) == len(self.values) else None


def read_ratings(folder: RunFolder) -> list[HumanRating]:
    """Return the ratings of a run that are filled in.

    Raises:
        DataError: a row does not fit, lacks its rater, or a person rated a text twice.
    """
    path = folder.path / RATINGS_NAME
    if not path.exists():
        return []
    ratings: dict[tuple[str, str, str, str], HumanRating] = {}
    for row in read_rows(path, HumanRating):
        key = (row.rater, row.criterion, row.problem_id, row.answer)
        # A form that is only half filled in.
        if row.total is None:
            continue
        if not row.rater:
            raise DataError(f"{path}: a rating of {row.problem_id} does not name its rater")
        if key in ratings:
            raise DataError(f"{path}: {row.rater} rated one text of {row.problem_id} twice")
        ratings[key] = row
    return list(ratings.values())


def ratings_of_criterion(rows: Iterable[HumanRating], criterion: str) -> list[HumanRating]:
    """Return the ratings about a criterion (its key); simulated ones only where there are no others."""
    about = [row for row in rows if row.criterion in {"", criterion}]
    # Ratings of a test's program must never be mixed with those of people.
    return [row for row in about if not row.simulated] or about


# What a judge leaves out is not drawn at random.
REQUIRED_COVERAGE: Final = 0.98
"""Minimum share of the answers to questions that must be judged; otherwise the run fails."""

ReportStep = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many judgements were added, and the total where it is known."""


@dataclass
class JudgingResult:
    """Result of one call of :func:`caretbench.runs.judge.judge_batch`.

    ``cost`` is in US dollars, of the answers whose price is known.
    """

    texts: int = 0
    """Number of distinct texts over all problems; each is judged by every judge."""
    completions: int = 0
    """Number of completions with these texts."""
    unscored: int = 0
    """Completions without a score, not judged because the criterion applies only to passed answers."""
    required_coverage: float = 1.0
    """Required share of judgements, from 0 to 1."""
    stage_counts: list[StageCounts] = field(default_factory=list)
    """Counts of every judge and step."""

    @property
    def requested(self) -> int:
        """Number of requested judgements, including those stored before."""
        return sum(counts.requested for counts in self.stage_counts)

    @property
    def received(self) -> int:
        """Number of answers of judges, including unreadable ones."""
        return sum(counts.received for counts in self.stage_counts)

    @property
    def judged(self) -> int:
        """Number of readable judgements."""
        return sum(counts.answered - counts.unreadable for counts in self.stage_counts)

    @property
    def unreadable(self) -> int:
        """Number of judgements whose answers were unreadable after all tries."""
        return sum(counts.unreadable for counts in self.stage_counts)

    @property
    def over_budget(self) -> int:
        """Number of judgements for which the budget was too small."""
        return sum(counts.missing["budget"] for counts in self.stage_counts)

    @property
    def failed(self) -> int:
        """Number of missing judgements, without those for which the budget was too small."""
        return sum(counts.missing.total() for counts in self.stage_counts) - self.over_budget

    @property
    def cost(self) -> float:
        """Cost in US dollars."""
        return sum(counts.cost for counts in self.stage_counts)

    @property
    def stop_reason(self) -> str:
        """Reason to stop sending requests to a judge (a wrong key, no server at the address); empty: none."""
        return next((counts.stop_reason for counts in self.stage_counts if counts.stop_reason), "")

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
