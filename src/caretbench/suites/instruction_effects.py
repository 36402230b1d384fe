"""Effect of the instruction: the same model with and without it, compared problem by problem.

The statistic of C3-Bench's Figure 6, for the tables of any suite whose problems have instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from caretbench.metrics.paired import Comparison, Pair, compare_family
from caretbench.suites.problem_means import difference_points
from caretbench.suites.suite_types import Table
from caretbench.text_tables import p_text

if TYPE_CHECKING:
    import polars as pl

MODES: Final = ("none", "shown", "comment")
"""Modes of ``--instruction``, in the order of comparison: the second is compared with the first."""

_GROUP = ("model_title", "policy", "profile")


class InstructionEffect(NamedTuple):
    """One measure of one model under two modes of instruction, on the problems that have a value in both.

    ``comparison.difference`` is the mean of the second mode minus that of the first. ``part`` is a part of the
    problems, empty for all; p values are for all effects of one call.
    """

    model: str
    policy: str
    profile: str
    measure: str
    part: str
    first: str
    second: str
    first_mean: float
    second_mean: float
    comparison: Comparison

    @property
    def verdict(self) -> str:
        """Conclusion: the better mode, or that there is none to be seen."""
        return self.comparison.verdict(f"better: {self.second}", f"better: {self.first}")


def instruction_effects(
    results: pl.DataFrame,
    measures: Mapping[str, str],
    seed: int,
    parts: Mapping[str, Mapping[str, frozenset[str]]] | None = None,
) -> tuple[InstructionEffect, ...]:
    """Return the effects of the instruction on several measures.

    A problem's value is the mean over samples. Problems of one cluster are resampled together.

    Args:
        results: Rows as in :meth:`caretbench.suites.base.Suite.result_tables`; their column ``instruction`` names the
            mode.
        measures: Titles of measures by column of ``results``; values are numbers or truth values, null without one.
        seed: Seed of intervals and permutations.
        parts: Ids of problems by name of the part, by measure; a measure without parts is compared on all problems.
    """
    pairs = list(_compared(results, measures, parts or {}))
    comparisons = compare_family([pair for _, pair in pairs], seed=seed)
    return tuple(
        InstructionEffect(*names, sum(pair.first) / comparison.n, sum(pair.second) / comparison.n, comparison)
        for (names, pair), comparison in zip(pairs, comparisons, strict=True)
    )


def _compared(
    results: pl.DataFrame, measures: Mapping[str, str], parts: Mapping[str, Mapping[str, frozenset[str]]]
) -> Iterator[tuple[tuple[str, str, str, str, str, str, str], Pair]]:
    """Yield the first fields of each effect, and the values of both modes."""
    import polars as pl

    asked = results.filter(pl.col("instruction").is_in(MODES))
    for (model, policy, profile), rows in sorted(asked.partition_by(*_GROUP, as_dict=True).items()):
        for column in (name for name in measures if name in rows.columns):
            by_mode = {mode: _problem_means(rows, mode, column) for mode in MODES}
            there = [mode for mode, values in by_mode.items() if not values.is_empty()]
            for first, second in combinations(there, 2):
                pairs = by_mode[first].join(by_mode[second].select("problem_id", second="value"), on="problem_id")
                everything = {"": frozenset(pairs["problem_id"])}
                for part, problems in (parts.get(column) or everything).items():
                    chosen = pairs.filter(pl.col("problem_id").is_in(list(problems)))
                    if not chosen.is_empty():
                        names = (str(model), str(policy), str(profile), measures[column], part, first, second)
                        yield names, _pair(chosen)


def _problem_means(rows: pl.DataFrame, mode: str, column: str) -> pl.DataFrame:
    """Return the mean of a measure by problem under one mode, with cluster and overlap group."""
    import polars as pl

    measured = rows.filter((pl.col("instruction") == mode) & pl.col(column).is_not_null())
    groups = [pl.col(name).first() for name in ("cluster", "overlap_group")]
    return measured.group_by("problem_id").agg(pl.col(column).cast(pl.Float64).mean().alias("value"), *groups)


def _pair(pairs: pl.DataFrame) -> Pair:
    pairs = pairs.sort("problem_id")
    return Pair(*(pairs[name].to_list() for name in ("value", "second", "cluster", "overlap_group")))


def effect_table(effects: Sequence[InstructionEffect], name: str, title: str) -> Table:
    """Return a table with a row for each effect; policies, profiles and parts only where there are several."""
    more = [field for field in ("policy", "profile", "part") if len({getattr(effect, field) for effect in effects}) > 1]
    heads = ("Model", "Measure", *map(str.capitalize, more), "Problems", "Compared", "First", "Second")
    rows = [
        (
            effect.model, effect.measure, *(str(getattr(effect, field)) or "all" for field in more),
            str(effect.comparison.n), f"{effect.first} → {effect.second}",
            f"{100 * effect.first_mean:.1f}%", f"{100 * effect.second_mean:.1f}%",
            difference_points(effect.comparison), p_text(effect.comparison.p_value, effect.comparison.family),
            effect.verdict,
        )
        for effect in effects
    ]  # fmt: skip
    warnings = dict.fromkeys(effect.comparison.interval.warning for effect in effects)
    notes = (
        "The same problems with and without the instruction: differences by problem in points with 95% intervals, "
        f"resampled by cluster; p values are adjusted for the {len(effects)} tests of this table (max-T).",
        *(warning for warning in warnings if warning),
    )
    return Table(name, title, (*heads, "Difference (points)", "p (tests)", "Verdict"), tuple(rows), notes)
