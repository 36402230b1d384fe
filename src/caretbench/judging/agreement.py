"""Agreement of graders with each other, with themselves, and with the known order of the controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from caretbench.judging.aggregation import TextKey, TextScores
from caretbench.metrics.agreement.coefficients import krippendorff_alpha
from caretbench.metrics.correlation import pearson, spearman


class PairAgreement(NamedTuple):
    """Agreement of two graders (by index): correlations of their totals over the texts that both judged."""

    first: int
    second: int
    pearson: float | None
    spearman: float | None
    texts: int


class GraderAgreement(NamedTuple):
    """Agreement of all graders: Krippendorff's alpha (ordinal), and the agreement of every pair."""

    alpha: float | None
    texts: int
    pairs: tuple[PairAgreement, ...]


def grader_agreement(graders: Sequence[Mapping[TextKey, TextScores]]) -> GraderAgreement:
    """Return the agreement of several graders on the same texts; texts that only one grader judged do not count."""
    texts = sorted(set().union(*graders)) if graders else []
    ratings = [[grader[text].total if text in grader else None for text in texts] for grader in graders]
    shared = sum(sum(row[place] is not None for row in ratings) > 1 for place in range(len(texts)))
    pairs = []
    for first, second in combinations(range(len(graders)), 2):
        both = [text for text in texts if text in graders[first] and text in graders[second]]
        ours, theirs = ([graders[place][text].total for text in both] for place in (first, second))
        linear, ranked = pearson(ours, theirs), spearman(ours, theirs)
        pairs.append(
            PairAgreement(first, second, linear and linear.coefficient, ranked and ranked.coefficient, len(both))
        )
    return GraderAgreement(krippendorff_alpha(ratings), shared, tuple(pairs))


def repeat_spread(texts: Mapping[TextKey, TextScores]) -> float | None:
    """Return the standard deviation of a grader's sums for the same text, pooled; None without repeats."""
    repeated = [scores.sums for scores in texts.values() if len(scores.sums) > 1]
    if not repeated:
        return None
    squares = math.fsum(float(np.var(sums)) * len(sums) for sums in repeated)
    return math.sqrt(squares / sum(len(sums) - 1 for sums in repeated))


def separation(reference: Sequence[float], control: Sequence[float]) -> float | None:
    """Return the probability that a reference is rated above a control of any problem (area under the ROC curve).

    Ties count half: 1 is perfect, 0.5 chance. Source: Mann and Whitney (1947). None if there is nothing to compare.
    """
    if not reference or not control:
        return None
    high, low = np.asarray(reference, dtype=np.float64), np.sort(np.asarray(control, dtype=np.float64))
    below = np.searchsorted(low, high, side="left")
    up_to = np.searchsorted(low, high, side="right")
    return float((below + up_to).sum() / 2 / (len(high) * len(low)))


def controls_in_order(means: Mapping[str, float]) -> bool:
    """Return whether the means of the controls are in the right order: reference, doubled reference, wrong answers."""
    wrong = max(means["other-reference"], means["empty"])
    return means["reference"] > means["reference-twice"] > wrong
