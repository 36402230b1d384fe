"""Problems that a machine cannot judge, by cause: they are listed beside the score and never counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from caretbench.problem import Problem
from caretbench.reports.estimates import Reported

GOLDEN_FAILS = "golden answer does not pass here"
NOT_RUNNABLE = {
    "skipped": "toolchain or declared need is missing here",
    "missing_dependency": "a dependency is missing here",
}
"""Causes by status where not one row of a problem got further."""


class LeftOut(Reported):
    """Problems left out of one profile's rates for one cause."""

    profile: str
    cause: str
    problems: tuple[str, ...]


def find_left_out(
    frame: pl.DataFrame, problems: Sequence[Problem], manifest: Mapping[str, Any]
) -> tuple[LeftOut, ...]:
    """What the manifest lists (``left_out``: problem ids by cause), and what the rows themselves show.

    A problem is left out where its golden row did not pass or where every row of it is ``skipped`` or lacks a
    dependency that the golden program needs too. The manifest's cause wins; a problem is listed once per profile.
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
            LeftOut(profile=profile, cause=cause, problems=tuple(sorted(ids)))
            for cause, ids in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0]))
        ]
    return tuple(entries)


def _from_rows(rows: pl.DataFrame) -> dict[str, str]:
    golden = rows.filter((pl.col("model") == "golden") & pl.col("counted") & ~pl.col("passed"))
    causes = dict.fromkeys(golden["problem_id"].sort(), GOLDEN_FAILS)
    judged = rows.filter(pl.col("counted").is_not_null())
    never = (
        judged.group_by("problem_id")
        .agg(pl.col("counted").any(), pl.col("status").unique().sort())
        .filter(
            ~pl.col("counted") & pl.col("status").list.eval(pl.element().is_in(list(NOT_RUNNABLE))).list.all()
        )
    )
    return causes | {
        str(problem): NOT_RUNNABLE[statuses[0]]
        for problem, statuses in never.select("problem_id", "status").iter_rows()
    }
