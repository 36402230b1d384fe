"""Files of scores of events, and the comparison of the scores with what users did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from pydantic import Field

from caretbench.errors import DataError
from caretbench.files import read_rows, write_document
from caretbench.metrics.paired import holm
from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.item_halves import item_halves
from caretbench.people.telemetry.event_features import extracted_event
from caretbench.people.telemetry.event_table import scenario_of
from caretbench.people.telemetry.events import CompletionEvent, CountedOutcome, EventReader, counted_outcome
from caretbench.problem import Row
from caretbench.progress import Progress

# With fewer users a draw often has one or two of them, whose ranks are in some order by chance.
_FEWEST: Final = 8
"""Number of events, and of users, below which there is no interval."""

# Two equal controls, such as length in characters and in lines of one-line texts, have no inverse.
_SINGULAR: Final = 1e-9
"""Determinant of correlations below which they are not inverted."""
RESAMPLES: Final = 2_000


class UserDraws:
    """Draws of users: how often each user counts in each of them (rows)."""

    def __init__(self, users: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.weights: Floats = np.zeros((RESAMPLES, 0))
        if users:
            self.weights = rng.multinomial(users, np.full(users, 1 / users), size=RESAMPLES).astype(np.float64)


class PartialRanks:
    """Rank correlation of two series with others held fixed.

    Args:
        first: A series.
        second: Another one.
        controls: Series that are held fixed.
        users: User of each event.

    Raises:
        ValueError: the series differ in length.
    """

    def __init__(
        self, first: Sequence[float], second: Sequence[float], controls: Sequence[Sequence[float]], users: Sequence[str]
    ) -> None:
        series = [first, second, *controls]
        if len({len(one) for one in (*series, users)}) > 1:
            raise ValueError("all series need a value for every event")
        ranks = [mid_ranks(np.asarray(one, dtype=np.float64)) for one in series]
        # A control without spread holds nothing fixed.
        # A constant series makes the matrix singular; the two compared ones stay, so that their places are known.
        kept = [*ranks[:2], *(one for one in ranks[2:] if len(one) and np.ptp(one) > 0)]
        columns = np.stack([np.ones(len(first)), *kept], axis=1)
        names, codes = np.unique(np.asarray(users, dtype=object).astype(str), return_inverse=True)
        self.users = len(names)
        self.events = len(first)
        self._size = columns.shape[1]
        # Sums of products by user: a draw is one product of matrices, 2,000 draws of a million events cost what one
        # does.
        products = (columns[:, :, None] * columns[:, None, :]).reshape(self.events, self._size**2)
        self._sums = np.zeros((self.users, self._size**2))
        np.add.at(self._sums, codes, products)

    @property
    def plain(self) -> float | None:
        """Spearman's correlation; None where a series is constant."""
        return _known(self._correlations(np.ones((1, self.users)), controls=False)[0]) if self.users else None

    @cached_property
    def partial(self) -> float | None:
        """Correlation with the controls held fixed; None where it is undefined."""
        return _known(self._correlations(np.ones((1, self.users)), controls=True)[0]) if self.users else None

    def drawn(self, draws: UserDraws) -> Floats:
        """Return the partial correlation of each draw; NaN where it is undefined."""
        return self._correlations(draws.weights, controls=True)

    def interval(self, draws: UserDraws) -> tuple[float | None, float | None]:
        """Return the interval of the partial correlation; None for few users or events."""
        if self.partial is None or min(self.users, self.events) < _FEWEST:
            return None, None
        values = self.drawn(draws)
        values = values[np.isfinite(values)]
        # Where most draws are undefined, the others are a selection, and their quantiles an interval of nothing.
        if len(values) < len(draws.weights) / 2:
            return None, None
        low, high = np.quantile(values, (0.025, 0.975))
        return float(low), float(high)

    def _correlations(self, weights: Floats, *, controls: bool) -> Floats:
        moments = (weights @ self._sums).reshape(-1, self._size, self._size)
        # Without users all sums are 0.
        counts = np.maximum(moments[:, 0, 0], 1e-12)[:, None, None]
        means = moments[:, 0, 1:] / counts[:, 0]
        size = self._size if controls else 3
        covariances = (moments[:, 1:, 1:] / counts - means[:, :, None] * means[:, None, :])[:, : size - 1, : size - 1]
        scales = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = covariances / (scales[:, :, None] * scales[:, None, :])
            # Of a series that others explain wholly, nothing is left.
            flat = ~np.isfinite(correlations).all(axis=(1, 2))
            flat |= np.linalg.det(np.where(flat[:, None, None], 0.0, correlations)) < _SINGULAR
            correlations[flat] = np.eye(size - 1)
            inverse = np.linalg.inv(correlations)
            found: Floats = -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
        found[flat] = np.nan
        return found


