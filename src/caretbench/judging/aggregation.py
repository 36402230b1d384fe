"""Aggregation of judgements to scores of instances, for points and intervals alike.

A text's score by one grader is the mean of the sums over its repeats; by several graders the mean of theirs, where
all of them judged it. An instance's score is the mean over the model's samples that have one. Everything else in a
report is a mean over instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from caretbench.problem import Judgement

TOTAL = "total"

GraderKey = tuple[str, str]
"""A grader's name and its parameters."""

TextKey = tuple[str, str]
"""A problem and an answer."""


class TextScores(NamedTuple):
    """One grader's scores of one text: the mean of each score, and of their sum as ``total``; the single sums."""

    means: Mapping[str, float]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        """Mean of the sums over the repeats."""
        return self.means[TOTAL]


def scores_by_grader(
    judgements: Iterable[Judgement], criterion: str
) -> dict[GraderKey, dict[TextKey, TextScores]]:
    """Return the scores of every judged text under one criterion, by grader; judgements with a fault do not count."""
    gathered: dict[GraderKey, dict[TextKey, list[Judgement]]] = defaultdict(lambda: defaultdict(list))
    for row in judgements:
        if row.criterion == criterion and row.values:
            gathered[row.grader, row.parameters][row.problem_id, row.answer].append(row)
    return {
        grader: {text: _text_scores(rows) for text, rows in texts.items()}
        for grader, texts in sorted(gathered.items())
    }


def _text_scores(rows: Sequence[Judgement]) -> TextScores:
    # Rounded, so that sums that are equal on paper have equal ranks.
    sums = tuple(round(math.fsum(row.values.values()), 9) for row in rows)
    means = {
        name: math.fsum(row.values.get(name, 0.0) for row in rows) / len(rows) for name in rows[0].values
    }
    return TextScores(means | {TOTAL: math.fsum(sums) / len(sums)}, sums)


def mean_over_graders(graders: Sequence[Mapping[TextKey, TextScores]]) -> dict[TextKey, TextScores]:
    """Return the mean over the graders for texts that all of them judged, so that a missing one shifts no mean."""
    if len(graders) == 1:
        return dict(graders[0])
    shared = set.intersection(*(set(texts) for texts in graders)) if graders else set()
    merged = {}
    for text in sorted(shared):
        scores = [texts[text] for texts in graders]
        means = {
            name: math.fsum(score.means[name] for score in scores) / len(scores) for name in scores[0].means
        }
        merged[text] = TextScores(means, tuple(total for score in scores for total in score.sums))
    return merged


def instance_scores(
    samples: Iterable[TextKey], texts: Mapping[TextKey, TextScores], name: str = TOTAL
) -> dict[str, float]:
    """Return the score of every instance: the mean over the model's judged samples, repeated texts included."""
    found: dict[str, list[float]] = defaultdict(list)
    for problem, answer in samples:
        scores = texts.get((problem, answer))
        if scores is not None:
            found[problem].append(scores.means[name])
    return {problem: math.fsum(values) / len(values) for problem, values in found.items()}
