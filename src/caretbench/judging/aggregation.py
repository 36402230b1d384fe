"""Scores of texts by judge, agreement of judges with each other, and separation of controls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from caretbench.metrics.agreement import krippendorff_alpha
from caretbench.metrics.correlation import pearson, spearman
from caretbench.problem import Judgement

TOTAL = "total"

JudgeKey = tuple[str, str]
"""Name and parameters of a judge."""

TextKey = tuple[str, str]
"""Problem id and answer hash of a text."""


class TextScores(NamedTuple):
    """Scores of one text by one judge: mean of each score, and of their sum as ``total``; the sum of each repeat."""

    means: Mapping[str, float]
    sums: tuple[float, ...]

    @property
    def total(self) -> float:
        """Mean of the sums over the repeats."""
        return self.means[TOTAL]


def scores_by_judge(judgements: Iterable[Judgement], criterion: str) -> dict[JudgeKey, dict[TextKey, TextScores]]:
    """Return the scores of every judged text under one criterion, by judge; unreadable judgements do not count."""
    gathered: dict[JudgeKey, dict[TextKey, list[Judgement]]] = defaultdict(lambda: defaultdict(list))
    for row in judgements:
        if row.criterion == criterion and row.values:
            gathered[row.judge, row.parameters][row.problem_id, row.answer].append(row)
    return {
        judge: {text: _text_scores(rows) for text, rows in texts.items()} for judge, texts in sorted(gathered.items())
    }


def _text_scores(rows: Sequence[Judgement]) -> TextScores:
    # Rounded, so that mathematically equal sums have equal ranks.
    sums = tuple(round(math.fsum(row.values.values()), 9) for row in rows)
    means = {name: math.fsum(row.values.get(name, 0.0) for row in rows) / len(rows) for name in rows[0].values}
    return TextScores(means | {TOTAL: math.fsum(sums) / len(sums)}, sums)


class PairAgreement(NamedTuple):
    """Agreement of two judges (by index): correlations of their totals over the texts that both judged."""

    first: int
    second: int
    pearson: float | None
    spearman: float | None
    texts: int


class JudgeAgreement(NamedTuple):
    """Agreement of all judges: Krippendorff's alpha (ordinal), and the agreement of every pair."""

    alpha: float | None
    texts: int
    pairs: tuple[PairAgreement, ...]


def judge_agreement(judges: Sequence[Mapping[TextKey, float]]) -> JudgeAgreement:
    """Return the agreement of several judges on the same texts; texts with one judge do not count."""
    texts = sorted(set().union(*judges)) if judges else []
    ratings = [[judge.get(text) for text in texts] for judge in judges]
    shared = sum(sum(row[place] is not None for row in ratings) > 1 for place in range(len(texts)))
    pairs = []
    for first, second in combinations(range(len(judges)), 2):
        both = [text for text in texts if text in judges[first] and text in judges[second]]
        ours, theirs = ([judges[place][text] for text in both] for place in (first, second))
        linear, ranked = pearson(ours, theirs), spearman(ours, theirs)
        pairs.append(
            PairAgreement(first, second, linear and linear.coefficient, ranked and ranked.coefficient, len(both))
        )
    return JudgeAgreement(krippendorff_alpha(ratings), shared, tuple(pairs))


def separation(reference: Sequence[float], control: Sequence[float]) -> float | None:
    """Return the probability that a reference is rated above a control of any problem (area under the ROC curve).

    Ties count half: 1 is perfect, 0.5 chance. Source: Mann and Whitney (1947). None if there is nothing to compare.
    """
    if not reference or not control:
        return None
    high, low = np.asarray(reference, dtype=np.float64), np.sort(np.asarray(control, dtype=np.float64))
    # Two binary searches in place of all pairs: the area under the curve counts ties half.
    below = np.searchsorted(low, high, side="left")
    up_to = np.searchsorted(low, high, side="right")
    return float((below + up_to).sum() / 2 / (len(high) * len(low)))
