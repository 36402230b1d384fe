"""SimCopilot's post-processing: best of three.

Best of three counts an answer as passed if it passes after any step. The tests choose the text that they then check, so
the rate is too high; it is shown only for comparison with the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from caretbench.reports.estimates import ReportedNumber, ReportValue, mean_estimate
from caretbench.reports.results.problem_lists import ExcludedProblems, excluded_ids

STEPS = ("simcopilot/clean", "simcopilot/trim", "simcopilot/repair")
"""Policies of the released steps; the first is the paper's "without post-processing"."""

TITLE = "Best of three by test result (too high: the tests choose the text that they check)"


class BestOfThree(ReportValue):
    """Best of three of one model: pass@1 after each step, and if the tests choose the best step."""

    model: str
    parameters: str
    profile: str
    by_step: Mapping[str, ReportedNumber]
    best: ReportedNumber


def best_of_three(
    frame: pl.DataFrame, excluded_problems: Sequence[ExcludedProblems], seed: int
) -> Iterator[BestOfThree]:
    """Yield the best of three of every model that was scored under all three steps, over samples with all verdicts."""
    steps = frame.with_columns(step=pl.col("policy").str.split("@").list.first()).filter(
        pl.col("step").is_in(list(STEPS)) & pl.col("passed").is_not_null()
    )
    for (model, parameters, profile), part in sorted(
        steps.partition_by("model", "parameters", "profile", as_dict=True).items()
    ):
        excluded = excluded_ids(excluded_problems, str(profile))
        complete = (
            part.filter(~pl.col("problem_id").is_in(list(excluded)))
            .group_by("problem_id", "sample")
            .agg(
                pl.col("step").n_unique().alias("steps"),
                *(pl.col("passed").filter(pl.col("step") == step).first().alias(step) for step in STEPS),
                pl.col("passed").any().alias("best"),
                pl.col("cluster").first(),
                pl.col("overlap_group").first(),
            )
            .filter(pl.col("steps") == len(STEPS))
        )
        if complete.is_empty():
            continue
        problems = (
            complete.group_by("problem_id")
            .agg(
                *(pl.col(name).mean() for name in (*STEPS, "best")),
                pl.col("cluster").first(),
                pl.col("overlap_group").first(),
            )
            .sort("problem_id")
        )
        rates = {name: mean_estimate(problems[name].to_list(), problems, seed) for name in (*STEPS, "best")}
        best = rates.pop("best")
        yield BestOfThree(model=str(model), parameters=str(parameters), profile=str(profile), by_step=rates, best=best)
