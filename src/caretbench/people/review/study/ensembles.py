"""Ensembles of judges: their mean, median and majority, text by text."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from caretbench.people.review.study.study_types import StudyJudge


def majority(values: Sequence[float]) -> float:
    """Return the most frequent value, rounded to whole points; among equally frequent ones the middle one."""
    counts = Counter(round(value) for value in values)
    most = max(counts.values())
    return float(statistics.median_low(sorted(value for value, count in counts.items() if count == most)))


ENSEMBLES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "median": statistics.median,
    "majority": majority,
}


def ensembles(judges: Sequence[StudyJudge]) -> Iterator[StudyJudge]:
    """Yield the ensembles of the judges of one criterion, over the texts that all of them judged."""
    if len(judges) < 2:
        return
    shared = set.intersection(*(set(judge.scores) for judge in judges))
    names = tuple(judge.name for judge in judges)
    for title, fold in ENSEMBLES.items():
        scores = {
            text: {score: fold([judge.scores[text][score] for judge in judges]) for score in judges[0].scores[text]}
            for text in sorted(shared)
        }
        yield StudyJudge(f"{title} of {len(judges)}", judges[0].criterion, scores, names)
