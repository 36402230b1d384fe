"""Parts of scenarios: the cuts of scenario 2, the two cases of scenario 3, and scenario 4 next to scenario 1."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from caretbench.metrics.paired import Comparison, compare, with_holm
from caretbench.problem import FileSplice, Problem
from caretbench.suites.codevbench.scenario_names import BLOCK_SPAN, FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG
from caretbench.suites.codevbench.tables.parts import CUTS, SUFFIX_CUTS, label
from caretbench.suites.codevbench.tables.result_rows import (
    NO_VALUE,
    ModelScores,
    RateEstimate,
    ScoredRun,
    ScoreRow,
    empty_answer,
    passed,
    percent,
)
from caretbench.suites.suite_types import Table
from caretbench.text_tables import p_text

_INTERVALS = "Percentages with 95% intervals, resampled by repository."


def scenario_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield the tables of those scenarios that the run has."""
    yield from (table for table in (_cut_table(run), _suffix_table(run), _retrieval_table(run)) if table.rows)


def non_empty(row: ScoreRow) -> float | None:
    """Return 1 if the answer inserts something, 0 if it is blank; None if that was not measured."""
    empty = empty_answer(row)
    return None if empty is None else 1.0 - empty


def _cut_table(run: ScoredRun) -> Table:
    rows = []
    for model in run.models:
        part = model.select(scenario=INNER_BLOCK)
        if not part.rows:
            continue
        cells = [part.select(cut=name).mean(passed) for name in CUTS]
        due = part.select(answer="code").mean(empty_answer)
        rows.append((model.title, *map(percent, (*cells, part.select(answer="empty").mean(non_empty), due))))
    return Table(
        f"codevbench-cuts-{run.suffix}",
        f"Scenario 2 by cut, {run.about}",
        ("Model", *CUTS.values(), "Answered where nothing was due", "Empty where code was due"),
        tuple(rows),
        (
            f"{_INTERVALS} Pass@1 by cut; the last two columns are shares of answers: those that insert something "
            "where the block is complete, and blank ones where something is missing.",
        ),
    )


def _suffix_table(run: ScoredRun) -> Table:
    rows = []
    for model in run.models:
        part = model.select(scenario=INCOMPLETE_SUFFIX)
        if part.rows:
            cells = [part.select(cut=name).mean(passed) for name in SUFFIX_CUTS]
            rows.append((model.title, *map(percent, (*cells, part.mean(passed)))))
    return Table(
        f"codevbench-suffix-{run.suffix}",
        f"Pass@1 in the two cases of scenario 3, {run.about}",
        ("Model", *SUFFIX_CUTS.values(), "Both"),
        tuple(rows),
        (f"{_INTERVALS} File emptied: nothing after the caret is shown. Function emptied: the rest of the function is "
         "not shown, the rest of the file is.",),
    )  # fmt: skip


class RetrievalEffect(NamedTuple):
    """Pass@1 of a model on the same blocks in scenarios 1 and 4."""

    model: str
    first: RateEstimate
    second: RateEstimate
    comparison: Comparison

    @property
    def verdict(self) -> str:
        """Direction of the difference, or that there is none to be seen."""
        return self.comparison.verdict("scenario 4 higher", "scenario 4 lower")


def retrieval_effects(run: ScoredRun) -> tuple[RetrievalEffect, ...]:
    """Return scenario 4 next to scenario 1 for each model with blocks in both, with p values adjusted (Holm)."""
    found = [effect for effect in map(_effect, run.models) if effect is not None]
    adjusted = with_holm([effect.comparison for effect in found]) if found else []
    return tuple(effect._replace(comparison=one) for effect, one in zip(found, adjusted, strict=True))


def _effect(model: ModelScores) -> RetrievalEffect | None:
    first, second = (_by_block(model.select(scenario=name)) for name in (FULL_BLOCK, RAG))
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    problems = tuple(first[block][0] for block in shared)
    sides = [[values[block][1] for block in shared] for values in (first, second)]
    comparison = compare(
        *sides,
        seed=model.seed,
        clusters=[problem.cluster for problem in problems],
        overlap_groups=[problem.overlap_group for problem in problems],
    )
    means = model.means(passed)._replace(problems=problems)
    estimates = [means._replace(values=tuple(side)).mean() for side in sides]
    if estimates[0] is None or estimates[1] is None:
        return None
    return RetrievalEffect(model.title, estimates[0], estimates[1], comparison)


def _by_block(model: ModelScores) -> Mapping[tuple[str, str, str], tuple[Problem, float]]:
    """Return a problem of each block, and the mean of its verdicts."""
    found: dict[tuple[str, str, str], list[tuple[Problem, float]]] = defaultdict(list)
    means = model.means(passed)
    for problem, value in zip(means.problems, means.values, strict=True):
        block = block_of(problem)
        if block is not None:
            found[block].append((problem, value))
    return {block: (pairs[0][0], sum(value for _, value in pairs) / len(pairs)) for block, pairs in found.items()}


def block_of(problem: Problem) -> tuple[str, str, str] | None:
    """Return project, path and span of a problem's block; None where the span is not known."""
    if not isinstance(problem.splice, FileSplice) or BLOCK_SPAN not in problem.released:
        return None
    return label(problem, "project") or problem.cluster, problem.splice.path, problem.released[BLOCK_SPAN]


def _retrieval_table(run: ScoredRun) -> Table:
    effects = retrieval_effects(run)
    rows = [
        (
            one.model, str(one.comparison.n), percent(one.first), percent(one.second), _difference(one.comparison),
            p_text(one.comparison.p_value), one.verdict,
        )
        for one in effects
    ]  # fmt: skip
    return Table(
        f"codevbench-retrieval-{run.suffix}",
        f"Scenario 4 next to scenario 1 on the same blocks, {run.about}",
        ("Model", "Blocks", "Scenario 1", "Scenario 4", "Difference (points)", "p (Holm)", "Verdict"),
        tuple(rows),
        (f"{_INTERVALS} Paired by block; p values by random sign flips (McNemar's test for independent blocks), "
         f"adjusted for {len(effects)} models (Holm).",),
    )  # fmt: skip


def _difference(comparison: Comparison) -> str:
    low, high = comparison.interval.low, comparison.interval.high
    if not math.isfinite(comparison.difference):
        return NO_VALUE
    note = f"\n{100 * low:+.1f} to {100 * high:+.1f}" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{100 * comparison.difference:+.1f}{note}"
