"""Paired test of memory: pass rates on instances and on their siblings of the same shape in another domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from caretbench.metrics.paired import Comparison, compare, with_holm
from caretbench.problem import Problem
from caretbench.suites.suite_types import Table
from caretbench.text_tables import p_text

if TYPE_CHECKING:
    import polars as pl

_GROUP: Final = ("model_title", "policy", "profile")
_HEADS: Final = ("Model", "Pairs", "Originals", "Siblings", "Difference (points)", "p (Holm)", "Verdict")
_NOTE: Final = (
    "A sibling has the shape of its original in another domain, with other names and numbers. A model that remembers "
    "the originals passes more of them. Differences by pair, originals minus siblings, with 95% intervals, resampled "
    "by scenario; p values are adjusted for the tests of this table (Holm)."
)


class _Memory(NamedTuple):
    model: str
    originals: float
    siblings: float
    comparison: Comparison


def memory_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the comparison of originals with siblings by model; nothing in a run without pairs.

    Arguments as in :meth:`caretbench.suites.base.Suite.result_tables`.
    """
    pairs = _pairs(problems)
    if not pairs or "passed" not in results.columns:
        return ()
    found = []
    for (model, policy, profile), rows in sorted(results.partition_by(*_GROUP, as_dict=True).items()):
        means = _means(rows)
        known = {sibling: one for sibling, one in pairs.items() if sibling in means and one in means}
        if not known:
            continue
        second, first = [means[sibling] for sibling in known], [means[one] for one in known.values()]
        clusters = [problems[one].cluster for one in known.values()]
        comparison = compare(second, first, seed=seed, clusters=clusters)
        title = " · ".join(str(part) for part in (model, policy, profile))
        found.append(_Memory(title, sum(first) / len(first), sum(second) / len(second), comparison))
    if not found:
        return ()
    adjusted = with_holm([one.comparison for one in found])
    lines = tuple(_row(one, comparison) for one, comparison in zip(found, adjusted, strict=True))
    return (Table("memory", "Originals and siblings", _HEADS, lines, (_NOTE,)),)


def _pairs(problems: Mapping[str, Problem]) -> dict[str, str]:
    """Return the original of each sibling: of the same scenario and the same generator."""
    originals = {
        (problem.label("scenario"), problem.label("generator")): name
        for name, problem in problems.items()
        if problem.labels.get("origin") == "original"
    }
    siblings = {name: problem for name, problem in problems.items() if problem.labels.get("origin") == "sibling"}
    keys = {name: (problem.label("scenario"), problem.label("generator")) for name, problem in siblings.items()}
    return {name: originals[key] for name, key in keys.items() if key in originals}


def _means(rows: pl.DataFrame) -> dict[str, float]:
    """Return the pass rate of each problem, over its samples."""
    import polars as pl

    known = rows.filter(pl.col("passed").is_not_null())
    means = known.group_by("problem_id").agg(pl.col("passed").cast(pl.Float64).mean().alias("value"))
    return dict(zip(means["problem_id"].to_list(), means["value"].to_list(), strict=True))


def _row(one: _Memory, comparison: Comparison) -> tuple[str, ...]:
    low, high = 100 * comparison.interval.low, 100 * comparison.interval.high
    note = f"\n{low:+.1f} to {high:+.1f}" if math.isfinite(low) and math.isfinite(high) else ""
    return (
        one.model, str(comparison.n), f"{100 * one.originals:.1f}%", f"{100 * one.siblings:.1f}%",
        f"{100 * comparison.difference:+.1f}{note}", p_text(comparison.p_value),
        comparison.verdict("better on the originals", "better on the siblings"),
    )  # fmt: skip
