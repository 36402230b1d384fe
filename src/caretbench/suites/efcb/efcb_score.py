"""The EFCB score: the mean of five tasks, as published, and above floors: blind answers, else chance and copying.

Published: ``(A_easy + A_hard + MPR/10 + RQA/10 + (1 - C)) / 5``, with two accuracies, two judges' means from 0 to 10
and the share of hallucinating answers; each is a mean over repositories (macro).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np

from caretbench.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, RESAMPLES, Floats, Interval, widened, wilson
from caretbench.suites.efcb.choices import CHOICE_COUNT
from caretbench.suites.efcb.problem_metadata import TASKS, EfcbTask
from caretbench.suites.score_formulas import ScoreFormula

VERSION: Final = "efcb-score@3"
"""Version of the score.

3: above the model's own blind answers, where there are any. 2: withheld if a judge failed its controls;
empty answers are hallucinations in all tables.
"""

BINARY_TASKS: Final = frozenset({EfcbTask.EASY, EfcbTask.HARD, EfcbTask.HALLUCINATION})
"""Tasks whose values are 0 or 1."""

# A reader who saw only the choices was right in 40 of 40 questions of GMCQ-Hard: chance is no floor there.
FLOOR_TASKS: Final = (EfcbTask.HARD, EfcbTask.MASKED)
"""Tasks whose floor is the model's own blind answer, where it was asked without the text."""

MIN_COVERAGE: Final = 0.98
"""Minimum share of problems with a value; as for every run, reports and judges define it in their own rooms."""

MAX_BLIND: Final = 0.9
"""Blind value from which a task is answered without its text, so that no skill is stated."""

MAX_JUDGED_SCORE: Final = 10.0
CHANCE_ACCURACY: Final = 1 / CHOICE_COUNT

_BATCH_NUMBERS: Final = 2_000_000
"""Numbers drawn per batch, to bound the memory to a few tens of megabytes."""

N = TypeVar("N", float, Floats)

Weighting = Literal["macro", "micro"]
"""``macro``: the mean of the repositories' means, as published. ``micro``: the mean over all problems."""


class ProblemOutcome(NamedTuple):
    """The value of one problem: 0 or 1 for choices and hallucination (1 is bad), 0 to 10 for judged tasks.

    ``cluster`` is the pull request, which belongs to one repository. ``floor`` is the value of copying in the same
    problem, on the same scale, which ``mpr-gen`` uses; ``blind`` that of the model's answers without the text.
    """

    task: str
    repository: str
    cluster: str
    value: float
    floor: float = 0.0
    blind: float | None = None


class Estimate(NamedTuple):
    """A mean with its interval, and the numbers of problems and pull requests."""

    value: float
    interval: Interval
    problems: int
    pull_requests: int


class EfcbScore(NamedTuple):
    """Means by task and EFCB scores of a model; scores are None if a task has none.

    ``floors`` are those of :data:`FLOOR_TASKS`, ``blind`` whether they are the model's own blind answers. ``corrected``
    is None, too, if these reach :data:`MAX_BLIND` in a task.
    """

    weighting: Weighting
    tasks: Mapping[str, Estimate]
    floors: Mapping[str, float]
    blind: bool
    published: Estimate | None
    corrected: Estimate | None

    @property
    def answered_blind(self) -> Mapping[str, float]:
        """Tasks that the model answers without their text, with the value of these answers from 0 to 1."""
        return {task: value for task, value in self.floors.items() if self.blind and value >= MAX_BLIND}


def _published(easy: N, hard: N, masked: N, reverse: N, hallucination: N) -> N:
    """Return the paper's score from the means of the five tasks.

    From the averages of Tables 5 to 9 it is 0.482 (Llama-3.3-70B) and 0.584 (o4-mini). Table 4 prints three of the five
    columns under each other's headings; taken literally it would give negative scores.
    """
    return (easy + hard + masked / MAX_JUDGED_SCORE + reverse / MAX_JUDGED_SCORE + 1 - hallucination) / len(TASKS)


