"""Agreement of judges with each other, and separation of controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from caretbench.metrics.agreement import krippendorff_alpha
from caretbench.metrics.correlation import pearson, spearman

JudgeKey = tuple[str, str]
"""Name and parameters of a judge."""

TextKey = tuple[str, str]
"""Problem id and answer hash of a text."""


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
    shared = sum(sum(row[index] is not None for row in ratings) > 1 for index in range(len(texts)))
    pairs = []
    for first, second in combinations(range(len(judges)), 2):
        both = [text for text in texts if text in judges[first] and text in judges[second]]
        ours, theirs = ([judges[index][text] for text in both] for index in (first, second))
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
