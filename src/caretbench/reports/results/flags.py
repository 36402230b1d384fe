"""Flagged passes: counts of suspicious answers, and the pass rate without them.

A flag is no verdict (``scan/tamper.py``). The second rate is a lower bound: it counts flagged passes as failures, not
as excluded, so that both rates are over the same problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from caretbench.reports.estimates import ReportedNumber, ReportValue, pass_at_1
from caretbench.reports.frame import GROUP
from caretbench.reports.results.problem_lists import ExcludedProblems, excluded_ids


class FlagCount(ReportValue):
    """Number of answers with one kind of flag, and how many of them passed."""

    answers: int
    passes: int


class FlaggedAnswers(ReportValue):
    """Flagged answers of one model, under one policy and one profile, over the problems that count in its rates."""

    model: str
    parameters: str
    policy: str
    profile: str
    title: str
    answers: int
    """Flagged answers that have a verdict."""
    passes: int
    """All passes."""
    flagged_passes: int
    pass_at_1: ReportedNumber
    pass_at_1_without: ReportedNumber
    """The rate if every flagged pass were a failure."""
    kinds: Mapping[str, FlagCount]
    """Counts by flag; an answer with two flags counts in both."""


def flagged_answers(
    frame: pl.DataFrame, excluded_problems: Sequence[ExcludedProblems], titles: Mapping[tuple[str, ...], str], seed: int
) -> Iterator[FlaggedAnswers]:
    """Yield the flagged answers of every column in ``titles``; nothing if a run has no flags."""
    marked = frame.filter(pl.col("flags").list.len() > 0)
    scanned = set(marked.select("policy", "profile").unique().iter_rows())
    for group, title in titles.items():
        named = dict(zip(GROUP, group, strict=True))
        if (named["policy"], named["profile"]) in scanned:
            rows = frame.filter(pl.all_horizontal(pl.col(name) == value for name, value in named.items()))
            excluded = excluded_ids(excluded_problems, named["profile"])
            judged = rows.filter(~pl.col("problem_id").is_in(list(excluded)) & pl.col("passed").is_not_null())
            if not judged.is_empty():
                yield _flagged(judged, named, title, seed)


def _flagged(judged: pl.DataFrame, named: Mapping[str, str], title: str, seed: int) -> FlaggedAnswers:
    marked = judged.filter(pl.col("flags").list.len() > 0)
    answers = Counter(marked["flags"].explode())
    passes = Counter(marked.filter(pl.col("passed"))["flags"].explode())
    honest = judged.with_columns(passed=pl.col("passed") & (pl.col("flags").list.len() == 0).fill_null(value=True))
    return FlaggedAnswers(
        **named,
        title=title,
        answers=marked.height,
        passes=int(judged["passed"].sum()),
        flagged_passes=int(marked["passed"].sum()),
        pass_at_1=pass_at_1(judged, named["profile"], seed),
        pass_at_1_without=pass_at_1(honest, named["profile"], seed),
        kinds={flag: FlagCount(answers=count, passes=passes[flag]) for flag, count in sorted(answers.items())},
    )
