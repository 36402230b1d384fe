"""Division of a run's time or money over its suites, so that each finds the same difference of two models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.metrics.power import planned_problems
from caretbench.metrics.resampling import units_of
from caretbench.problem import Problem
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.suite_settings import Benchmark
from caretbench.runs.verdict import has_verdicts

MEASURED: Final = 8
"""Number of problems of each suite that measure its time and cost: as many requests as are in flight by default."""

_USED: Final = 0.9
"""Part of the time that is planned with: the rate of 8 problems is not that of all."""


class SuiteCost(NamedTuple):
    """Cost of a problem of one suite, measured: seconds by the clock and US dollars, over all models."""

    seconds: float
    dollars: float


def undivided(plan: ResolvedRun) -> dict[int, int | None]:
    """Return the places of the suites over which time or money is to be divided, with the limits they were begun with.

    Empty if nothing is to be divided: a suite with a number of problems keeps it, and a run that was begun with a
    division goes on with it.
    """
    config = plan.config
    if config.minutes is None and (config.max_cost is None or not plan.is_tolerant):
        return {}
    return {
        place: begun_limit(benchmark)
        for place, benchmark in enumerate(plan.benchmarks)
        if benchmark.selection.limit is None
        and benchmark.selection.per_cell is None
        and len(benchmark.problems) > MEASURED
    }


def with_limits(plan: ResolvedRun, limits: Mapping[int, int]) -> ResolvedRun:
    """Return the plan with these numbers of problems by place of the suite."""
    return replace(
        plan,
        benchmarks=[
            _limited(benchmark, limits[place]) if place in limits else benchmark
            for place, benchmark in enumerate(plan.benchmarks)
        ],
    )


def _limited(benchmark: Benchmark, limit: int) -> Benchmark:
    selection = replace(benchmark.selection, limit=limit)
    return benchmark._replace(selection=selection, problems=selection.apply(benchmark.suite, benchmark.data.problems))


def divided(
    plan: ResolvedRun, costs: Mapping[int, SuiteCost], seconds: float, dollars: float
) -> tuple[dict[int, int], float | None]:
    """Return the number of problems of each measured suite, and the difference that these find; None: all problems.

    The smallest difference for which time and money suffice. A suite that has too few problems for it gives all.

    Args:
        plan: Resolved configuration, with all problems of these suites.
        costs: Measured costs by the place of the suite.
        seconds: Time for all problems, those that were measured among them.
        dollars: Money for all of them.
    """
    drawn = {index: _limited(plan.benchmarks[index], len(plan.benchmarks[index].problems)).problems for index in costs}
    sizes = {index: group_sizes([one for one in problems if has_verdicts(one)]) for index, problems in drawn.items()}

    def limits(difference: float) -> dict[int, int]:
        counts = {}
        for index, problems in drawn.items():
            needed = planned_problems(difference, sizes[index]) if sizes[index] else None
            # Problems that only a judge decides are drawn, too, and compared by no rate.
            share = len(problems) / max(1, sum(sizes[index]))
            # More than were measured, so that the manifest tells the division from its measurement.
            counts[index] = len(problems) if needed is None else max(MEASURED + 1, math.ceil(needed * share))
        return counts

    def is_affordable(counts: Mapping[int, int]) -> bool:
        return sum(costs[index].seconds * count for index, count in counts.items()) <= seconds * _USED and (
            sum(costs[index].dollars * count for index, count in counts.items()) <= dollars
        )

    everything = {index: max(MEASURED + 1, len(problems)) for index, problems in drawn.items()}
    if is_affordable(everything):
        return everything, None
    points = next((step for step in range(1, 100) if is_affordable(limits(step / 100))), 100)
    return limits(points / 100), points / 100


def begun_limit(benchmark: Benchmark) -> int | None:
    """Return the limit with which the benchmark's own folder was begun on these data; None if there is none."""
    wanted = benchmark.selection.select, benchmark.selection.seed
    manifest = stored_manifest(benchmark, benchmark.folder.path) or {}
    limits = [
        one.get("limit")
        for one in manifest.get("selections") or []
        if (one.get("select"), one.get("seed", 0)) == wanted
    ]
    return limits[-1] if limits else None


def group_sizes(problems: Sequence[Problem]) -> list[int]:
    """Return the numbers of problems of the independent groups, as comparisons form them."""
    clusters = [problem.cluster for problem in problems]
    overlaps = [problem.overlap_group or problem.id for problem in problems]
    return [round(size) for size in units_of([0.0] * len(problems), clusters, overlaps).sizes] if problems else []


def stored_manifest(benchmark: Benchmark, folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a run on the same suite and data; None for others, and what cannot be read."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
        same = (manifest["suite"], manifest["data"]["hash"]) == (benchmark.suite.name, benchmark.data.hash)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest if same else None
