"""Lists of excluded problems, and of answers whose similarity and execution disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from caretbench.problem import Problem
from caretbench.reports.estimates import ReportValue
from caretbench.runs.verdict import NOT_RUNNABLE, REFERENCE_PASSED, exclusion_cause

REFERENCE_FAILS = "reference does not pass here"
SIMILAR = 0.9
DISSIMILAR = 0.3

Kind = Literal["fails_but_similar", "passes_but_dissimilar"]

KIND_TITLES: Mapping[Kind, str] = {
    "fails_but_similar": f"Fails, although similar (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"Passes, although dissimilar (cosine at most {DISSIMILAR})",
}


class ExcludedProblems(ReportValue):
    """Problems excluded from the rates of one profile, with the cause."""

    profile: str
    cause: str
    problems: tuple[str, ...]


def excluded_ids(excluded_problems: Sequence[ExcludedProblems], profile: str) -> set[str]:
    """Return the ids of the problems that are excluded from all rates of a profile."""
    return {problem for entry in excluded_problems if entry.profile == profile for problem in entry.problems}


def find_excluded_problems(
    frame: pl.DataFrame, problems: Sequence[Problem], manifest: Mapping[str, Any]
) -> tuple[ExcludedProblems, ...]:
    """Return the problems excluded by the manifest (``left_out``: problem ids by cause) and by the rows.

    A problem is excluded if its reference did not pass, or if every row of it is ``skipped`` or lacks a dependency. The
    manifest's cause wins; a problem is listed once per profile.
    """
    known = {problem.id for problem in problems}
    declared = {
        str(problem): str(cause)
        for cause, ids in (manifest.get("left_out") or {}).items()
        for problem in ids
        if str(problem) in known
    }
    entries = []
    for profile in frame["profile"].unique().sort():
        rows = frame.filter(pl.col("profile") == profile)
        causes = _from_rows(rows) | declared
        by_cause: dict[str, list[str]] = defaultdict(list)
        for problem, cause in causes.items():
            by_cause[cause].append(problem)
        entries += [
            ExcludedProblems(profile=profile, cause=cause, problems=tuple(sorted(ids)))
            for cause, ids in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0]))
        ]
    return tuple(entries)


def _from_rows(rows: pl.DataFrame) -> dict[str, str]:
    passes = pl.col(REFERENCE_PASSED).fill_null(pl.col("passed").cast(pl.Float64)) == 1.0
    reference = rows.filter((pl.col("model") == "reference") & pl.col("counted") & ~passes)
    causes = dict.fromkeys(reference["problem_id"].sort(), REFERENCE_FAILS)
    judged = rows.filter(pl.col("counted").is_not_null())
    never = (
        judged.group_by("problem_id")
        .agg(pl.col("counted").any(), pl.col("status").unique().sort())
        .filter(~pl.col("counted") & pl.col("status").list.eval(pl.element().is_in(list(NOT_RUNNABLE))).list.all())
    )
    return causes | {
        str(problem): exclusion_cause(statuses[0], {})
        for problem, statuses in never.select("problem_id", "status").iter_rows()
    }


class DiscordantCase(ReportValue):
    """Completion whose similarity and execution disagree."""

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


class DiscordantCases(ReportValue):
    """Listed cases, and the total numbers by kind."""

    listed: tuple[DiscordantCase, ...]
    totals: Mapping[str, int]


def discordant_cases(frame: pl.DataFrame, limit: int) -> DiscordantCases:
    """Return the completions that fail at a cosine of at least 0.9, or pass at one of at most 0.3.

    Each problem is listed once per model and kind (its first sample), the most extreme first; totals count all samples.
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
        ranked = firsts.sort("cosine", "problem_id", "model", descending=[descending, False, False]).head(limit)
        listed += [
            DiscordantCase(
                kind=kind, similarity=row["cosine"],
                **{name: row[name] for name in DiscordantCase.model_fields if name in row},
            )
            for row in ranked.iter_rows(named=True)
        ]  # fmt: skip
    return DiscordantCases(listed=tuple(listed), totals={kind: rows.height for kind, rows, _ in kinds})
