"""Where similarity and execution disagree: what similarity alone would have called wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

from caretbench.reports.estimates import Reported

SIMILAR = 0.9
DISSIMILAR = 0.3

Kind = Literal["fails_but_similar", "passes_but_dissimilar"]

KIND_TITLES: Mapping[Kind, str] = {
    "fails_but_similar": f"Fails, although similar (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"Passes, although dissimilar (cosine at most {DISSIMILAR})",
}


class DiscordantCase(Reported):
    """One completion whose similarity says the opposite of its execution."""

    kind: Kind
    profile: str
    policy: str
    model: str
    parameters: str
    problem_id: str
    sample: int
    language: str | None
    category: str | None
    similarity: float
    status: str | None


class DiscordantCases(Reported):
    """The listed cases, and how many there are in all by kind."""

    listed: tuple[DiscordantCase, ...]
    totals: Mapping[str, int]


def discordant_cases(frame: pl.DataFrame, limit: int) -> DiscordantCases:
    """Completions that fail at a cosine of at least 0.9, or pass at one of at most 0.3.

    Each problem is listed once per model and kind (its first sample), the most extreme first, spread over models;
    totals count all samples.
    """
    if "cosine" not in frame.columns:
        return DiscordantCases(listed=(), totals={})
    fails = frame.filter(~pl.col("passed") & (pl.col("cosine") >= SIMILAR))
    passes = frame.filter(pl.col("passed") & (pl.col("cosine") <= DISSIMILAR))
    kinds: tuple[tuple[Kind, pl.DataFrame, bool], ...] = (
        ("fails_but_similar", fails, True),
        ("passes_but_dissimilar", passes, False),
    )
    listed: list[DiscordantCase] = []
    for kind, rows, descending in kinds:
        firsts = rows.unique(
            ("profile", "policy", "model", "parameters", "problem_id"), keep="first", maintain_order=True
        )
        ranked = firsts.sort("cosine", "problem_id", "model", descending=[descending, False, False]).head(
            limit
        )
        listed += [
            DiscordantCase(
                kind=kind, similarity=row["cosine"],
                **{name: row[name] for name in DiscordantCase.model_fields if name in row},
            )
            for row in ranked.iter_rows(named=True)
        ]  # fmt: skip
    return DiscordantCases(listed=tuple(listed), totals={kind: rows.height for kind, rows, _ in kinds})
