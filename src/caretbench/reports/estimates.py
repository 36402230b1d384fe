"""Estimates with intervals from the table of a run.

Rows are first aggregated to one row per problem: numbers of samples and passes, and similarities by the rule of the
profile. Rates, means and intervals are then computed over problems, by cluster if problems share a source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from caretbench.metrics.correlation import pearson, spearman
from caretbench.metrics.intervals import RESAMPLES, Interval, bootstrap_mean, mean_interval
from caretbench.metrics.passk import pass_rates
from caretbench.profiles import profile_named, rules_of
from caretbench.reports.frame import LABELS
from caretbench.runs.user_metrics import USER_METRIC

Fold = Literal["mean", "any"]


class ReportValue(BaseModel):
    """Base class of all values in a report: immutable, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SimilarityColumn(ReportValue):
    """Column of one similarity metric: the metric's name in score rows, its aggregation over samples, its title."""

    name: str
    metric: str
    fold: Fold
    title: str


PAPER_COLUMNS = (
    SimilarityColumn(name="cosine_first_line", metric="cosine", fold="mean", title="Cosine, first lines, mean of n"),
    SimilarityColumn(name="line0_any", metric="line0_match", fold="any", title="Line-0 match, any of n"),
)
DEFAULT_COLUMNS = (
    SimilarityColumn(name="cosine_full_text", metric="cosine", fold="mean", title="Cosine, full text, mean of n"),
    SimilarityColumn(name="line0_mean", metric="line0_match", fold="mean", title="Line-0 match, mean of n"),
)


def similarity_columns(metrics: list[str], *, first_lines: bool) -> tuple[SimilarityColumn, ...]:
    """Return the similarity columns for the metrics in the scores.

    With ``first_lines``, samples are aggregated as in DevBench's released code (a line matches if any sample matches);
    else all columns are means, and further metrics keep their names.
    """
    standard = PAPER_COLUMNS if first_lines else DEFAULT_COLUMNS
    named = {column.metric for column in standard}
    further = tuple(
        SimilarityColumn(name=f"{metric}_mean", metric=metric, fold="mean", title=_title(metric))
        for metric in metrics
        if metric not in named and (not first_lines or metric.startswith(USER_METRIC))
    )
    return tuple(column for column in standard if column.metric in metrics) + further


def similarity_metric(name: str) -> str:
    """Return the metric of a similarity column by the column's name."""
    metrics = {column.name: column.metric for column in (*PAPER_COLUMNS, *DEFAULT_COLUMNS)}
    return metrics.get(name) or name.removesuffix("_mean")


def _title(metric: str) -> str:
    words = metric.removesuffix("_indel").rpartition(":")[2].replace("_", " ")
    variant = " (indel)" if metric.endswith("_indel") else ""
    return f"{words[:1].upper()}{words[1:]}{variant}, mean of n"


class ReportedNumber(ReportValue):
    """A number with its 95 % interval, over ``problems`` problems; rates and similarities run from 0 to 1."""

    value: float
    low: float | None = None
    high: float | None = None
    problems: int
    method: str = ""
    warning: str | None = None

    @classmethod
    def from_interval(cls, interval: Interval, value: float, problems: int, scale: float = 1.0) -> ReportedNumber:
        """Return a number with its interval; ``interval`` is multiplied by ``scale``."""
        defined = not math.isnan(interval.low)
        return cls(
            value=value,
            low=interval.low * scale if defined else None,
            high=interval.high * scale if defined else None,
            problems=problems,
            method=interval.method,
            warning=interval.warning,
        )

    def numbers(self) -> dict[str, object]:
        """Return the fields of this number for one line of the CSV export."""
        return self.model_dump(include={"value", "low", "high", "problems", "method"})


