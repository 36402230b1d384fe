"""Table of judged values of completions, for joining with the scores of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from caretbench.judging.aggregation import mean_over_graders, scores_by_grader
from caretbench.judging.criteria import criteria_for
from caretbench.problem import Caret
from caretbench.profiles import profile_named
from caretbench.reports.frame import LoadedRun
from caretbench.reports.judged.decisions import refusal_lines
from caretbench.reports.judged.judged_answers import JudgedAnswers
from caretbench.reports.judged.scores import CaretScores
from caretbench.reports.judged.trust import withheld_by_criterion

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
    """Return one row for every answer to a question that was judged by a criterion of its problem.

    ``judged`` is the mean of all graders on the criterion's scale (for hallucinations 0 to 1, 1 is bad), or null.
    Answers without statements have the value 1 for hallucinations; ``says_nothing`` marks them. ``withheld`` is the
    reason for which scores must not include ``judged``, null if the graders passed their controls.
    """
    return pl.DataFrame(list(_lines(answers)), schema=_SCHEMA)


def judged_caret_values(run: LoadedRun, carets: Sequence[CaretScores]) -> pl.DataFrame:
    """Return one row for every judged text at a caret, as :func:`judged_values` does; decisions are the share of yes.

    ``carets`` are the run's scores at carets, which tell whether graders of decisions passed their controls.
    """
    return pl.DataFrame(list(_caret_lines(run, carets)), schema=_SCHEMA)


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


def _caret_lines(run: LoadedRun, carets: Sequence[CaretScores]) -> Iterator[dict[str, Any]]:
    problems = {problem.id: problem for problem in run.problems}
    for scores in carets:
        profile = profile_named(scores.profile)
        own = {
            identity: problem
            for identity, problem in problems.items()
            if isinstance(problem.shown, Caret)
            and any(entry.key == scores.criterion for entry in criteria_for(problem, profile))
        }
        graders = scores_by_grader((row for row in run.judgements if row.problem_id in own), scores.criterion)
        texts = mean_over_graders(list(graders.values())) if graders else {}
        refused = "; ".join(refusal_lines([scores], ("failed", "too_few", "unknown")))
        for completion, _, answer in run.inserted if texts else ():
            if found := texts.get((completion.problem_id, answer)):
                yield {
                    "problem_id": completion.problem_id, "model": completion.model,
                    "parameters": completion.parameters, "sample": completion.sample, "judged": found.total,
                    "says_nothing": False, "claim_rate": None, "withheld": refused or None,
                }  # fmt: skip
