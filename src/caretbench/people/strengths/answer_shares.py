"""Shares of answers of a kind: similar and failing, dissimilar and passing, and error kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from caretbench.metrics.error_kinds.kind_table import error_kind_title
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.errors import counted_kinds, row_outcome
from caretbench.reports.results.paired_models import PASSED
from caretbench.reports.results.problem_lists import DISSIMILAR, SIMILAR

COSINE = "cosine"
"""Column of the similarity to the reference."""

DISCORDANT_TITLES: Mapping[str, str] = {
    "fails_but_similar": f"fail, although similar to the reference (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"pass, although dissimilar to the reference (cosine at most {DISSIMILAR})",
}


def answer_shares(run: LoadedRun) -> tuple[LoadedRun, dict[str, str]]:
    """Return the run with a column of 0 and 1 for each kind of answers, and the kinds in words by column.

    Only answers with a verdict count.
    """
    frame = run.frame
    titles: dict[str, str] = {}
    if COSINE in frame.columns:
        titles |= DISCORDANT_TITLES
        similar = {"fails_but_similar": ~pl.col(PASSED) & (pl.col(COSINE) >= SIMILAR)}
        similar["passes_but_dissimilar"] = pl.col(PASSED) & (pl.col(COSINE) <= DISSIMILAR)
        frame = frame.with_columns(
            pl.when(pl.col(PASSED).is_not_null()).then(rule.cast(pl.Float64)).alias(name)
            for name, rule in similar.items()
        )
    answers = {completion.key: completion for completion in run.completions}
    kinds = [
        counted_kinds(
            row_outcome(row, answers.get((row["problem_id"], row["model"], row["parameters"], row["sample"]))),
            row["error_kinds"] or (),
        )
        if row[PASSED] is not None
        else None
        for row in frame.iter_rows(named=True)
    ]
    for kind in sorted({kind for found in kinds if found for kind in found}):
        column = f"kind:{kind}"
        titles[column] = f"have the error kind {error_kind_title(kind).lower()}"
        values = [None if found is None else float(kind in found) for found in kinds]
        frame = frame.with_columns(pl.Series(column, values, dtype=pl.Float64))
    return replace(run, frame=frame), titles
