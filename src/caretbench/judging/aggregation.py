"""Aggregation of judgements to scores of texts and instances.

The score of a text by one grader is the mean of the sums over its repeats; by several graders the mean of theirs, if
all of them judged it. The score of an instance is the mean over the model's samples with a score. Other numbers of a
report are means over instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from caretbench.problem import Judgement

TOTAL = "total"

GraderKey = tuple[str, str]
"""Name and parameters of a grader."""

TextKey = tuple[str, str]
"""Problem id and answer hash of a text."""


class TextScores(NamedTuple):
    """Scores of one text by one grader: mean of each score, and of their sum as ``total``; the sum of each repeat."""

    means: Mapping[str, float]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        """Mean of the sums over the repeats."""
        return self.means[TOTAL]


def scores_by_grader(judgements: Iterable[Judgement], criterion: str) -> dict[GraderKey, dict[TextKey, TextScores]]:
    """Return the scores of every judged text under one criterion, by grader; unreadable judgements do not count."""
    gathered: dict[GraderKey, dict[TextKey, list[Judgement]]] = defaultdict(lambda: defaultdict(list))
    for row in judgements:
        if row.criterion == criterion and row.values:
            gathered[row.grader, row.parameters][row.problem_id, row.answer].append(row)
    return {
        grader: {text: _text_scores(rows) for text, rows in texts.items()} for grader, texts in sorted(gathered.items())
    }


def _text_scores(rows: Sequence[Judgement]) -> TextScores:
    # Rounded, so that mathematically equal sums have equal ranks.
    sums = tuple(round(math.fsum(row.values.values()), 9) for row in rows)
    means = {name: math.fsum(row.values.get(name, 0.0) for row in rows) / len(rows) for name in rows[0].values}
    return TextScores(means | {TOTAL: math.fsum(sums) / len(sums)}, sums)


def mean_over_graders(graders: Sequence[Mapping[TextKey, TextScores]]) -> dict[TextKey, TextScores]:
    """Return the mean over graders of every text that all of them judged."""
    if len(graders) == 1:
        return dict(graders[0])
    shared = set.intersection(*(set(texts) for texts in graders)) if graders else set()
    merged = {}
    for text in sorted(shared):
        scores = [texts[text] for texts in graders]
        means = {name: math.fsum(score.means[name] for score in scores) / len(scores) for name in scores[0].means}
        merged[text] = TextScores(means, tuple(total for score in scores for total in score.sums))
    return merged


def instance_scores(
    samples: Iterable[TextKey], texts: Mapping[TextKey, TextScores], name: str = TOTAL
) -> dict[str, float]:
    """Return the score of every instance: the mean over the model's judged samples, equal texts included."""
    found: dict[str, list[float]] = defaultdict(list)
    for problem, answer in samples:
        scores = texts.get((problem, answer))
        if scores is not None:
            found[problem].append(scores.means[name])
    return {problem: math.fsum(values) / len(values) for problem, values in found.items()}