PUBLISHED_FORMULA: Final = ScoreFormula(
    title="EFCB score",
    text="(gmcq-easy + gmcq-hard + mpr-gen / 10 + reverse-qa / 10 + (1 - reverse-qa-hallu)) / 5",
    maxima={task: 1.0 if task in BINARY_TASKS else MAX_JUDGED_SCORE for task in TASKS},
    compute=lambda averages: _published(*(averages[task] for task in TASKS)),
)
"""The paper's score of the averages of the five tasks."""


def _corrected(
    easy: N, hard: N, masked: N, reverse: N, hallucination: N, hard_floor: N, masked_floor: N, *, blind: bool
) -> N:
    """Return the same mean with accuracies as skill above guessing, and MPR-Gen minus copying.

    With blind answers, GMCQ-Hard and MPR-Gen are skill above these. Guessing and copying give 0 otherwise, and a
    perfect model stays below 1 by a fifth of copying.
    """
    easy = (easy - CHANCE_ACCURACY) / (1 - CHANCE_ACCURACY)
    if blind:
        hard = (hard - hard_floor) / (1 - hard_floor)
        masked = MAX_JUDGED_SCORE * (masked - masked_floor) / (MAX_JUDGED_SCORE - masked_floor)
        return _published(easy, hard, masked, reverse, hallucination)
    # A judge that sees the whole patch of the release rates copied context: returning it without the marks is .927
    # alike to the reference.
    hard = (hard - CHANCE_ACCURACY) / (1 - CHANCE_ACCURACY)
    return _published(easy, hard, masked - masked_floor, reverse, hallucination)


def efcb_score(
    outcomes: Iterable[ProblemOutcome], *, weighting: Weighting = "macro", seed: int = 0, resamples: int = RESAMPLES
) -> EfcbScore:
    """Return means and scores with percentile bootstrap intervals by pull request, in any order of outcomes.

    One pull request is used by five tasks: it is resampled with all of them, within its repository, so that each
    resample has the same repositories with the same numbers of pull requests.
    """
    outcomes = list(outcomes)
    floored = [outcome for outcome in outcomes if outcome.task in FLOOR_TASKS]
    # A mean over other problems would be no floor of this score.
    with_blind = sum(outcome.blind is not None for outcome in floored)
    blind = bool(floored) and with_blind >= MIN_COVERAGE * len(floored)
    tables = _tables(outcomes, blind=blind)
    sizes = [len(table.counts) for table in tables]
    observed = _means(tables, [np.ones((1, size)) for size in sizes], weighting)
    resampled = np.concatenate(list(_resampled(tables, weighting, seed, resamples)))
    tasks = {}
    for index, task in enumerate(TASKS):
        units = int(sum((table.counts[:, index] > 0).sum() for table in tables))
        if units:
            problems = int(sum(table.counts[:, index].sum() for table in tables))
            value = float(observed[0, index])
            interval = _interval(value, resampled[:, index], units, share=task in BINARY_TASKS)
            tasks[task] = Estimate(value, interval, problems, units)
    floors = {
        task: float(value) / (1.0 if task in BINARY_TASKS else MAX_JUDGED_SCORE)
        for task, value in zip(FLOOR_TASKS, observed[0, len(TASKS) :], strict=True)
    }
    score = EfcbScore(weighting, tasks, floors, blind, None, None)
    if len(tasks) < len(TASKS):
        return score
    problems = sum(task.problems for task in tasks.values())
    five, draws = list(observed[0]), list(resampled.T)

    def estimate(value: float, values: Floats) -> Estimate:
        return Estimate(value, _interval(value, values, sum(sizes)), problems, sum(sizes))

    published = estimate(float(_published(*five[: len(TASKS)])), _published(*draws[: len(TASKS)]))
    if score.answered_blind:
        return score._replace(published=published)
    # A resample in which blind answers are all right leaves no room above them.
    with np.errstate(divide="ignore", invalid="ignore"):
        above = _corrected(*draws, blind=blind)
    corrected = estimate(float(_corrected(*five, blind=blind)), np.where(np.isfinite(above), above, np.nan))
    return score._replace(published=published, corrected=corrected)


