"""Table of judged values of answers to questions, for joining with the scores of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from caretbench.judging.criterion_choice import criteria_for
from caretbench.reports.judged.acceptance import withheld_by_criterion
from caretbench.reports.judged.judged_answers import JudgedAnswers

KEY = ("problem_id", "model", "parameters", "sample")

_SCHEMA = {
    "problem_id": pl.String,
    "model": pl.String,
    "parameters": pl.String,
    "sample": pl.Int64,
    "judged": pl.Float64,
    "says_nothing": pl.Boolean,
    "claim_rate": pl.Float64,
    "withheld": pl.String,
}


def judged_values(answers: JudgedAnswers) -> pl.DataFrame:
    """Return one row for every completion that was judged by a criterion of its problem.

    ``judged`` is the mean of all graders on the criterion's scale (for hallucinations 0 to 1, 1 is bad), or null.
    Answers without statements have the value 1 for hallucinations; ``says_nothing`` marks them. ``withheld`` is the
    reason for which scores must not include ``judged``, null if the graders passed their controls.
    """
    return pl.DataFrame(list(_lines(answers)), schema=_SCHEMA)


def _lines(answers: JudgedAnswers) -> Iterator[dict[str, Any]]:
    own = {
        identity: {entry.key for entry in criteria_for(problem, answers.profile)}
        for identity, problem in answers.problems.items()
    }
    refused = withheld_by_criterion(answers)
    for row in answers.rows():
        if row.criterion in own[row.problem_id]:
            yield {
                "problem_id": row.problem_id, "model": row.model, "parameters": row.parameters,
                "sample": row.sample, "judged": row.value, "says_nothing": row.says_nothing,
                "claim_rate": row.claim_rate, "withheld": refused.get(row.criterion),
            }  # fmt: skip
