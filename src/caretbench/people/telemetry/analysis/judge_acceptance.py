"""Judges and acceptance: rank correlation of scores with what users did, with length and latency held fixed.

Criteria are compared on one half of the users, and the best one is confirmed on the other half.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from pydantic import Field

from caretbench.metrics.paired import holm
from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.item_halves import item_halves
from caretbench.people.telemetry.analysis.partial_ranks import PartialRanks, UserDraws
from caretbench.people.telemetry.event_rows import CompletionEvent
from caretbench.people.telemetry.event_rules import CountedOutcome
from caretbench.problem import Row

ACCEPTANCE: Final[Mapping[CountedOutcome, int]] = {"kept": 2, "edited": 1, "rejected": 0, "reverted": 0}
"""Rank of an outcome: kept as it was above edited above not accepted. Other outcomes say nothing about the text."""

ALL: Final = "all"
_DIMENSIONS: Final = ("scenario", "block", "language")
_MINIMUM_EVENTS: Final = 50
"""Number of events below which a part has no row of its own."""


class EventScore(Row):
    """Score of the completion of an event by a criterion of a judge."""

    event: str
    criterion: str
    score: float = Field(allow_inf_nan=False)
    judge: str = ""

    @property
    def name(self) -> str:
        """Criterion, with the judge if it has a name."""
        return f"{self.criterion}, {self.judge}" if self.judge else self.criterion


class ScoredEvent(Row):
    """Facts of an event that scores are compared with; ``parts`` are its properties by name."""

    event: str
    user: str
    rank: int
    characters: int
    latency_ms: float | None
    parts: Mapping[str, str]


class CriterionAcceptance(Row):
    """Correlation of one criterion with acceptance, in one part of the events.

    ``spearman`` is plain; ``partial`` has length and latency held fixed, with its interval over users.
    """

    criterion: str
    users: str
    """All users, or one half of them: ``all``, ``first half``, ``second half``."""
    dimension: str
    value: str
    events: int
    user_count: int
    spearman: float | None
    partial: float | None
    low: float | None
    high: float | None


class CriterionDifference(Row):
    """Difference of the chosen criterion and another one on the second half of the users, over the same events."""

    chosen: str
    other: str
    events: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    """Adjusted by Holm over the other criteria."""
    distinguishable: bool


class AcceptanceStudy(Row):
    """Result of a comparison of criteria with acceptance."""

    events: int
    users: int
    unmatched_scores: int
    rows: tuple[CriterionAcceptance, ...]
    chosen: str | None
    differences: tuple[CriterionDifference, ...]


def scored_event(event: CompletionEvent, outcome: CountedOutcome, parts: Mapping[str, str]) -> ScoredEvent | None:
    """Return the facts of an event; None if its outcome says nothing about the text."""
    rank = ACCEPTANCE.get(outcome)
    if rank is None:
        return None
    return ScoredEvent(
        event=event.id,
        user=event.user,
        rank=rank,
        characters=event.characters,
        latency_ms=event.latency_ms,
        parts={name: parts[name] for name in _DIMENSIONS},
    )


def acceptance_study(events: Sequence[ScoredEvent], scores: Iterable[EventScore], *, seed: int = 0) -> AcceptanceStudy:
    """Return how far each criterion's scores follow what users did.

    Args:
        events: The events with an outcome that says something about the text.
        scores: Scores of some of them.
        seed: Random seed of the halves and the intervals.
    """
    known = {one.event: one for one in events}
    by_criterion: dict[str, dict[str, float]] = defaultdict(dict)
    unmatched = 0
    for score in scores:
        if score.event in known:
            by_criterion[score.name][score.event] = score.score
        else:
            unmatched += 1
    half = _halves({one.user for one in events}, seed)
    rows = [
        row
        for name, of_criterion in by_criterion.items()
        for row in _rows(name, [known[event] for event in of_criterion], of_criterion, half, seed)
    ]
    first = {row.criterion: row.partial for row in rows if row.users == "first half" and row.partial is not None}
    best = max(first, key=lambda name: (first[name], name), default=None)
    second = [one for one in events if half[one.user] == "second half"]
    return AcceptanceStudy(
        events=len(events),
        users=len(half),
        unmatched_scores=unmatched,
        rows=tuple(rows),
        chosen=best,
        differences=() if best is None else tuple(_differences(best, by_criterion, second, seed)),
    )


def _halves(users: Iterable[str], seed: int) -> dict[str, str]:
    found = item_halves(dict.fromkeys(users, ""), seed=seed)
    return dict.fromkeys(found.chosen, "first half") | dict.fromkeys(found.reported, "second half")


def _ranks(events: Sequence[ScoredEvent], scores: Mapping[str, float]) -> PartialRanks:
    latency = [one.latency_ms for one in events]
    controls: list[Sequence[float]] = [[float(one.characters) for one in events]]
    if latency and all(one is not None for one in latency):
        controls.append([one for one in latency if one is not None])
    return PartialRanks(
        [scores[one.event] for one in events],
        [float(one.rank) for one in events],
        controls,
        [one.user for one in events],
    )


def _rows(
    name: str, events: Sequence[ScoredEvent], scores: Mapping[str, float], half: Mapping[str, str], seed: int
) -> Iterator[CriterionAcceptance]:
    """Yield the rows of a criterion: all users, each half of them, and the parts of the events."""
    for users in (ALL, "first half", "second half"):
        of_users = [one for one in events if users in (ALL, half[one.user])]
        yield _row(name, users, (ALL, ALL), of_users, scores, seed)
    for dimension in _DIMENSIONS:
        for value in sorted({one.parts[dimension] for one in events}):
            part = [one for one in events if one.parts[dimension] == value]
            if _MINIMUM_EVENTS <= len(part) < len(events):
                yield _row(name, ALL, (dimension, value), part, scores, seed)


def _row(
    name: str, users: str, part: tuple[str, str], events: Sequence[ScoredEvent], scores: Mapping[str, float], seed: int
) -> CriterionAcceptance:
    ranks = _ranks(events, scores)
    low, high = ranks.interval(UserDraws(ranks.users, seed))
    return CriterionAcceptance(
        criterion=name, users=users, dimension=part[0], value=part[1], events=len(events), user_count=ranks.users,
        spearman=ranks.plain, partial=ranks.partial, low=low, high=high,
    )  # fmt: skip


def _differences(
    best: str, by_criterion: Mapping[str, Mapping[str, float]], events: Sequence[ScoredEvent], seed: int
) -> list[CriterionDifference]:
    found = []
    for other in sorted(by_criterion.keys() - {best}):
        shared = [one for one in events if one.event in by_criterion[best] and one.event in by_criterion[other]]
        ours, theirs = (_ranks(shared, by_criterion[name]) for name in (best, other))
        draws = UserDraws(ours.users, seed)
        drawn = ours.drawn(draws) - theirs.drawn(draws)
        found.append((other, len(shared), _difference(ours.partial, theirs.partial), drawn[np.isfinite(drawn)]))
    p_values = holm([_p_value(drawn) for _, _, _, drawn in found])
    rows = []
    for (other, count, difference, drawn), p_value in zip(found, p_values, strict=True):
        bounds = np.quantile(drawn, (0.025, 0.975)) if len(drawn) and difference is not None else None
        rows.append(
            CriterionDifference(
                chosen=best,
                other=other,
                events=count,
                difference=difference,
                low=None if bounds is None else float(bounds[0]),
                high=None if bounds is None else float(bounds[1]),
                p_value=None if bounds is None else p_value,
                distinguishable=bounds is not None and p_value < 0.05 and not bounds[0] <= 0 <= bounds[1],
            )
        )
    return rows


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _p_value(drawn: Floats) -> float:
    if not len(drawn):
        return 1.0
    beyond = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(drawn) + 1))