def mid_ranks(values: Floats) -> Floats:
    """Return the ranks of values from 1; equal values have the mean of theirs."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[codes]
    return ranks


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


ACCEPTANCE: Final[Mapping[CountedOutcome, int]] = {"kept": 2, "edited": 1, "rejected": 0, "reverted": 0}
"""Rank of an outcome: kept as it was above edited above not accepted. Other outcomes say nothing about the text."""

ALL: Final = "all"
_DIMENSIONS: Final = ("scenario", "block", "language")
# Below, an interval of Spearman's correlation is wider than 0.5 and the row says nothing.
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
    # The half that chooses is not the half that reports, so the best of many criteria is not best by chance.
    first = {row.criterion: row.partial for row in rows if row.users == "first half" and row.partial is not None}
    # Names break ties, so that a file gives the same choice whatever the order of its rows.
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
    # Half a control would compare events with a latency to those without one, not fast to slow ones.
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
        # The same events for both, so that the difference is paired.
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
    # One is added to both, as in permutation tests: 2,000 draws cannot show a p value of 0.
    beyond = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(drawn) + 1))


ACCEPTANCE_NAME: Final = "acceptance.json"
"""Name of the results in the folder of an analysis."""


class StudiedEvents(NamedTuple):
    """Result of a comparison of scores with what users did, and the path of the written file."""

    reader: EventReader
    study: AcceptanceStudy
    path: Path


def read_scores(path: Path) -> list[EventScore]:
    """Return the scores of a file.

    Raises:
        DataError: a line is no score, an event has two scores by one criterion, or the file has none.
    """
    found = list(read_rows(path, EventScore))
    if not found:
        raise DataError(f"{path}: no scores; the file is empty")
    (event, criterion), times = Counter((one.event, one.name) for one in found).most_common(1)[0]
    # Two scores would be averaged by their number, and a text that was judged twice count double.
    if times > 1:
        raise DataError(f"{path}: {times} scores of event {event!r} by {criterion}; keep one of them")
    return found


def study_acceptance(
    path: Path, scores: Sequence[EventScore], folder: Path, *, seed: int = 0, progress: Progress | None = None
) -> StudiedEvents:
    """Compare scores with what users did, and write the results into a folder.

    Raises:
        DataError: the file of events cannot be used, or has no scored event whose outcome says something.
    """
    reader, found = EventReader(path), []
    scored = {one.event for one in scores}
    for event in reader:
        if event.id not in scored:
            continue
        # Texts stay on this machine: they are extracted in memory, and only numbers are written.
        one = event if event.features is not None else extracted_event(event)
        if one.features is None:
            continue
        parts = {"scenario": scenario_of(one, one.features), "block": one.features.block, "language": one.language}
        facts = scored_event(one, counted_outcome(one), parts)
        if facts is not None:
            found.append(facts)
        if progress is not None:
            progress("scored events", 1, None)
    if not found:
        raise DataError(
            f"{path}: none of the {len(scored)} scored events is here with an outcome that says something about the "
            "text (kept, edited, rejected); give the file that the scores are about"
        )
    study = acceptance_study(found, scores, seed=seed)
    target = folder / ACCEPTANCE_NAME
    write_document(target, study)
    return StudiedEvents(reader, study, target)
