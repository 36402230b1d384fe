"""The paper's best of three: of its three post-processing steps the one whose text passes the tests.

The tests choose the text that they then judge, so the rate is too high; it is shown to compare with the paper, and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from caretbench.reports.estimates import Reported, ReportedNumber, mean_estimate
from caretbench.reports.results.left_out import LeftOut

STEPS = ("simcopilot/clean", "simcopilot/trim", "simcopilot/repair")
"""The policies that are the released steps, the first of them the paper's "without post-processing"."""

TITLE = "Best of three by test result (too high: the tests choose the text that they judge)"


class BestOf(Reported):
    """One model: pass@1 under each step alone, and when the tests choose among them."""

    model: str
    parameters: str
    profile: str
    by_step: Mapping[str, ReportedNumber]
    best: ReportedNumber


def best_of_steps(frame: pl.DataFrame, left_out: Sequence[LeftOut], seed: int) -> Iterator[BestOf]:
    """The best of three of every model that was scored under all three steps, over the samples with all verdicts."""
    steps = frame.with_columns(step=pl.col("policy").str.split("@").list.first()).filter(
        pl.col("step").is_in(list(STEPS)) & pl.col("passed").is_not_null()
    )
    for (model, parameters, profile), part in sorted(
        steps.partition_by("model", "parameters", "profile", as_dict=True).items()
    ):
        excluded = {problem for entry in left_out if entry.profile == profile for problem in entry.problems}
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
        yield BestOf(
            model=str(model), parameters=str(parameters), profile=str(profile), by_step=rates, best=best
        )
