"""Scores of texts by judge, for comparison with people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from caretbench.judging.aggregation import JudgeKey, TextKey
from caretbench.problem import Judgement

TOTAL = "total"


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