def aggregate_samples(rows: pl.DataFrame, columns: tuple[SimilarityColumn, ...]) -> pl.DataFrame:
    """Return one row per problem: numbers of ``samples`` with a verdict and of ``passes``, aggregated similarities."""
    folds = [
        (pl.col(column.metric).max() if column.fold == "any" else pl.col(column.metric).mean()).alias(column.name)
        for column in columns
    ]
    firsts = [pl.col(name).first() for name in (*LABELS, "cluster", "overlap_group", "valid", "eligible")]
    return (
        rows.group_by("problem_id")
        .agg(
            *firsts,
            pl.col("passed").is_not_null().sum().alias("samples"),
            pl.col("passed").fill_null(value=False).sum().alias("passes"),
            *folds,
        )
        .sort("problem_id")
    )


def pass_estimates(
    problems: pl.DataFrame, profile: str, seed: int, resamples: int = RESAMPLES
) -> Mapping[int, ReportedNumber]:
    """Return pass@k for every k up to the number of samples, over the problems with a verdict.

    One sample per independent problem gives a Wilson interval, everything else a seeded bootstrap over clusters of
    problems. Problems with fewer than k samples are not part of pass@k; under ``paper`` they count as the released
    code counts them (1 if any sample passed).
    """
    any_of_fewer = rules_of(profile_named(profile)).any_of_fewer
    counts = list(problems.select("samples", "passes").iter_rows())
    estimates = {}
    for k, rates in pass_rates(counts, any_of_fewer=any_of_fewer).items():
        defined = [rate for rate in rates if rate is not None]
        enough = problems.filter(pl.Series([rate is not None for rate in rates], dtype=pl.Boolean))
        estimates[k] = mean_estimate(defined, enough, seed, resamples)
    return estimates


def pass_at_1(judged: pl.DataFrame, profile: str, seed: int) -> ReportedNumber:
    """Return pass@1 over rows of one model that all have a verdict and count."""
    problems = aggregate_samples(judged.with_columns(eligible=True), ())
    return pass_estimates(problems, profile, seed)[1]


def similarity_estimates(
    problems: pl.DataFrame, columns: tuple[SimilarityColumn, ...], seed: int, resamples: int = RESAMPLES
) -> Mapping[str, ReportedNumber]:
    """Return the mean of every similarity column over the problems that have it."""
    estimates = {}
    for column in columns:
        there = problems[column.name].is_not_null()
        present = problems if there.all() else problems.filter(there)  # a filter takes 1 ms, a report has thousands
        if not present.is_empty():
            estimates[column.name] = mean_estimate(present[column.name].to_list(), present, seed, resamples)
    return estimates


def mean_estimate(
    values: Sequence[float], problems: pl.DataFrame, seed: int, resamples: int = RESAMPLES
) -> ReportedNumber:
    """Return the mean of one value per problem with its interval (docs/reference/metrics.md)."""
    clusters, overlap_groups = problems["cluster"].to_list(), problems["overlap_group"].to_list()
    if len(set(clusters)) == len(values) and set(values) <= {0.0, 1.0}:
        interval = mean_interval(values, seed=seed, clusters=clusters, overlap_groups=overlap_groups)
    else:
        interval = bootstrap_mean(
            values, seed=seed, clusters=clusters, overlap_groups=overlap_groups, resamples=resamples
        )
    return ReportedNumber.from_interval(interval, math.fsum(values) / len(values), len(values))


class SimilarityCorrelation(ReportValue):
    """Correlation of similarity and passing, per problem: Pearson's and Spearman's coefficients."""

    pearson: float
    spearman: float
    p_value: float
    """Two-sided p value of Pearson's coefficient."""
    problems: int


def correlate(problems: pl.DataFrame, columns: tuple[SimilarityColumn, ...]) -> SimilarityCorrelation | None:
    """Return the correlation of cosine and share of passing samples; None if one of them does not vary."""
    cosine = next((column.name for column in columns if column.metric == "cosine"), None)
    if cosine is None:
        return None
    both = problems.filter(pl.col(cosine).is_not_null() & (pl.col("samples") > 0))
    similarity, rate = both[cosine].to_list(), (both["passes"] / both["samples"]).to_list()
    linear, ranked = pearson(similarity, rate), spearman(similarity, rate)
    if linear is None or ranked is None:
        return None
    return SimilarityCorrelation(
        pearson=linear.coefficient, spearman=ranked.coefficient, p_value=linear.p_value, problems=linear.n
    )