def _resampled(tables: Sequence[_Table], weighting: Weighting, seed: int, resamples: int) -> Iterator[Floats]:
    """Yield means of resamples, in batches."""
    generator = np.random.default_rng(seed)
    sizes = [len(table.counts) for table in tables]
    step = max(1, _BATCH_NUMBERS // sum(sizes))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        # Counts of a resample, not the pull requests themselves: a repository's resample is then one product of
        # matrices.
        drawn = [generator.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64) for size in sizes]
        yield _means(tables, drawn, weighting)


def _interval(value: float, draws: Floats, units: int, *, share: bool = False) -> Interval:
    if units < 2:
        return Interval(math.nan, math.nan, "undefined", "one pull request has no spread")
    warning = f"only {units} pull requests: the interval may be too narrow" if units < MIN_CLUSTERS else None
    low, high = map(float, np.nanquantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    # Draws of the same shares differ in the last digits of their sums.
    equal = high - low <= 1e-12
    if share and (units < MIN_CLUSTERS or (equal and value in (0.0, 1.0))):
        # Equal shares have no spread to resample, and few units too little: see intervals.bootstrap_mean.
        return widened(Interval(low, high, "percentile", warning), wilson(value * units, units))
    if equal:
        return Interval(value, value, "constant", "no draw differs: the interval has no width, not no error")
    return Interval(low, high, "percentile", warning)


class _Table(NamedTuple):
    """One repository: sums and counts, a row for each pull request, a column for each task and for each floor."""

    sums: Floats
    counts: Floats


def _tables(outcomes: Iterable[ProblemOutcome], *, blind: bool) -> list[_Table]:
    clusters_by_repository: dict[str, dict[str, list[ProblemOutcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.task not in TASKS or not np.isfinite([outcome.value, outcome.floor]).all():
            raise ValueError(f"{outcome} is no value of a task of EFCB; leave problems without one out")
        clusters_by_repository[outcome.repository][outcome.cluster].append(outcome)
    if not clusters_by_repository:
        raise ValueError("there is nothing to score")
    return [
        _table([cluster for _, cluster in sorted(clusters.items())], blind=blind)
        for _, clusters in sorted(clusters_by_repository.items())
    ]


def _table(clusters: Sequence[Sequence[ProblemOutcome]], *, blind: bool) -> _Table:
    sums, counts = np.zeros((2, len(clusters), len(TASKS) + len(FLOOR_TASKS)))
    for row, cluster in enumerate(clusters):
        # Sorted, because floating-point sums depend on the order.
        for outcome in sorted(
            cluster, key=lambda outcome: (outcome.task, outcome.value, outcome.floor, outcome.blind or 0.0)
        ):
            column = TASKS.index(outcome.task)
            sums[row, column] += outcome.value
            counts[row, column] += 1
            floor = outcome.blind if blind else outcome.floor
            if outcome.task in FLOOR_TASKS and floor is not None:
                place = len(TASKS) + FLOOR_TASKS.index(outcome.task)
                sums[row, place] += floor
                counts[row, place] += 1
    return _Table(sums, counts)


def _means(tables: Sequence[_Table], weights: Sequence[Floats], weighting: Weighting) -> Floats:
    """Return means by resample and task; a repository without problems of a task is not part of its mean."""
    sums = np.stack([weight @ table.sums for table, weight in zip(tables, weights, strict=True)])
    counts = np.stack([weight @ table.counts for table, weight in zip(tables, weights, strict=True)])
    if weighting == "micro":
        return _ratio(sums.sum(axis=0), counts.sum(axis=0))
    # The averages of the paper are over repositories without weights. By problems they differ by at most .005 of the
    # range: MPR-Gen of Llama is 7.23 and 7.27 of 10.
    means = _ratio(sums, counts)
    return _ratio(np.nansum(means, axis=0), (~np.isnan(means)).sum(axis=0))


def _ratio(sums: Floats, counts: Floats) -> Floats:
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
